"""What a person decided stays with the turn, for those who read it later."""

import asyncio
import json
from pathlib import Path

import pytest

from known_machine import know_the_machine
from nebula.agent.assembly import open_session
from nebula.agent.past.decisions import PersonDecision, decisions_in
from nebula.agent.recording.nodes import turn_of
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.graph.values import Node, Utterance
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.tools.approval import Decision, allow_all
from rows import each_row

LINES = [f"line {number}\n" for number in range(40)]


@pytest.fixture
def settings(tmp_path, monkeypatch):
    know_the_machine(tmp_path / "home")
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    (tmp_path / "project").mkdir()
    Path(tmp_path, "project", "a.txt").write_text("".join(LINES), encoding="utf-8")
    return Settings(home=str(tmp_path / "home"), root=str(tmp_path / "project"), openai_api_key="sk-test-0123456789")


def play(settings, decision, by_rule=None):
    """The node of a turn whose one edit, of three hunks, was decided on so."""
    edits = [{"old_text": f"line {number}\n", "new_text": f"LINE {number}\n"} for number in (1, 20, 38)]
    read = {"tool_calls": [{"name": "readFile", "args": {"path": "a.txt"}}]}
    edit = {"tool_calls": [{"name": "editFile", "args": {"path": "a.txt", "edits": edits}}]}

    async def approve(question):
        return decision

    async def scenario():
        chosen = ChosenModel(ReplayModel([read, edit, {"text": "Done."}]), "m", settings.context_tokens)
        session = await open_session(settings, approver=approve, by_rule=by_rule, chosen=chosen)
        try:
            return (await session.turn("go")).node_id
        finally:
            await session.close()

    return Graph(str(Path(settings.root, ".nebula", "graph"))).get_node(asyncio.run(scenario()))


def test_the_hunks_that_were_taken_are_kept(settings):
    node = play(settings, Decision(True, hunks=(1, 3)))
    (found,) = decisions_in(node)
    assert (found.about, found.answer, found.taken, found.of, found.refused) == ("a.txt", "hunks 1, 3", 2, 3, False)
    assert str(found.remark) == "2 of 3 changes applied: a.txt"
    assert len(turn_of(node).messages) == 6, "the turn is still read from its node as before"


def test_the_words_of_a_refusal_are_kept(settings):
    (found,) = decisions_in(play(settings, Decision(False, reason="keep line 20")))
    assert str(found.remark) == "refused: a.txt: “keep line 20”"


def test_a_plain_no_and_a_plain_yes(settings):
    (no,) = decisions_in(play(settings, Decision(False)))
    assert str(no.remark) == "refused: a.txt"
    (yes,) = decisions_in(play(settings, Decision(True)))
    assert (yes.answer, yes.remark) == ("yes", None)


def test_what_a_rule_decided_is_nobodys_decision(settings):
    assert not decisions_in(play(settings, asyncio.run(_by_rule()), by_rule="yes"))


async def _by_rule():
    from nebula.events import Approval

    return await allow_all(Approval("1", "write", "editFile"))


@each_row("text", ["", "null", "[]", "{}", '{"decisions": 3}', '{"decisions": [{"about": 1}]}', '{"decisions": ["x"]}'])
def test_a_log_that_is_not_ours_has_no_decisions(text):
    assert not decisions_in(Node("n", "", (Utterance("tool", text),)))


def test_a_part_of_what_a_command_changed():
    kept = PersonDecision("1", "make", "some", taken=1, of=2).to_json()
    node = Node("n", "", (Utterance("tool", json.dumps({"decisions": [kept]})),))
    assert [str(each.remark) for each in decisions_in(node)] == ["1 of 2 changes applied: make"]
