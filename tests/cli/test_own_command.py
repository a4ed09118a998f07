"""`!command` at the prompt: a command of the user's own in a layer."""

from __future__ import annotations

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.cli.terminal.input.typed_ahead import TypedAhead
from nebula.cli.terminal.own_command import wanted_command
from scripted_model import Fault, ScriptedModel, Turn
from terminal_driver import CTRL_C, Person

pytestmark = pytest.mark.slow


def test_its_output_is_shown_and_goes_with_the_next_prompt_alone(bench: Bench) -> None:
    with ScriptedModel([Turn("I see."), Turn("Yes.")]) as server:
        ran = run_here(bench, "nebula", stdin="!echo six times $((6*7)); exit 3\nwhy?\nand?\nexit\n", **server.env())
        first = server.turns[0].json["messages"][-1]["content"]
        second = server.turns[1].json["messages"][-1]["content"]
    assert "six times 42\n" in ran.out and "exit 3 · its output goes with your next prompt" in ran.out
    assert "$ echo six times $((6*7)); exit 3\nsix times 42\nexit code: 3" in first and "why?" in first
    assert "six times" not in second


def test_its_output_waits_for_the_next_prompt_where_one_came_to_nothing(bench: Bench) -> None:
    with ScriptedModel([Fault.status_code(400), Turn("Now.")]) as server:
        run_here(bench, "nebula", stdin="!echo six times $((6*7))\nwhy?\nonce more\nexit\n", **server.env())
        assert "six times 42" in server.turns[1].json["messages"][-1]["content"]


def test_what_it_changed_is_asked_about_applied_and_taken_back(bench: Bench) -> None:
    bench.write("a.txt", "one\n")
    with ScriptedModel([]) as server:
        typed = "!echo two >> a.txt\ny\n!cat a.txt; echo three > a.txt\nn\n/undo\ny\nexit\n"
        ran = run_here(bench, "nebula", stdin=typed, **server.env())
    assert "A command wants to change 1 file:" in ran.out and "+two" in ran.out
    assert "1 file changed; /undo takes it back" in ran.out
    assert "one\ntwo\n" in ran.out, "the second command saw what the first had changed"
    assert "Nothing was applied." in ran.out and "The model is told" not in ran.out
    assert ran.out.index("one\ntwo\n") < ran.out.index("+three"), "what it said stands above the question"
    assert bench.read("a.txt") == "one\n"


def test_a_long_output_ends_with_its_end(bench: Bench) -> None:
    with ScriptedModel([]) as server:
        ran = run_here(bench, "nebula", stdin="!seq 1 200000; printf 'no end'\nexit\n", **server.env())
    assert "\n1\n2\n" in ran.out and "\n…\n" in ran.out and "\n200000\nno end\n" in ran.out
    assert len(ran.out) < 400_000


def test_in_plan_mode_it_changes_nothing_and_the_mark_alone_drops_the_output(bench: Bench) -> None:
    bench.write("a.txt", "one\n")
    with ScriptedModel([Turn("Hm.")]) as server:
        typed = "plan\n！echo kept; rm a.txt\n!\n!\nwhat?\nexit\n"
        ran = run_here(bench, "nebula", stdin=typed, NEBULA_LANG="ja", **server.env())
        sent = server.turns[0].json["messages"][-1]["content"]
    assert "プランモード: 変更は破棄されました" in ran.out and bench.read("a.txt") == "one\n"
    assert "次のプロンプトから外しました: !echo kept; rm a.txt" in ran.out
    assert "kept" not in sent


def test_ctrl_c_ends_it_and_nothing_is_changed(bench: Bench) -> None:
    def person(me: Person) -> None:
        me.prompt()
        me.line("!touch new.txt; echo be''gun; sleep 60")  # what is typed is to be seen as well
        me.wait("begun")
        me.send(CTRL_C)
        me.wait("Stopped; nothing was changed.")
        me.prompt(times=2)
        me.line("exit")

    with ScriptedModel([]) as server:
        sit_down_here(bench, person, **server.env())
    assert not (bench.project / "new.txt").exists()


def test_at_a_terminal_a_key_answers_and_the_output_stands_above_the_prompt(bench: Bench) -> None:
    def person(me: Person) -> None:
        me.prompt()
        me.line("!printf 'a\\rlast\\n\\033[31mred'; echo new > made.txt")
        me.wait("Go ahead? (y/N):")
        me.send("y")
        me.wait("1 file changed")
        me.prompt(times=2)
        me.line("exit")
        assert "last" in me.lines and not me.sees("\x1b")

    with ScriptedModel([]) as server:
        sit_down_here(bench, person, **server.env())
    assert bench.read("made.txt") == "new\n"


@pytest.mark.parametrize(
    ("typed", "line"), [("!ls -l", "ls -l"), ("！ ls", "ls"), ("!", ""), (" !ls", None), ("a!", None)]
)
def test_only_a_line_that_begins_with_the_mark_is_one(typed: str, line: str | None) -> None:
    assert wanted_command(typed) == line


def test_one_that_waits_is_not_sent_into_a_turn() -> None:
    typed = TypedAhead(lines=["!ls", "also this", "/cost"])
    typed.steer()
    assert (typed.lines, typed.take_steering()) == (["!ls", "/cost"], "also this")
