// What is dropped, pasted or picked, read for sending: images as base64, everything else as text.

/** @import { Attached } from "../state/composing.js" */

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const MOST_BYTES = 700_000; // of all together: a message has a limit, and base64 makes a third more of it

/** @param {File} file @returns {Promise<Attached>} Rejects with a word that says why. */
export async function read(file) {
  if (IMAGES.has(file.type)) return { name: file.name, size: file.size, image: true, data: base64(new Uint8Array(await file.arrayBuffer())) };
  const bytes = await file.arrayBuffer();
  try {
    return { name: file.name, size: file.size, image: false, data: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    throw new Error("attach_binary");
  }
}

/** @param {Uint8Array} bytes */
export function base64(bytes) {
  const portion = 0x8000;
  let text = "";
  for (let start = 0; start < bytes.length; start += portion) text += String.fromCharCode(...bytes.subarray(start, start + portion));
  return btoa(text);
}

/** @param {Attached[]} attached @param {number} more */
export function fits(attached, more) {
  return attached.reduce((sum, each) => sum + each.size, more) <= MOST_BYTES;
}
