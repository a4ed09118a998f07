"""What Tab offers for references: earlier turns after an @, tags after a #; and what then reaches the model."""

from __future__ import annotations

import re

import pytest
from prompt_toolkit.completion import CompleteEvent
from prompt_toolkit.document import Document

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.cli.terminal.input.attached_size import AttachedSize
from nebula.cli.terminal.input.completion import PromptCompleter, offers_at_once
from nebula.cli.terminal.input.node_names import NodeNames
from nebula.cli.terminal.input.paste import Pastes
from nebula.workspace import Policy, open_workspace
from scripted_model import ScriptedModel, Turn
from terminal_driver import CTRL_D, ENTER, TAB, Person


def test_tags_and_earlier_turns_are_offered_and_reach_the_model(bench: Bench) -> None:
    graph = ("--data-dir", ".nebula/graph")
    for prompt, answer in (("how does the parser work?", "It reads tokens."), ("and the lexer?", "It makes them.")):
        run_here(bench, "vizprompt", *graph, "create-node", "--prompt", prompt, "--response", answer)
    parser = run_here(bench, "vizprompt", *graph, "search", "--text", "parser", "--json").json[0]["id"]
    run_here(bench, "vizprompt", *graph, "node", "edit", parser, "--tags", "parsing,grammar")

    def person(screen: Person) -> None:
        screen.prompt()
        screen.send("compare #gra")
        screen.wait("#grammar  1")
        screen.send(TAB)
        screen.wait("You: compare #grammar")
        screen.send(" with @LEXER")
        screen.wait("and the lexer?")
        screen.send(TAB)
        screen.wait("#grammar with @0")
        screen.send(f" please{ENTER}")
        screen.wait("Compared.")
        screen.prompt(times=2)
        screen.send(CTRL_D)

    with ScriptedModel([Turn("Compared.")]) as server:
        sit_down_here(bench, person, **server.env())
    sent = str(server.turns[0].json["messages"])
    assert "It reads tokens." in sent and "It makes them." in sent
    node = run_here(bench, "vizprompt", *graph, "search", "--text", "compare", "--json").json[0]
    assert len(node["references"]) == 2 and parser in node["references"]


def test_the_size_is_the_one_that_is_told_when_it_is_sent(bench: Bench) -> None:
    bench.write("src/main.py", "".join(f"print({number})\n" for number in range(1, 1001)))
    bench.write("日本.txt", "これは日本語の文章です。\n" * 50)
    bench.write(".env", "TOKEN=abcdefgh12345\n")
    size = AttachedSize(lambda: open_workspace(str(bench.project), Policy(), read_only=True), Pastes())
    with ScriptedModel([Turn("Seen.")] * 3) as server:
        for mention in ("src/main.py", "src/main.py:10-20", "日本.txt"):
            ran = run_here(bench, "nebula", "-p", f"see @{mention}", **server.env())
            before, told = (
                int(re.findall(r"about ([\d,]+) tokens", said)[0].replace(",", ""))
                for said in (size(f"see @{mention}"), ran.err)
            )
            assert 0 <= told - before <= 20  # which lines they are is told with them
    assert size("see @src/") == "1 attachment, about 2 tokens" and size("see @.env") == ""


def test_tab_after_a_bare_mark_lists_all_tags() -> None:
    class Known(NodeNames):
        def _look(self) -> None:
            self._tags = (("grammar", 2), ("parsing", 1))

    completer = PromptCompleter({}, [], lambda: pytest.fail("no file is asked for"), Known(lambda: None))

    def offered(text: str, *, tab: bool = True) -> list[str]:
        found = completer.get_completions(Document(text), CompleteEvent(completion_requested=tab))
        return [each.text for each in found]

    assert offered("see #") == ["#grammar", "#parsing"] and offered("see #p") == ["#parsing"]
    assert offered("a#") == [] and offered("# heading") == []
    assert not offers_at_once("#") and offers_at_once("#g") and not offers_at_once("# heading")
