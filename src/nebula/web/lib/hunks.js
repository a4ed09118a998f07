// A unified diff as hunks with numbered lines, and the words in which a changed line differs from what it was.

/** @typedef {{ kind: "added" | "removed" | "same" | "note", text: string, line: number }} DiffLine `line`: where it stands now, or stood before. */
/** @typedef {{ old: number, now: number, lines: DiffLine[] }} Hunk */
/** @typedef {[number, number]} Span */

const PLACE = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const HEAD = /^(--- |@@ )/m; // of the first file or hunk
// Where no space parts words, every sign of the writing stands for itself.
const WORD =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}ー]|(?:(?![\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}])[\p{L}\p{N}_])+|\s+|[^\p{L}\p{N}_\s]/gu;
const MOST_WORDS = 200;
const ALIKE = 0.35; // less in common than this is another line, not a changed one

/** @param {string} diff @returns {Hunk[]} */
export function hunksOf(diff) {
  /** @type {Hunk[]} */
  const found = [];
  let [old, now, oldEnd, nowEnd] = [0, 0, 0, 0];
  for (const line of diff.replace(/\n$/, "").split("\n")) {
    const place = PLACE.exec(line);
    const hunk = found[found.length - 1];
    if (place) {
      [old, now] = [Number(place[1]), Number(place[3])];
      [oldEnd, nowEnd] = [old + Number(place[2] ?? 1), now + Number(place[4] ?? 1)];
      found.push({ old, now, lines: [] });
    } else if (hunk && line.startsWith("\\")) hunk.lines.push({ kind: "note", text: line.slice(2), line: 0 });
    else if (!hunk || (old >= oldEnd && now >= nowEnd))
      continue; // it names the file, or says what no hunk shows
    else if (line.startsWith("+")) hunk.lines.push({ kind: "added", text: line.slice(1), line: now++ });
    else if (line.startsWith("-")) hunk.lines.push({ kind: "removed", text: line.slice(1), line: old++ });
    else {
      hunk.lines.push({ kind: "same", text: line.slice(1), line: now++ });
      old++;
    }
  }
  return found;
}

// What hunks do not show, such as another mode, where a link leads, that a part is left out: what stands above them.
/** @param {string} diff @returns {string[]} */
export function notesOf(diff) {
  const end = diff.search(HEAD);
  const above = end < 0 ? diff : diff.slice(0, end);
  return above.split("\n").filter((line) => line);
}

// From where to where the changed lines of a hunk are, as the file will be; of one that goes away, as it was.
/** @param {Hunk} hunk @returns {{ from: number, to: number }} */
export function changedLines({ old, now, lines }) {
  if (!now) return { from: old, to: old + lines.filter(({ kind }) => kind === "removed").length - 1 };
  let at = now;
  let [from, to] = [0, 0];
  for (const { kind } of lines) {
    if (kind === "added" || kind === "removed") [from, to] = [from || at, Math.max(to, at)];
    if (kind === "added" || kind === "same") at++;
  }
  return { from: from || now, to: to || now };
}

/** @param {Hunk[]} hunks */
export function countsOf(hunks) {
  const count = (/** @type {string} */ kind) =>
    hunks.reduce((sum, { lines }) => sum + lines.filter((line) => line.kind === kind).length, 0);
  return { added: count("added"), removed: count("removed") };
}

// The changed words of each line: lines that were taken out are held against those that came in their place.
/** @param {DiffLine[]} lines @returns {Map<DiffLine, Span[]>} */
export function changedWords(lines) {
  /** @type {Map<DiffLine, Span[]>} */
  const marks = new Map();
  for (let at = 0; at < lines.length;) {
    const removed = run(lines, at, "removed");
    const added = run(lines, at + removed.length, "added");
    removed.slice(0, added.length).forEach((line, place) => {
      const spans = differing(line.text, added[place].text);
      if (!spans) return;
      marks.set(line, spans[0]);
      marks.set(added[place], spans[1]);
    });
    at += Math.max(1, removed.length + added.length);
  }
  return marks;
}

/** @param {DiffLine[]} lines @param {number} from @param {string} kind */
function run(lines, from, kind) {
  let end = from;
  while (end < lines.length && lines[end].kind === kind) end++;
  return lines.slice(from, end);
}

/** @param {string} text @returns {string[]} */
export function wordsOf(text) {
  return text.match(WORD) ?? [];
}

/**
 * The words in which two texts differ, as spans of both; null where they have too little in common, or are too long.
 * @param {string} one @param {string} other @param {{ most?: number, alike?: number }} limits @returns {[Span[], Span[]] | null}
 */
export function differing(one, other, { most = MOST_WORDS, alike = ALIKE } = {}) {
  const [left, right] = [wordsOf(one), wordsOf(other)];
  if (left.length > most || right.length > most) return null;
  const [inLeft, inRight] = common(left, right);
  const kept = left.filter((word, at) => inLeft.has(at) && word.trim()).join("").length;
  const longest = Math.max(one.replaceAll(/\s/g, "").length, other.replaceAll(/\s/g, "").length);
  if (!longest || kept / longest < alike) return null;
  return [spansOf(left, inLeft), spansOf(right, inRight)];
}

// Places of the longest common run of words, in both.
/** @param {string[]} left @param {string[]} right @returns {[Set<number>, Set<number>]} */
export function common(left, right) {
  const width = right.length + 1;
  const lengths = new Uint32Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      lengths[i * width + j] =
        left[i] === right[j]
          ? lengths[(i + 1) * width + j + 1] + 1
          : Math.max(lengths[(i + 1) * width + j], lengths[i * width + j + 1]);
  const [inLeft, inRight] = [new Set(), new Set()];
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    if (left[i] === right[j]) {
      inLeft.add(i++);
      inRight.add(j++);
    } else if (lengths[(i + 1) * width + j] >= lengths[i * width + j + 1]) i++;
    else j++;
  }
  return [inLeft, inRight];
}

/** @param {string[]} words @param {Set<number>} kept @returns {Span[]} */
function spansOf(words, kept) {
  /** @type {Span[]} */
  const spans = [];
  let at = 0;
  words.forEach((word, place) => {
    const last = spans[spans.length - 1];
    if (!kept.has(place)) {
      if (last?.[1] === at) last[1] = at + word.length;
      else spans.push([at, at + word.length]);
    }
    at += word.length;
  });
  return spans;
}
