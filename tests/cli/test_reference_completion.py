"""What Tab offers for references: earlier turns after an @, tags after a #; and what then reaches the model."""

from __future__ import annotations

from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.cli.terminal.input.attached_size import AttachedSize
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


def test_the_size_of_a_range_is_not_that_of_the_file_and_a_folder_counts(bench: Bench) -> None:
    bench.write("src/main.py", "x = 1\n" * 1000)
    size = AttachedSize(lambda: open_workspace(str(bench.project), Policy(), read_only=True), Pastes())
    assert size("see @src/main.py") == "1 attachment, about 1,500 tokens"
    assert size("see @src/main.py:10-20") == "1 attachment, about 110 tokens"
    assert size("see @src/main.py:10-20 and @src/") == "2 attachments, about 112 tokens"
