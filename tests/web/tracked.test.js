// A part of the page is drawn again when something that it read is another, and else not.

import assert from "node:assert/strict";
import { test } from "node:test";

import { drawnWhenNeeded } from "../../src/nebula/web/app/drawing.js";
import { turnHere } from "../../src/nebula/web/state/here.js";
import { reduce } from "../../src/nebula/web/state/reduce.js";
import { EMPTY } from "../../src/nebula/web/state/state.js";

const SAY = (word) => word;

function part(read) {
  const drawn = [];
  const draw = drawnWhenNeeded({ draw: (state, say) => drawn.push(read(state, say)) });
  return { drawn, draw };
}

test("what was not read may change; what was read may not", () => {
  const { drawn, draw } = part((state) => `${state.notice} ${state.view.tab}`);
  draw(EMPTY, SAY);
  draw({ ...EMPTY, status: "open", view: { ...EMPTY.view, theme: "dark" } }, SAY);
  assert.deepEqual(drawn, [" talk"]);
  draw({ ...EMPTY, notice: "n" }, SAY);
  draw({ ...EMPTY, notice: "n", view: { ...EMPTY.view, tab: "graph" } }, SAY);
  assert.deepEqual(drawn, [" talk", "n talk", "n graph"]);
  draw({ ...EMPTY, notice: "n", view: { ...EMPTY.view, tab: "graph" } }, (word) => word);
  assert.equal(drawn.length, 4, "another language");
});

test("what is read the last time counts, not what was read before", () => {
  const { drawn, draw } = part((state) => (state.notice ? state.status : "hidden"));
  draw({ ...EMPTY, notice: "n" }, SAY);
  draw(EMPTY, SAY);
  draw({ ...EMPTY, status: "open" }, SAY);
  assert.deepEqual(drawn, ["connecting", "hidden"]);
});

test("what an event asks of a state that was drawn is not taken for part of the drawing", () => {
  let later = () => "";
  const { drawn, draw } = part((state) => {
    later = () => state.status;
    return state.notice;
  });
  draw(EMPTY, SAY);
  assert.equal(later(), "connecting");
  draw({ ...EMPTY, status: "open" }, SAY);
  assert.equal(drawn.length, 1);
});

test("what follows from several fields is drawn again with each of them", () => {
  const { drawn, draw } = part((state) => turnHere(state)?.prompt ?? "");
  let state = reduce(EMPTY, { kind: "sending", prompt: "p", from: [] });
  state = reduce(state, { kind: "sent", traceId: "t", prompt: "p", from: [], flowId: "main", now: 0 });
  draw(state, SAY);
  draw(reduce(state, { kind: "choose_flow", flowId: "other" }), SAY);
  assert.deepEqual(drawn, ["p", ""], "another flow's turn is not shown");
});
