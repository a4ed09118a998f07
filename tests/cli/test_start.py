"""A session begins without a question; the list of earlier ones is there for those who want it."""

from __future__ import annotations

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\n"})


@pytest.mark.parametrize(
    ("lang", "mentioned"),
    [("en", "(a number or /resume goes on with one)"), ("ja", "（番号か /resume で再開できます）")],
)
def test_a_new_session_begins_at_once_and_earlier_ones_are_named(bench: Bench, lang: str, mentioned: str) -> None:
    with ScriptedModel([Turn("First."), Turn("Second.")]) as server:
        run_here(bench, "nebula", "-p", "an earlier topic", **server.env())

        def act(screen: Person) -> None:
            screen.prompt()
            assert mentioned in screen.text and "an earlier topic" in screen.text
            screen.line("go")
            screen.wait("Second.")
            screen.line("/exit")

        sit_down_here(bench, act, NEBULA_LANG=lang, **server.env())
    assert "an earlier topic" not in str(server.turns[1].json)


def test_r_lists_the_sessions_to_choose_from(bench: Bench) -> None:
    with ScriptedModel([Turn("First."), Turn("Second.")]) as server:
        run_here(bench, "nebula", "-p", "an earlier topic", **server.env())

        def act(screen: Person) -> None:
            screen.wait("Number of a session to resume")
            screen.line("1")
            screen.wait("Resumed")
            screen.line("go")
            screen.wait("Second.")
            screen.line("/exit")

        sit_down_here(bench, act, "-r", **server.env())
    assert "an earlier topic" in str(server.turns[1].json)


@pytest.mark.parametrize(
    ("keys", "made", "told"), [("y", True, "true"), ("n", False, "did not allow"), ("not here\r", False, "not here")]
)
def test_one_key_answers_a_question_and_a_sentence_still_does(bench: Bench, keys: str, made: bool, told: str) -> None:
    def act(screen: Person) -> None:
        screen.prompt()
        screen.line("go")
        screen.wait("Go ahead?")
        screen.send(keys)
        screen.wait("Ended.")
        screen.line("/exit")

    with ScriptedModel([Turn("", [CREATE]), Turn("Ended.")]) as server:
        sit_down_here(bench, act, **server.env())
    assert (bench.project / "notes.txt").exists() is made
    assert told in str(server.turns[1].json["messages"][-1])
