"""What the user types while a turn runs, and what the live line says meanwhile."""

from __future__ import annotations

import io
import os
import pty
import select
import termios
import threading
import time

import pytest
from prompt_toolkit.input.vt100 import raw_mode

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.cli.terminal.input.keys import KeysKept
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.turn_view import TurnView
from nebula.cli.turn_lines import asked_again
from nebula.events import Diff, Final, Output, Retry, Stamped, Steering, Usage
from nebula.graph.graph import Graph
from nebula.language import Sentence, use_language
from nebula.stage import Curtain, Heard, Scene, StageOptions, perform
from nebula.tools.commands.program_name import program_of
from rows import each_row
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import CTRL_C, CTRL_D, CTRL_O, ENTER, TAB, Person

LOOK = Call("list", {"path": "."})


@pytest.mark.parametrize("columns", [80, 140])
def test_tab_sends_what_was_typed_into_the_running_turn(bench: Bench, columns: int) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("look")
        screen.wait("waiting for the model")
        screen.send("mind the tests")
        screen.wait("› mind the tests")
        screen.send(TAB)
        screen.wait("› ↪ mind the tests")
        answer.set()
        screen.wait("Done.")
        screen.prompt(times=2)
        screen.send(CTRL_D)

    answer = threading.Event()
    with ScriptedModel([Turn("Looking.", [LOOK], until=answer), Turn("Done."), Turn("Again.")]) as server:
        _, screen = sit_down_here(bench, person, columns=columns, **server.env())
        assert screen.text.index("Looking.") < screen.text.index("↪ mind the tests") < screen.text.index("Done.")
        sent = server.turns[1].json["messages"]
        assert [each["role"] for each in sent[-2:]] == ["tool", "user"] and sent[-1]["content"] == "mind the tests"
        ran = run_here(bench, "nebula", "-c", stdin="next\nexit\n", **server.env())
    assert "(1 turn so far)" in ran.out
    assert [each.get("content") for each in server.turns[2].json["messages"]].count("mind the tests") == 1
    node = Graph(str(bench.project / ".nebula/graph")).list_nodes()[1]
    assert node.prompt == "look" and '"said": "mind the tests"' in node.said_by("tool")
    assert "## USER:" in bench.read(".nebula/log.txt") and "\nmind the tests\n" in bench.read(".nebula/log.txt")


def test_ctrl_d_while_a_turn_runs_leaves_when_it_is_over(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("answer")
        screen.wait("waiting for the model")
        screen.send(f"again{ENTER}{CTRL_D}")
        screen.wait("› again ⏎ ^D")
        answer.set()

    answer = threading.Event()
    with ScriptedModel([Turn("First.", until=answer), Turn("Second.")]) as server:
        code, screen = sit_down_here(bench, person, **server.env())
    assert code == 0 and "Second." in screen.text and "Resume this session with" in screen.text


def test_a_key_typed_between_two_readers_reaches_the_next_one() -> None:
    master, slave = pty.openpty()
    try:
        before = termios.tcgetattr(slave)
        with KeysKept(slave):
            os.write(master, b"x\x04\r")
            assert select.select([slave], [], [], 60)[0]  # it has come, and nobody reads yet
            with raw_mode(slave):
                assert os.read(slave, 10) == b"x\x04\r"
            assert termios.tcgetattr(slave)[3] & termios.ISIG
        assert termios.tcgetattr(slave) == before
    finally:
        os.close(master)
        os.close(slave)


def test_what_comes_too_late_is_the_next_prompt_and_enter_waits(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("answer")
        screen.wait("waiting for the model")
        screen.send(f"one{TAB}two{ENTER}")
        screen.wait("↪ one two ⏎")
        answer.set()
        screen.wait("Third.")
        screen.prompt(times=4)
        screen.send(CTRL_D)

    answer = threading.Event()
    with ScriptedModel([Turn("First.", until=answer), Turn("Second."), Turn("Third.")]) as server:
        sit_down_here(bench, person, **server.env())
    prompts = [request.json["messages"][-1]["content"] for request in server.turns]
    assert ["one" in prompts[1], "two" in prompts[2], "two" in prompts[1]] == [True, True, False]


def test_the_live_line_speaks_japanese(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("見て")
        screen.wait("モデルの応答待ち")
        screen.send("テストも")
        screen.wait("› テストも")
        screen.send(TAB)
        screen.wait("› ↪ テストも")
        answer.set()
        screen.wait("終わり。")
        screen.prompt(times=2)
        screen.send(CTRL_D)

    answer = threading.Event()
    with ScriptedModel([Turn("", [LOOK], until=answer), Turn("終わり。")]) as server:
        sit_down_here(bench, person, columns=80, NEBULA_LANG="ja", **server.env())
    assert server.turns[1].json["messages"][-1]["content"] == "テストも"


def test_what_runs_is_told_by_its_name_alone() -> None:
    _, cues = perform(Scene(curtain_down=True), Output("1", program="pytest"), StageOptions())
    assert cues == (Curtain(doing="running pytest"),)
    _, cues = perform(Scene(curtain_down=True), Output("1"), StageOptions("ja"))
    assert cues == (Curtain(doing="コマンドを実行中"),)
    _, cues = perform(Scene(), Steering("mind \x1b"), StageOptions())
    assert cues == (Heard("mind ␛"), Curtain())


@each_row(
    ("line", "program"),
    [
        ("pytest -q tests", "pytest"),
        ("cd app && PYTHONPATH=src python3 -m pytest -q | tail", "pytest"),
        ("./scripts/test fast", "test"),
        ("for x in 1 2; do echo $x; done", "for"),
        ('"$HOME/my tool" run', None),
        ("A=1", None),
    ],
)
def test_the_program_of_a_line(line: str, program: str | None) -> None:
    assert program_of(line) == program


def test_why_the_model_is_asked_again_is_one_japanese_phrase() -> None:
    limited = Retry(Sentence("slow down"), 2, 600, attempts=4, kind="limit")
    use_language("ja")
    try:
        assert asked_again(limited, 30) == "利用制限中、30 秒後に再試行、2/4 回目"
    finally:
        use_language("en")


def test_the_live_line_stays_while_something_is_remarked(bench: Bench) -> None:
    """What is attached is told before the model is asked: that it works must be seen behind it."""

    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("look at @a.txt")
        screen.wait("waiting for the model")
        assert "Attached: a.txt" in screen.text
        screen.send(f"mind it{TAB}")
        screen.wait("› ↪ mind it")
        answer.set()
        screen.wait("Done.")
        screen.prompt(times=2)
        screen.send(CTRL_D)

    bench.write("a.txt", "x\n")
    answer = threading.Event()
    with ScriptedModel([Turn("Looking.", [LOOK], until=answer), Turn("Done.")]) as server:
        _, screen = sit_down_here(bench, person, **server.env())
    lines = screen.lines
    for said in ("Looking.", "Done."):
        assert lines[lines.index(said) - 1] == ""  # apart from what is told beside it


@pytest.mark.parametrize("columns", range(72, 90))
def test_the_closing_line_is_broken_between_its_parts(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    out = io.StringIO()
    out.isatty = lambda: True  # type: ignore[method-assign]
    screen = Screen(out)
    final = Final("", "ok", 0, (Diff("source.txt", "", 1, 1), Diff("test.txt", "", 2, 1)), Usage(500, 100))
    TurnView(screen, LiveLine(screen, str), StageOptions("ja")).read(Stamped(final, "", "", 1, ""))
    assert " · 未検証" in out.getvalue() and "入力 500・出力 100 トークン" in out.getvalue()


def test_a_long_rate_limit_is_told_by_the_clock() -> None:
    limited = Retry(Sentence("slow down"), 2, 600, attempts=4, kind="limit")
    assert asked_again(limited, 30) == "rate limited, again in 30 s, 2 of 4"
    assert asked_again(limited, 600).startswith("rate limited until ")


@pytest.mark.parametrize(
    ("lang", "so_far", "context"),
    [
        ("en", "This turn so far: 100 tokens in, 20 out", "What the next request sends"),
        ("ja", "このターンのここまで: ", "次のリクエストで"),
    ],
)
def test_commands_that_only_tell_do_not_wait_for_the_turn(bench: Bench, lang: str, so_far: str, context: str) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("look")
        screen.wait("Looking.")
        screen.line("/cost")
        screen.wait(so_far)
        screen.line("/context")
        screen.wait(context)
        screen.line("/undo")
        screen.wait("› /undo")
        assert not screen.sees("Done.")
        answer.set()
        screen.wait("Done.")
        screen.prompt(times=3)  # /undo came after the turn
        screen.send(CTRL_D)

    answer = threading.Event()
    with ScriptedModel([Turn("Looking.", [LOOK]), Turn("Done.", until=answer)]) as server:
        sit_down_here(bench, person, NEBULA_LANG=lang, **server.env())
        assert len(server.turns) == 2


@pytest.mark.parametrize("answers", ["y", f"y{ENTER}"])
def test_what_comes_together_with_a_prompt_is_typed_ahead_and_answers_no_question(bench: Bench, answers: str) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.send(f"write{ENTER}{answers}")
        screen.wait("Go ahead? (y/N):")
        screen.send(f"n{ENTER}")
        screen.wait("Not written.")
        screen.wait("You: y")
        screen.send(CTRL_C)
        screen.prompt()
        screen.send(CTRL_D)

    write = Call("writeFile", {"path": "a.txt", "content": "a\n"})
    with ScriptedModel([Turn("", [write]), Turn("Not written."), Turn("Yes.")]) as server:
        sit_down_here(bench, person, **server.env())
    assert not (bench.project / "a.txt").exists()


def test_no_key_is_lost_while_something_is_printed_over_the_prompt(bench: Bench) -> None:
    """Nobody reads the screen, so that the program stands still in the middle of printing while keys are typed."""

    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("look")
        screen.wait("Seen.")
        screen.prompt(times=2)
        screen.send(f"secondX{CTRL_O}")
        time.sleep(0.3)
        screen.send(f"\x7f{ENTER}")
        screen.wait("Twice.")
        screen.prompt()
        screen.send(CTRL_D)

    bench.write("a.txt", "x" * 150_000)  # much more than a terminal takes while nobody reads
    read = Turn("", [Call("readFile", {"path": "a.txt"})])
    with ScriptedModel([read, Turn("Seen."), Turn("Twice.")]) as server:
        sit_down_here(bench, person, **server.env())
        prompts = [str(request.json["messages"][-1]["content"]) for request in server.turns]
    assert "\nsecond--- USER MESSAGE END" in prompts[-1]
