// A Mermaid flowchart as boxes and arrows: the part of the language that models write. What is not understood makes it
// null, and the source stays what is shown.

/** @typedef {{ id: string, label: string, shape: string }} Box */
/** @typedef {{ from: string, to: string, label: string, kind: "solid" | "dotted" | "thick", heads: [boolean, boolean] }} Arrow */
/** @typedef {{ across: boolean, reversed: boolean, boxes: Map<string, Box>, arrows: Arrow[] }} Flowchart `across`: left to right. */

const MOST = 80;
const HEAD = /^(?:graph|flowchart)(?:\s+(TB|TD|BT|LR|RL))?$/;
const ASIDE = /^(?:subgraph\b.*|end|classDef\b.*|class\b.*|style\b.*|linkStyle\b.*|click\b.*|direction\b.*|)$/;
const NAME = /^\s*([\p{L}\p{N}_]+(?:[-.][\p{L}\p{N}_]+)*)/u;
const SPOKEN = /^\s*([<ox]?)(--|==|-\.)\s+([^|>]+?)\s*(-{2,}|={2,}|\.+-)([>ox]?)/;
const PLAIN = /^\s*(<?)(-{2,}|={2,}|-\.+-)(>|[ox](?=[\s|])|)(?:\s*\|([^|]*)\|)?/;
const CLASS = /^:::[\w-]+/;
/** @type {[string, string, string][]} The longer ones first. */
const SHAPES = [
  ["(((", ")))", "round"],
  ["((", "))", "round"],
  ["([", "])", "round"],
  ["[(", ")]", "soft"],
  ["[[", "]]", "box"],
  ["{{", "}}", "soft"],
  ["[/", "/]", "box"],
  ["(", ")", "soft"],
  ["[", "]", "box"],
  ["{", "}", "choice"],
  [">", "]", "box"],
];

/** @param {string} text @returns {Flowchart | null} */
export function flowchartOf(text) {
  const [first, ...lines] = text
    .split(/[\n;]/)
    .map((line) => line.replace(/%%.*/, "").trim())
    .filter(Boolean);
  const way = HEAD.exec(first ?? "");
  if (!way) return null;
  /** @type {Flowchart} */
  const chart = {
    across: /[LR]{2}/.test(way[1] ?? ""),
    reversed: /BT|RL/.test(way[1] ?? ""),
    boxes: new Map(),
    arrows: [],
  };
  for (const line of lines) if (!ASIDE.test(line) && !addStatement(chart, line)) return null;
  const turnsBack = chart.arrows.some(({ from, to }) => from === to); // no layer is between
  return chart.boxes.size && chart.boxes.size <= MOST && !turnsBack ? chart : null;
}

// Boxes with arrows between them, as many as there are: `a & b --> c -->|yes| d`.
/** @param {Flowchart} chart @param {string} line */
function addStatement(chart, line) {
  const rest = { text: line };
  let before = boxes(chart, rest);
  while (before && rest.text.trim()) {
    const arrow = arrowOf(rest);
    const after = arrow && boxes(chart, rest);
    if (!arrow || !after) return false;
    for (const from of before) for (const to of after) chart.arrows.push({ from, to, ...arrow });
    before = after;
  }
  return before !== null;
}

/** @param {Flowchart} chart @param {{ text: string }} rest @returns {string[] | null} */
function boxes(chart, rest) {
  const found = [];
  do {
    rest.text = rest.text.replace(/^\s*&/, "");
    const id = NAME.exec(rest.text);
    if (!id) return null;
    rest.text = rest.text.slice(id[0].length);
    const shape = SHAPES.find(([open]) => rest.text.startsWith(open));
    const known = chart.boxes.get(id[1]);
    if (!known) chart.boxes.set(id[1], { id: id[1], label: id[1], shape: "box" });
    if (shape) {
      const end = rest.text.indexOf(shape[1], shape[0].length);
      if (end < 0) return null;
      const label = wordsOf(rest.text.slice(shape[0].length, end)) || id[1];
      chart.boxes.set(id[1], { id: id[1], label, shape: shape[2] });
      rest.text = rest.text.slice(end + shape[1].length);
    }
    rest.text = rest.text.replace(CLASS, "");
    found.push(id[1]);
  } while (/^\s*&/.test(rest.text));
  return found;
}

/** @param {{ text: string }} rest @returns {Pick<Arrow, "label" | "kind" | "heads"> | null} */
function arrowOf(rest) {
  const spoken = SPOKEN.exec(rest.text);
  const found = spoken ?? PLAIN.exec(rest.text);
  if (!found) return null;
  rest.text = rest.text.slice(found[0].length);
  const [, back, line] = found;
  const [label, head] = spoken ? [spoken[3], spoken[5]] : [found[4] ?? "", found[3]];
  const kind = line.includes(".") ? "dotted" : line.includes("=") ? "thick" : "solid";
  return { label: wordsOf(label), kind, heads: [back === "<", head !== ""] };
}

/** @param {string} text */
export function wordsOf(text) {
  return text
    .trim()
    .replace(/^"|"$/g, "")
    .replace(/<br\s*\/?>|\\n/g, "\n")
    .replace(/#quot;|&quot;/g, '"')
    .replace(/[*`]{1,2}/g, "")
    .trim();
}
