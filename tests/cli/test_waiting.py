"""What a person sees while a model writes: what it does and how much of it there is, never a word before the last."""

from __future__ import annotations

import json

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.cli.turn_lines import DraftLines
from nebula.stage import DraftText
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person, Terminal

SLOWLY = Turn("alpha beta\n", thinking="hm " * 20, pace_s=0.15)
"""A few pieces: each is there for longer than a tick of the live line."""
DRAFT = Turn("alpha beta gamma delta\n" * 5, thinking="hm " * 20, pace_s=0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "thinking", "answering"), [("en", "thinking · ", "answering · "), ("ja", "思考中 · ", "回答を作成中 · ")]
)
def test_the_live_line_tells_what_the_model_does(bench: Bench, lang: str, thinking: str, answering: str) -> None:
    def act(screen: Person) -> None:
        screen.wait("] You:")
        screen.send("go\r")
        screen.wait(thinking)
        screen.wait(answering)
        assert "alpha" not in screen.text  # not a word before all are there
        screen.wait("alpha beta")
        screen.send("/exit\r")

    with ScriptedModel([SLOWLY]) as server:
        _, screen = sit_down_here(bench, act, NEBULA_LANG=lang, **server.env())
    assert answering not in screen.text


def test_backstage_sees_the_draft_line_by_line(bench: Bench) -> None:
    def act(screen: Person) -> None:
        screen.wait("] You:")
        screen.send("go\r")
        screen.wait("┊ alpha beta gamma delta")
        screen.wait("tokens in")
        screen.send("/exit\r")

    with ScriptedModel([DRAFT]) as server:
        sit_down_here(bench, act, "--backstage", **server.env())


def test_a_draft_that_begins_anew_leaves_nothing_of_the_one_before() -> None:
    lines = DraftLines()
    assert lines.add(DraftText("half of a li")) == []
    assert lines.add(DraftText("a whole one\nand mo", anew=True)) == ["  ┊ a whole one"]
    assert lines.add(DraftText("re\n\n")) == ["  ┊ and more", "  ┊ "]
    lines.add(DraftText("given up"))
    lines.clear()
    assert lines.add(DraftText("x\n")) == ["  ┊ x"]


@pytest.mark.slow
@pytest.mark.parametrize(("lang", "answering"), [("en", "answering · "), ("ja", "回答を作成中 · ")])
def test_one_task_on_a_terminal_tells_it_too(bench: Bench, lang: str, answering: str) -> None:
    with ScriptedModel([SLOWLY]) as server:
        env = bench.env(NEBULA_LANG=lang, TERM="xterm-256color", **server.env())
        with Terminal(bench.argv("nebula", "-p", "x"), bench.project, env) as screen:
            screen.wait(answering)
            assert "alpha" not in screen.text
            assert screen.ended() == 0
            assert answering not in screen.text and screen.text.count("alpha") == 1


def test_headless_backstage_has_the_draft_on_stderr(bench: Bench) -> None:
    with ScriptedModel([DRAFT]) as server:
        ran = run_here(bench, "nebula", "-p", "x", "--backstage", **server.env())
    assert ran.err.count("┊ alpha beta gamma delta") == 5 and ran.out == DRAFT.text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("lang", "changing", "working"),
    [("en", "changing files · ", "working · "), ("ja", "ファイルを変更中 · ", "作業中 · ")],
)
def test_what_is_done_after_an_answer_and_by_undo_is_not_silent(
    bench: Bench, lang: str, changing: str, working: str
) -> None:
    config = bench.home / ".nebula/config.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"hooks": {"before_write": ["sleep 1"]}}))
    write = Turn("", [Call("writeFile", {"path": "a.txt", "content": "one\n"})])
    env = bench.env(TERM="xterm-256color", NEBULA_LANG=lang)
    with (
        ScriptedModel([write, Turn("Written.")]) as server,
        Terminal(bench.argv("nebula"), bench.project, env | server.env()) as screen,
    ):
        screen.prompt()
        screen.line("go")
        screen.wait("(y/N):")
        screen.send("y")
        screen.wait(changing)
        screen.wait("Written.")
        screen.prompt(times=2)
        screen.line("/undo")
        screen.wait(working)
        screen.prompt(times=3)
        assert changing not in screen.text and working not in screen.text
