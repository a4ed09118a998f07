// The outline as pieces: lines of turns that go on from each other, days, turns at work. Of 10,000 rows some twenty are in
// sight, so a row is made when it is looked at.

import { rootsOf, sidesOf, siblingsOf } from "../state/topology.js";

/** @import { Live } from "../graph/live.js" */
/** @import { Topology } from "../state/topology.js" */
/**
 * @typedef {object} Row
 * @property {string} id
 * @property {number} level
 * @property {"start" | "turn" | "branch" | "try"} kind A try begins the conversation of the start above it once more.
 * @property {string | null} from Where a branch leaves, or the try that it stands beside.
 * @property {string[]} merges Further parents.
 * @property {number} branches How many leave here.
 * @property {boolean} holds Whether there is something to fold.
 * @property {boolean} folded
 * @property {string} [day] Of a row that says which day it was.
 * @property {Live} [live] Of a turn that is no node yet.
 */
/**
 * @typedef {object} Piece Rows that stand below each other.
 * @property {number} count
 * @property {(number: number) => Row} row
 * @property {(id: string) => number} find Which row it is, or -1.
 * @property {string} [begins] The first turn, where a conversation begins with this piece.
 * @property {boolean} [isDay]
 */

const APART = 10; // pixels above a conversation; what stands below its day has no need of it
/** @type {Omit<Row, "id">} */
const BARE = { level: 1, kind: "turn", from: null, merges: [], branches: 0, holds: false, folded: false };

export class Rows {
  #pieces;
  /** @type {number[]} The first row of each piece. */
  #starts = [];
  /** @type {number[]} How many gaps there are above each. */
  #gaps = [];
  length = 0;

  /** @param {Piece[]} pieces */
  constructor(pieces) {
    this.#pieces = pieces;
    let gaps = 0;
    for (let number = 0; number < pieces.length; number++) {
      if (pieces[number].begins !== undefined && number && !pieces[number - 1].isDay) gaps++;
      this.#starts.push(this.length);
      this.#gaps.push(gaps);
      this.length += pieces[number].count;
    }
  }

  get pieces() {
    return this.#pieces;
  }

  /** @param {number} place @returns {Row | undefined} */
  at(place) {
    if (place < 0 || place >= this.length) return undefined;
    const number = this.#pieceWith((each) => this.#starts[each] <= place);
    return this.#pieces[number].row(place - this.#starts[number]);
  }

  /** @param {string | null} id The place of its row, or -1. */
  placeOf(id) {
    if (id === null) return -1;
    for (let number = 0; number < this.#pieces.length; number++) {
      const found = this.#pieces[number].find(id);
      if (found >= 0) return this.#starts[number] + found;
    }
    return -1;
  }

  // Where a row begins, or, for their number, the last ends: of rows that are so high.
  /** @param {number} place @param {number} height */
  topOf(place, height) {
    const number = this.#pieceWith((each) => this.#starts[each] <= place);
    return place * height + (this.#gaps[number] ?? 0) * APART;
  }

  // The last row that begins at or above a height.
  /** @param {number} top @param {number} height */
  rowAt(top, height) {
    const number = this.#pieceWith((each) => this.topOf(this.#starts[each], height) <= top);
    const within = Math.floor((top - this.topOf(this.#starts[number] ?? 0, height)) / height);
    return (this.#starts[number] ?? 0) + Math.max(0, Math.min(within, (this.#pieces[number]?.count ?? 1) - 1));
  }

  // The last piece for which something holds that holds for all above it.
  /** @param {(number: number) => boolean} holds */
  #pieceWith(holds) {
    let [low, high] = [0, this.#pieces.length - 1];
    while (low < high) {
      const middle = Math.ceil((low + high) / 2);
      if (holds(middle)) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  *[Symbol.iterator]() {
    for (const piece of this.#pieces) for (let number = 0; number < piece.count; number++) yield piece.row(number);
  }
}

/** @param {Pick<Row, "id"> & Partial<Row>} row @returns {Piece} */
export function single(row) {
  return {
    count: 1,
    row: () => ({ ...BARE, ...row }),
    find: (id) => (id === row.id ? 0 : -1),
    isDay: row.day !== undefined,
  };
}

/** @param {string[]} ids @returns {Piece} */
export function listed(ids) {
  return { count: ids.length, row: (number) => ({ ...BARE, id: ids[number] }), find: (id) => ids.indexOf(id) };
}

// A conversation begins with its first turn; the turns that go on in line stand one level in, then the lines that branch off
// it, each begun by its own first turn. What is below a folded first turn is left out.
/** @param {Topology} topology @param {ReadonlySet<string>} folded @returns {Piece[]} */
export function linesOf(topology, folded = new Set()) {
  const { ids } = topology;
  /** @type {Piece[]} */
  const lines = [];
  const seen = new Uint8Array(ids.length);
  const pending = /** @type {{ head: number, level: number, hidden: boolean, beside: number }[]} */ ([]);
  const walk = (/** @type {number} */ start) => {
    const first = siblingsOf(topology, start)[0];
    pending.push({ head: start, level: 1, hidden: false, beside: first === start ? -1 : first });
    for (let line = pending.pop(); line; line = pending.pop()) {
      if (seen[line.head]) continue;
      const turns = turnsFrom(topology, line.head, seen);
      const leaving = leavingFrom(topology, turns, seen);
      const holds = turns.length > 1 || leaving.length > 0;
      const isFolded = holds && folded.has(ids[line.head]);
      const shown = isFolded ? turns.slice(0, 1) : turns;
      if (!line.hidden) lines.push(new Line(topology, shown, line.level, line.beside, holds, isFolded));
      for (const head of leaving.reverse())
        pending.push({ head, level: line.level + 1, hidden: line.hidden || isFolded, beside: -1 });
    }
  };
  for (const place of rootsOf(topology)) walk(place);
  for (let place = 0; place < ids.length; place++) if (!seen[place]) walk(place);
  return lines;
}

// The turns that go on in line, none of which was seen before.
/** @param {Topology} topology @param {number} head @param {Uint8Array} seen */
function turnsFrom({ primary }, head, seen) {
  /** @type {number[]} */
  const turns = [];
  for (let place = head; place >= 0 && !seen[place]; place = primary[place]) {
    seen[place] = 1;
    turns.push(place);
  }
  return turns;
}

/** @param {Topology} topology @param {number[]} turns @param {Uint8Array} seen */
function leavingFrom(topology, turns, seen) {
  /** @type {number[]} */
  const leaving = [];
  for (const turn of turns) for (const side of sidesOf(topology, turn)) if (!seen[side]) leaving.push(side);
  return leaving;
}

// A piece of a class: as an object with functions of its own each of 4,000 lines took ten times as long to make.
class Line {
  /** @param {Topology} topology @param {number[]} turns @param {number} level @param {number} beside @param {boolean} holds @param {boolean} folded */
  constructor(topology, turns, level, beside, holds, folded) {
    this.topology = topology;
    this.turns = turns;
    this.level = level;
    this.beside = beside;
    this.holds = holds;
    this.folded = folded;
    this.count = turns.length;
    this.begins = level === 1 && beside < 0 ? topology.ids[turns[0]] : undefined;
  }

  /** @param {number} number @returns {Row} */
  row(number) {
    const { topology, level, beside, holds, folded } = this;
    const { ids, parents } = topology;
    const place = this.turns[number];
    const more = {
      id: ids[place],
      merges: parents[place].slice(1).map((parent) => ids[parent]),
      branches: sidesOf(topology, place).length,
    };
    if (number) return { ...BARE, ...more, level: level + 1 };
    const kind = level > 1 ? "branch" : beside >= 0 ? "try" : "start";
    const from = kind === "branch" ? ids[parents[place][0]] : kind === "try" ? ids[beside] : null;
    return { ...more, level, kind, from, holds, folded };
  }

  /** @param {string} id */
  find(id) {
    return this.turns.indexOf(this.topology.index.get(id) ?? -1);
  }
}

// Turns that are no nodes yet, each below the turn that it continues.
/** @param {Rows} rows @param {Live[]} live */
export function withLive(rows, live) {
  for (const turn of live) {
    if (rows.placeOf(turn.id) >= 0) continue;
    const at = rows.placeOf(turn.parents[0] ?? null);
    const above = rows.at(at);
    const level = above ? above.level + (above.kind === "turn" ? 0 : 1) : 1;
    // What continues nothing is the newest; the tries of a race stand in their order.
    let to = at + 1;
    while (turn.number && (rows.at(to)?.live?.number ?? turn.number) < turn.number) to++;
    rows = new Rows(withPiece(rows.pieces, to, single({ id: turn.id, level, live: turn })));
  }
  return rows;
}

// With a piece before a row: the piece that the row is in is parted there.
/** @param {Piece[]} pieces @param {number} place @param {Piece} piece */
function withPiece(pieces, place, piece) {
  /** @type {Piece[]} */
  const found = [];
  let left = place;
  for (const each of pieces) {
    if (left > 0 && left < each.count) found.push(part(each, 0, left), piece, part(each, left, each.count));
    else found.push(...(left === 0 ? [piece, each] : [each]));
    left -= each.count;
  }
  return left === 0 ? [...found, piece] : found;
}

/** @param {Piece} piece @param {number} start @param {number} end @returns {Piece} */
function part(piece, start, end) {
  const within = (/** @type {number} */ at) => (at >= start && at < end ? at - start : -1);
  return {
    count: end - start,
    row: (number) => piece.row(start + number),
    find: (id) => within(piece.find(id)),
    begins: start ? undefined : piece.begins,
  };
}
