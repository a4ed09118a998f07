"""The page's own logic, without a page: the state modules, run by a real browser."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page, sync_playwright

from conversation_rig import serving

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    from conftest import Bench

    folder = tmp_path_factory.mktemp("state")
    (folder / "project").mkdir()
    (folder / "home").mkdir()
    with serving(Bench(folder / "project", folder / "home"), "vizprompt") as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        opened = browser.new_page()
        opened.goto(server.address)
        yield opened
        browser.close()


def run(page: Page, body: str, *args):
    """The value of a function body that has all exports of the state modules at hand."""
    return page.evaluate(
        f"""async (args) => {{
            const names = ["state/topology", "state/lanes", "state/turn", "state/reduce", "lib/words"];
            const all = Object.assign({{}}, ...(await Promise.all(names.map((name) => import(`/web/${{name}}.js`)))));
            const {{ topologyOf, pathTo, rowsOf, lanesOf, begin, perform, isOver, reduce, EMPTY, continuing, isBusy,
                     missingWords }} = all;
            {body}
        }}""",
        list(args),
    )


def flow(*edges: tuple[str, str], nodes: str = "") -> dict:
    ids = list(dict.fromkeys([*nodes, *(end for edge in edges for end in edge)]))
    return {"nodes": ids, "connections": [{"source": source, "target": target} for source, target in edges]}


BRANCHED = flow(("a", "b"), ("b", "c"), ("c", "d"), ("a", "x"), ("x", "y"), ("d", "m"), ("y", "m"))


def test_both_languages_say_the_same(page):
    assert run(page, "return missingWords();") == []


def test_the_path_follows_first_parents(page):
    assert run(page, "return pathTo(topologyOf(args[0]), 'm');", BRANCHED) == ["a", "b", "c", "d", "m"]
    assert run(page, "return pathTo(topologyOf(args[0]), 'none');", BRANCHED) == []


def test_a_line_keeps_its_level_and_branches_stand_one_in(page):
    rows = run(page, "return rowsOf(topologyOf(args[0])).map((r) => [r.id, r.level, r.branches]);", BRANCHED)
    assert rows == [["a", 1, 1], ["x", 2, 0], ["y", 2, 0], ["b", 1, 0], ["c", 1, 0], ["d", 1, 0], ["m", 1, 0]]
    folded = run(page, "return rowsOf(topologyOf(args[0]), new Set(['a'])).map((r) => r.id);", BRANCHED)
    assert folded == ["a", "b", "c", "d", "m"]


def test_a_circle_made_by_hand_hangs_nothing(page):
    circle = flow(("a", "b"), ("b", "a"), ("b", "c"))
    assert sorted(run(page, "return rowsOf(topologyOf(args[0])).map((r) => r.id);", circle)) == ["a", "b", "c"]
    assert run(page, "return pathTo(topologyOf(args[0]), 'c').length;", circle) == 3
    assert run(page, "return lanesOf(topologyOf(args[0])).lane.length;", circle) == 3


def test_lanes_do_not_overlap_and_are_given_back(page):
    found = run(
        page,
        """const t = topologyOf(args[0]); const l = lanesOf(t);
           return t.ids.map((id, place) => [id, l.lane[place], l.depth[place]]);""",
        flow(("a", "b"), ("b", "c"), ("c", "d"), ("d", "e"), ("e", "f"), ("a", "x"), ("d", "y")),
    )
    places = {name: (lane, depth) for name, lane, depth in found}
    assert [places[name] for name in "abcdef"] == [(0, depth) for depth in range(6)]
    assert places["x"][0] == places["y"][0] == 1
    assert len(set(places.values())) == len(places)


def test_a_new_turn_at_the_end_moves_nothing(page):
    before, after = (
        run(page, "const t = topologyOf(args[0]); return lanesOf(t).lane.slice(0, 7);", each)
        for each in (BRANCHED, {**BRANCHED, "nodes": [*BRANCHED["nodes"], "n"],
                                "connections": [*BRANCHED["connections"], {"source": "m", "target": "n"}]})
    )  # fmt: skip
    assert before == after


def test_a_big_flow_is_laid_out_quickly(page):
    milliseconds = run(
        page,
        """const nodes = [], connections = [];
           for (let n = 0; n < 10000; n++) {
             nodes.push(String(n));
             if (n) connections.push({ source: String(n % 12 ? n - 1 : Math.floor(n / 3)), target: String(n) });
           }
           const started = performance.now();
           const t = topologyOf({ nodes, connections });
           const rows = rowsOf(t), lanes = lanesOf(t);
           return [performance.now() - started, rows.length, lanes.lane.length];""",
    )
    assert milliseconds[1:] == [10000, 10000]
    assert milliseconds[0] < 1000


def test_the_two_acts_as_the_stage_cues_them(page):
    turn = run(
        page,
        """let turn = begin({ trace_id: "t", flow_id: "main", prompt: "p", parents: [] }, 0);
           const events = [
             { seq: 1, type: "task", stage: [{ cue: "curtain" }] },
             { seq: 2, type: "message", stage: [{ cue: "say", act: 1, show: "one" }, { cue: "curtain" }] },
             { seq: 3, type: "approval", stage: [{ cue: "ask", approval_id: "q", path: "f", diff: "", tool_use_id: "c" }] },
             { seq: 3, type: "approval", stage: [{ cue: "say", act: 1, show: "heard twice" }] },
             { seq: 4, type: "tool_result", tool_use_id: "c", stage: [{ cue: "curtain" }, { cue: "backstage", title: "x" }] },
             { seq: 5, type: "message", stage: [{ cue: "say", act: 2, show: "two" }] },
             { seq: 6, type: "final", node_id: "t", stage: [{ cue: "close", status: "ok", line: "1 s" }] },
           ];
           const asks = [];
           for (const event of events) { turn = perform(turn, event, 5); asks.push(turn.ask?.approval_id ?? null); }
           return { said: turn.said.map((s) => s.text), asks, over: isOver(turn), node: turn.nodeId, curtain: turn.curtain };""",
    )
    assert turn == {
        "said": ["one", "two"],
        "asks": [None, None, "q", "q", None, None, None],
        "over": True,
        "node": "t",
        "curtain": False,
    }


def test_events_change_the_state_and_say_when_to_fetch(page):
    found = run(
        page,
        """const event = (state, name, data) => reduce(state, { kind: "event", name, data, now: 0 });
           let s = reduce(EMPTY, { kind: "flows", flows: [{ id: "f", name: "main" }] });
           s = reduce(s, { kind: "flow", flow: { id: "f", name: "main", nodes: ["a"], connections: [] } });
           s = event(s, "node_created", { node_id: "b", flow_id: "f", parents: [{ source: "a" }], node: { id: "b", title: "B" } });
           s = event(s, "flow_updated", { flow_id: "f", name: "main", node_count: 2, connection_count: 1, only_grew: true });
           const grown = [s.flow.nodes.join(), s.flow.connections.length, s.outdated];
           s = event(s, "node_created", { node_id: "z", flow_id: "other", parents: [], node: { id: "z" } });
           const other = s.flow.nodes.join();
           const rewired = event(s, "flow_updated", { flow_id: "f", name: "main", node_count: 2, connection_count: 1 }).outdated;
           s = reduce(s, { kind: "select", id: "b" });
           s = reduce(s, { kind: "merge", id: "b" });
           s = reduce(s, { kind: "select", id: "a" });
           const from = continuing(s).join();
           s = event(s, "node_deleted", { node_id: "a" });
           return { grown, other, rewired, from, left: s.flow.nodes.join(), edges: s.flow.connections.length, selected: s.selected };""",
    )
    assert found == {
        "grown": ["a,b", 1, False],
        "other": "a,b",
        "rewired": True,
        "from": "a,b",
        "left": "b",
        "edges": 0,
        "selected": None,
    }


def test_an_answer_does_not_hide_that_something_was_heard_meanwhile(page):
    found = run(
        page,
        """let s = reduce({ ...EMPTY, outdated: true }, { kind: "asking" });
           const asked = s.outdated;
           s = reduce(s, { kind: "event", name: "resync_required", data: {}, now: 0 });
           s = reduce(s, { kind: "flow", flow: { id: "f", name: "main", nodes: [], connections: [] } });
           return { asked, still: s.outdated };""",
    )
    assert found == {"asked": False, "still": True}
