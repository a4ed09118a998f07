"""Tools of MCP servers, with real servers: processes of their own, and one over HTTP."""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from conftest import Bench
from in_process import sit_down_here
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn
from terminal_driver import Person

pytestmark = pytest.mark.slow

SERVER = '''
import os, pathlib, sys
from mcp.server import MCPServer

here = pathlib.Path(sys.argv[1])
(here / "pid").write_text(str(os.getpid()))
server = MCPServer("notes")

@server.tool()
def add(text: str) -> str:
    """Adds a note."""
    with open(here / "notes", "a") as file:
        file.write(text + "\\n")
    return "added, as " + os.environ.get("NOTES_KEY", "nobody")

@server.tool()
def search(word: str) -> str:
    """Finds notes."""
    return "found nothing about " + word

@server.tool()
def fail() -> str:
    """Fails."""
    raise ValueError("the notes are locked")

server.run()
'''
ADD = Call("notes__add", {"text": "milk"})
SEARCH = Call("notes__search", {"word": "milk"})


@pytest.fixture
def notes(bench: Bench, tmp_path: Path) -> Path:
    """The folder of a notes server that the user configured."""
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "server.py").write_text(SERVER)
    entry = {"command": sys.executable, "args": [str(folder / "server.py"), str(folder)]}
    configure(bench, notes={**entry, "env": {"NOTES_KEY": "${NOTES_KEY}"}, "read_only": ["search"]})
    return folder


def configure(bench: Bench, **servers: Any) -> None:
    (bench.home / ".nebula").mkdir(exist_ok=True)
    (bench.home / ".nebula" / "config.json").write_text(json.dumps({"mcp_servers": servers}))


def offered(server: ScriptedModel) -> set[str]:
    names = {each["function"]["name"] for each in server.turns[0].json["tools"]}
    return {name for name in names if "__" in name}


def results(server: ScriptedModel) -> str:
    return "\n".join(m["content"] for m in server.turns[-1].json["messages"] if m["role"] == "tool")


def test_yes_lets_them_be_called_and_they_end_with_the_session(bench: Bench, notes: Path) -> None:
    with ScriptedModel([Turn("", [ADD, SEARCH]), Turn("", [Call("notes__fail", {})]), Turn("Noted.")]) as server:
        ran = bench.run("nebula", "-p", "note milk", "--yes", NOTES_KEY="key-of-notes-1", **server.env())
        assert offered(server) == {"notes__add", "notes__search", "notes__fail"}
        said = results(server)
    assert (ran.code, ran.out) == (0, "Noted.\n"), ran.err
    assert (notes / "notes").read_text() == "milk\n"
    assert "found nothing about milk" in said and "Error executing tool fail" in said
    assert "added, as key-of-notes-1" in said, "the model is told what the tool said"
    assert "key-of-notes-1" not in (bench.project / ".nebula" / "trace.jsonl").read_text()
    assert ended(notes)


def ended(notes: Path) -> bool:
    try:
        watched = os.pidfd_open(int((notes / "pid").read_text()))
    except ProcessLookupError:
        return True
    gone, _, _ = select.select([watched], [], [], 10)
    os.close(watched)
    return bool(gone)


def test_without_a_yes_only_what_the_user_calls_reading_runs(bench: Bench, notes: Path) -> None:
    with ScriptedModel([Turn("", [SEARCH, ADD]), Turn("I could not.")]) as server:
        ran = bench.run("nebula", "-p", "note milk", **server.env())
        said = results(server)
    assert ran.code == 2 and not (notes / "notes").exists()
    assert "notes__add was not called: nobody is there to ask. To allow it add --yes." in ran.err
    assert "found nothing about milk" in said and "writes are refused in this run" in said


def test_plan_mode_offers_only_what_reads(bench: Bench, notes: Path) -> None:
    with ScriptedModel([Turn("", [ADD]), Turn("A plan.")]) as server:
        ran = bench.run("nebula", "-p", "note milk", "--mode", "plan", "--yes", **server.env())
        assert offered(server) == {"notes__search"}
        assert "Unknown tool: notes__add" in results(server)
    assert ran.code == 0 and not (notes / "notes").exists()


def test_a_server_that_does_not_start_costs_a_remark(bench: Bench, notes: Path) -> None:
    configure(
        bench,
        broken={"command": sys.executable, "args": ["-c", "raise SystemExit('no licence')"]},
        gone={"command": "no-such-program"},
    )
    with ScriptedModel([Turn("All the same.")]) as server:
        ran = bench.run("nebula", "-p", "go", **server.env())
        assert offered(server) == set()
    assert (ran.code, ran.out) == (0, "All the same.\n")
    assert "The MCP server broken cannot be used: no licence" in ran.err
    assert "The MCP server gone cannot be used" in ran.err and "Traceback" not in ran.err


def test_a_server_that_greets_on_its_standard_output_prints_nothing(bench: Bench, notes: Path) -> None:
    text = (notes / "server.py").read_text()
    (notes / "server.py").write_text(text.replace("server.run()", 'print("Welcome!", flush=True)\nserver.run()'))
    with ScriptedModel([Turn("", [SEARCH]), Turn("Found.")]) as server:
        ran = bench.run("nebula", "-p", "search", **server.env())
        assert "found nothing about milk" in results(server)
    assert (ran.code, ran.out) == (0, "Found.\n") and "Welcome" not in ran.err and "Traceback" not in ran.err


def test_a_person_is_asked_and_a_yes_for_the_session_holds_for_the_tool(bench: Bench, notes: Path) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("note milk")
        screen.wait("Call notes__add with:")
        screen.wait('"text": "milk"')
        screen.wait("Go ahead? (y/N):")
        screen.line("not that one")
        screen.wait("Go ahead? (y/N):", times=2)
        screen.line("a")
        screen.wait("Done.")
        screen.prompt(times=2)
        screen.line("exit")

    script = [Turn("", [ADD]), Turn("", [ADD]), Turn("", [ADD]), Turn("Done.")]
    with ScriptedModel(script) as server:
        sit_down_here(bench, person, **server.env())
        assert "The user refused: not that one" in results(server)
    assert (notes / "notes").read_text() == "milk\nmilk\n"


def test_a_project_is_asked_about_before_its_server_starts(bench: Bench, notes: Path) -> None:
    entry = json.loads((bench.home / ".nebula" / "config.json").read_text())["mcp_servers"]
    (bench.home / ".nebula" / "config.json").unlink()
    (bench.project / ".nebula").mkdir()
    (bench.project / ".nebula" / "config.json").write_text(json.dumps({"mcp_servers": entry}))
    with ScriptedModel([Turn("Nothing."), Turn("Something.")]) as server:
        ran = bench.run("nebula", "-p", "go", **server.env())
        assert offered(server) == set() and not (notes / "pid").exists()
        assert "MCP servers are not started: its folder is not trusted. To let them run add --trust." in ran.err
        ran = bench.run("nebula", stdin="y\n\ngo\nexit\n", **server.env())
        assert "This project wants to use the tools of these MCP servers:" in ran.out
        assert any("notes__add" in json.dumps(turn.json["tools"]) for turn in server.turns[1:])


def test_a_server_over_http_with_its_token(bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "wiki").mkdir()
    (tmp_path / "wiki" / "page.md").write_text("the wiki page\n")
    wiki = bench.start("nebula", "mcp", "--http", "0", "--root", str(tmp_path / "wiki"), EC_TOKEN="wiki-token-123")
    try:
        assert wiki.stdout is not None
        url = wiki.stdout.readline().decode().split()[-1]
        headers = {"Authorization": "Bearer ${WIKI_TOKEN}"}
        configure(bench, wiki={"url": url, "headers": headers, "read_only": ["readFile"]})
        script = [Turn("", [Call("wiki__readFile", {"path": "page.md"})]), Turn("Read.")]
        with ScriptedModel(script) as server:
            ran = bench.run("nebula", "-p", "read", WIKI_TOKEN="wiki-token-123", **server.env())
            assert ran.code == 0 and "the wiki page" in results(server), ran.err
    finally:
        wiki.terminate()
        wiki.communicate()


def test_doctor_says_what_each_server_offers(bench: Bench, notes: Path) -> None:
    entry = json.loads((bench.home / ".nebula" / "config.json").read_text())["mcp_servers"]["notes"]
    configure(bench, notes=entry, gone={"command": "no-such-program"})
    ran = bench.run("nebula", "doctor")
    assert "✓ notes    notes__add, notes__search, notes__fail" in ran.out
    assert "✗ gone     The MCP server gone cannot be used" in ran.out and ended(notes)


def test_a_server_that_says_nothing_can_be_interrupted(bench: Bench, tmp_path: Path) -> None:
    mark = tmp_path / "pid"
    configure(
        bench, silent={"command": "sh", "args": ["-c", f"echo $$ > {mark}.new; mv {mark}.new {mark}; exec sleep 100"]}
    )
    with ScriptedModel([Turn("never asked")]) as server:
        process = bench.start("nebula", "-p", "go", "--output-format", "stream-json", **server.env())
        deadline = time.monotonic() + 60
        while not mark.exists():
            assert time.monotonic() < deadline
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        assert not server.turns
    events = [json.loads(line) for line in out.decode().splitlines()]
    types = [event["type"] for event in events if event["type"] != "activity"]
    assert types == ["task", "final"] and b"Traceback" not in err
    assert (events[-1]["status"], process.returncode) == ("interrupted", 130)
    assert ended(tmp_path)


def test_a_delegate_calls_what_somebody_said_yes_to(bench: Bench, notes: Path) -> None:
    """What such a tool does is done outside of the delegate's place, and proposed to nobody."""

    def answer(request: RecordedRequest) -> Turn:
        asked = str(request.json["messages"])
        if "'tool_calls'" in asked:
            return Turn("Done.")
        if "THE WHOLE" in asked:
            return Turn("", [Call("delegate", {"task": "Note it.", "read_only": False})])
        return Turn("", [ADD])

    with ScriptedModel(answer) as server:
        bench.run("nebula", "-p", "THE WHOLE", **server.env())
        assert not (notes / "notes").exists()
        bench.run("nebula", "-p", "THE WHOLE", "--yes", **server.env())
    assert (notes / "notes").read_text() == "milk\n"
