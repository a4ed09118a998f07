"""A turn that comes to nothing gives its prompt back to where it was typed."""

from __future__ import annotations

import re
import threading

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from scripted_model import Fault, ScriptedModel, Turn
from terminal_driver import BEGINNING, CTRL_C, CTRL_D, ENTER, ESCAPE, Person

REFUSED = Fault.status_code(400, body='{"error": {"message": "no such thing"}}')
LABEL = "[AGENT] You: "
PASTED = "\n".join(f"line {number}" for number in range(8))


def sent(server: ScriptedModel) -> list[str]:
    """What the last message of each request says."""
    return [request.json["messages"][-1]["content"] for request in server.turns]


def prompts(server: ScriptedModel) -> list[str]:
    """The same without the context around it."""
    return [
        re.sub(".*USER MESSAGE BEGIN ---\n|--- USER MESSAGE END.*", "", each, flags=re.DOTALL) for each in sent(server)
    ]


@pytest.mark.parametrize("lang", ["en", "ja"])
def test_a_prompt_that_failed_stands_there_as_it_was_typed_and_enter_sends_it_again(bench: Bench, lang: str) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.send("直して @a.txt ")
        screen.paste(PASTED)
        screen.send(ENTER)
        screen.wait("such thing")
        screen.prompt(times=2)
        typed = [line for line in screen.lines if line.startswith(LABEL)]
        assert typed[0] == typed[1] and "直して @a.txt [" in typed[1]
        screen.send("！" + ENTER)
        screen.wait("Done.")
        screen.prompt(times=3)
        screen.send(CTRL_D)

    bench.write("a.txt", "x\n")
    with ScriptedModel([REFUSED, Turn("Done.")]) as server:
        code, _ = sit_down_here(bench, person, NEBULA_LANG=lang, **server.env())
    assert code == 0
    for prompt in sent(server):
        assert "直して @a.txt " in prompt and "line 7" in prompt and "a.txt" in prompt
    assert f"{PASTED}！" in sent(server)[1]


def test_ctrl_d_leaves_while_it_is_untouched(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("go")
        screen.wait(f"{LABEL}go", times=2)
        screen.send(BEGINNING + CTRL_D)  # no longer at its end: a key for the text
        screen.wait(f"{LABEL}o\n")
        screen.send(ESCAPE + ESCAPE)
        screen.wait(f"{LABEL.rstrip()}\n")
        screen.line("again")
        screen.wait(f"{LABEL}again", times=2)
        screen.send(CTRL_D)

    with ScriptedModel([REFUSED, REFUSED]) as server:
        code, screen = sit_down_here(bench, person, **server.env())
    assert code == 0 and len(server.turns) == 2
    assert prompts(server)[1] == "again"
    assert "Resume this session with" in screen.text


def test_a_turn_cancelled_before_its_first_word_gives_its_prompt_back(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("thnik")
        server.wait_until(lambda: len(server.turns) == 1)
        screen.send(ESCAPE)
        screen.wait(f"{LABEL}thnik", times=2)
        screen.send("\b\b\bink" + ENTER)
        screen.wait("Thought.")
        screen.prompt(times=3)
        screen.send(CTRL_D)

    never = threading.Event()
    with ScriptedModel([Turn("late", until=never), Turn("Thought.")]) as server:
        sit_down_here(bench, person, **server.env())
        never.set()
    assert prompts(server)[1] == "think"


def test_what_waits_keeps_its_place_behind_the_prompt_that_failed(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("one")
        screen.wait("waiting for the model")
        screen.send(f"two{ENTER}three{ENTER}")
        screen.wait("› two ⏎ three ⏎")
        answer.set()
        screen.wait(f"{LABEL}one", times=2)
        screen.wait("› two ⏎ three ⏎")  # they are in sight, and wait
        screen.send(ENTER)
        screen.wait("Third.")
        screen.prompt(times=5)
        screen.send(CTRL_D)

    answer = threading.Event()
    with ScriptedModel([Turn("", until=answer), Turn("First."), Turn("Second."), Turn("Third.")]) as server:
        sit_down_here(bench, person, **server.env())
    assert prompts(server) == ["one", "one", "two", "three"]


def test_whoever_has_said_goodbye_is_not_asked_again(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("one")
        screen.wait("waiting for the model")
        screen.send(CTRL_D)
        screen.wait("› ^D")
        answer.set()

    answer = threading.Event()
    with ScriptedModel([Turn("", until=answer)]) as server:
        code, screen = sit_down_here(bench, person, **server.env())
    assert code == 0 and screen.text.count(f"{LABEL}one") == 1


def test_a_line_that_a_program_types_comes_in_its_place(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("go")
        screen.wait(f"{LABEL}go", times=2)
        screen.send("come\n")
        screen.wait(f"{LABEL}come", times=2)
        screen.send(CTRL_C)
        screen.prompt(times=3)
        screen.send("exit\n")

    with ScriptedModel([REFUSED, REFUSED]) as server:
        code, screen = sit_down_here(bench, person, **server.env())
    assert code == 0 and prompts(server) == ["go", "come"]
    assert "again to leave" not in screen.text


def test_an_edited_prompt_and_an_accepted_plan_come_back_as_what_they_were_sent_as(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt("[PLAN] You:")
        screen.line("plan it")
        screen.wait("Type accept")
        screen.prompt("[PLAN] You:", times=2)
        screen.line("accept")
        screen.wait(f"{LABEL}Carry out the plan.")
        screen.send(ENTER)
        screen.wait("Carried out.")
        screen.prompt(times=2)
        screen.line("/edit")
        screen.wait(f"{LABEL}Carry out the plan.", times=2)
        screen.send(" now" + ENTER)
        screen.wait(f"{LABEL}Carry out the plan. now", times=2)
        screen.send(ENTER)
        screen.wait("At once.")
        screen.prompt(times=5)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("1. this"), REFUSED, Turn("Carried out."), REFUSED, Turn("At once.")]) as server:
        sit_down_here(bench, person, "--mode", "plan", **server.env())
    carried_out, at_once = "Carry out the plan.", "Carry out the plan. now"
    assert prompts(server) == ["plan it", carried_out, carried_out, at_once, at_once]
    assert "1. this" in server.turns[2].json["messages"][0]["content"]  # accepted it stays


def test_a_pipe_gets_nothing_put_into_its_lines(bench: Bench) -> None:
    with ScriptedModel([REFUSED, Turn("Second.")]) as server:
        ran = run_here(bench, "nebula", stdin="one\ntwo\nexit\n", **server.env())
    assert ran.code == 0 and "Second." in ran.out and prompts(server) == ["one", "two"]
