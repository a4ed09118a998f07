// What is dropped, pasted or picked, read for sending: images as base64, everything else as text.

/** @import { Attached } from "./composing.js" */

const IMAGES = new Set(["image/png", "image/jpeg", "image/gif", "image/webp"]);
export const MOST_TEXT = 700_000; // bytes of all files together: a message has a limit
export const MOST_IMAGES = 20_000_000; // bytes of all images together: they have a larger one, and base64 makes a third more of them
export const LARGEST_IMAGE = 10_485_760;

/** @param {File} file @returns {Promise<Attached>} Rejects with a word that says why. */
export async function read(file) {
  const bytes = await file.arrayBuffer().catch(() => {
    throw new Error("attach_unreadable"); // a folder, or gone meanwhile
  });
  if (IMAGES.has(file.type))
    return { name: file.name, size: file.size, image: true, data: base64(new Uint8Array(bytes)) };
  try {
    return {
      name: file.name,
      size: file.size,
      image: false,
      data: new TextDecoder("utf-8", { fatal: true }).decode(bytes),
    };
  } catch {
    throw new Error("attach_binary");
  }
}

/** @param {Uint8Array} bytes */
export function base64(bytes) {
  const portion = 0x8000;
  let text = "";
  for (let start = 0; start < bytes.length; start += portion)
    text += String.fromCharCode(...bytes.subarray(start, start + portion));
  return btoa(text);
}

/** @param {Attached[]} attached @param {{ type: string, size: number }} file */
export function fits(attached, file) {
  const image = IMAGES.has(file.type);
  const sum = attached.filter((each) => each.image === image).reduce((bytes, each) => bytes + each.size, file.size);
  return image ? file.size <= LARGEST_IMAGE && sum <= MOST_IMAGES : sum <= MOST_TEXT;
}
