"""The interactive session in this process: what a person types and sees."""

from __future__ import annotations

import re

from conftest import Bench
from in_process import sit_down_here
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import CTRL_C, CTRL_D, CTRL_R, ENTER, Person

CREATE = Call("writeFile", {"path": "notes.txt", "content": "one\ntwo\n"})
ASK = "Go ahead? (y/N):"


def prompts_sent(server: ScriptedModel) -> list[str]:
    return [_last_prompt(request.json) for request in server.turns]


def _last_prompt(body: dict) -> str:
    users = [message["content"] for message in body["messages"] if message["role"] == "user"]
    found = re.search("--- USER MESSAGE BEGIN ---\n(.*)--- USER MESSAGE END ---", users[-1], re.DOTALL)
    return found[1] if found else users[-1]


def leave(screen: Person) -> None:
    screen.prompt()
    screen.send(CTRL_D)


# Ctrl-R and /edit


def test_enter_takes_what_ctrl_r_found_and_later_lines_are_sent(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("first question")
        screen.prompt(times=2)
        screen.send(CTRL_R)
        screen.wait("I-search backward:")
        screen.send("first")
        screen.wait("[AGENT] You: first question", times=2)
        screen.send(ENTER)
        screen.prompt(times=2)
        screen.send(ENTER)
        screen.prompt(times=3)
        screen.line("and a new one")
        screen.prompt(times=4)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("One."), Turn("Two."), Turn("Three.")]) as server:
        code, _ = sit_down_here(bench, person, **server.env())
    assert code == 0
    assert prompts_sent(server) == ["first question", "first question", "and a new one"]


def test_ctrl_c_in_an_edit_keeps_things_as_they_are(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("first question")
        screen.prompt(times=2)
        screen.line("/edit")
        screen.wait("Ctrl-C keeps things as they are")
        screen.prompt(times=3)
        screen.send(CTRL_C)
        screen.wait("Everything stays as it is.")
        screen.prompt(times=4)
        screen.line("second question")
        screen.wait("Two.")
        screen.prompt(times=5)
        screen.line("/tree")
        screen.prompt(times=6)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("One."), Turn("Two.")]) as server:
        _, screen = sit_down_here(bench, person, **server.env())
    assert "├" not in screen.text, "no branch"
    assert re.search(r"^   1 [\w-]+  first question\n\*  2 [\w-]+  second question$", screen.text, re.M)
