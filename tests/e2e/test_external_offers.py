"""What MCP servers offer beside plain text: images, resources, prompts, data, and how far a call is."""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Bench
from in_process import run_here, sit_down_here
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person

pytestmark = pytest.mark.slow

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SERVER = f'''
import asyncio, base64, os
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Image

server = MCPServer("studio")

@server.tool()
def look() -> Image:
    """Takes a picture."""
    return Image(data=base64.b64decode("{base64.b64encode(PNG).decode()}"), format="png")

@server.tool()
async def develop(context: Context) -> str:
    """Takes its time."""
    while not os.path.exists("developed"):
        await context.report_progress(1, 3, "in the dark room")
        await asyncio.sleep(0.05)
    return "developed"

@server.resource("studio://lens")
def lens() -> str:
    """Which lens is used."""
    return "50 mm"

@server.resource("studio://roll/{{number}}")
def roll(number: str) -> str:
    """A roll of film."""
    return "roll " + number

@server.prompt()
def portrait(person: str) -> str:
    """How to take a portrait."""
    return "Take a portrait of " + person

server.run()
'''


@pytest.fixture
def studio(bench: Bench, tmp_path: Path) -> dict[str, Any]:
    """The entry of a server that the user configured."""
    (tmp_path / "studio.py").write_text(SERVER)
    entry = {"command": sys.executable, "args": [str(tmp_path / "studio.py")]}
    (bench.home / ".nebula").mkdir(exist_ok=True)
    (bench.home / ".nebula" / "config.json").write_text(json.dumps({"mcp_servers": {"studio": entry}}))
    return entry


def sent(server: ScriptedModel, role: str) -> list[Any]:
    return [each["content"] for each in server.turns[-1].json["messages"] if each["role"] == role]


def test_an_image_reaches_the_model_and_is_named_in_the_records(bench: Bench, studio: Any) -> None:
    with ScriptedModel([Turn("", [Call("studio__look", {})]), Turn("A picture.")]) as server:
        ran = run_here(bench, "nebula", "-p", "look", "--yes", **server.env())
        (result,), picture = sent(server, "tool"), sent(server, "user")[-1]
    assert (ran.code, ran.out) == (0, "A picture.\n"), ran.err
    assert result == f"(image/png, {len(PNG)} bytes: shown below the results)"
    url = "data:image/png;base64," + base64.b64encode(PNG).decode()
    assert picture == [{"type": "image_url", "image_url": {"url": url}}]
    trace = (bench.project / ".nebula" / "trace.jsonl").read_text()
    assert "shown below the results" in trace and base64.b64encode(PNG).decode() not in trace


def test_resources_are_listed_and_read_by_one_tool(bench: Bench, studio: Any) -> None:
    reads = [Call("studio__readResource", {}), Call("studio__readResource", {"uri": "studio://lens"})]
    wrong = Call("studio__readResource", {"uri": "studio://nothing"})
    roll = Call("studio__readResource", {"uri": "studio://roll/7"})
    with ScriptedModel([Turn("", [*reads, roll, wrong]), Turn("Read.")]) as server:
        ran = run_here(bench, "nebula", "-p", "read", "--yes", **server.env())
        listed, lens, film, none = sent(server, "tool")
    assert ran.code == 0, ran.err
    assert "studio://lens" in listed and "studio://roll/{number}" in listed and "Which lens is used." in listed
    assert (lens, film) == ("50 mm", "roll 7") and "cannot be used" in none


def test_resources_are_asked_about_like_every_call(bench: Bench, studio: Any) -> None:
    with ScriptedModel([Turn("", [Call("studio__readResource", {"uri": "studio://lens"})]), Turn("No.")]) as server:
        ran = run_here(bench, "nebula", "-p", "read", **server.env())
        assert "50 mm" not in json.dumps(server.turns[-1].json)
    assert ran.code == 2 and "studio__readResource was not called" in ran.err


def test_plan_mode_reads_resources_only_where_the_user_says_so(bench: Bench, studio: dict[str, Any]) -> None:
    config = bench.home / ".nebula" / "config.json"
    for read_only in ([], ["readResource"]):
        config.write_text(json.dumps({"mcp_servers": {"studio": {**studio, "read_only": read_only}}}))
        with ScriptedModel([Turn("A plan.")]) as server:
            run_here(bench, "nebula", "-p", "plan", "--mode", "plan", **server.env())
            names = {each["function"]["name"] for each in server.turns[0].json["tools"]}
        assert {each for each in names if "__" in each} == {f"studio__{each}" for each in read_only}


def test_a_person_sees_the_servers_restarts_them_and_types_their_prompts(bench: Bench, studio: Any) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("/mcp")
        screen.wait("studio  does not run")
        screen.prompt(times=2)
        screen.line("/studio__portrait")
        screen.wait("Say it as: /studio__portrait person")
        screen.prompt(times=3)
        screen.line("/studio__portrait Ada Lovelace")
        screen.wait("Take a portrait of Ada Lovelace")
        screen.wait("Smile.")
        screen.prompt(times=4)
        screen.line("/mcp restart studio")
        screen.wait("starting MCP server studio")
        screen.wait("✓ studio  look, develop, readResource")
        screen.prompt(times=5)
        screen.line("/mcp")
        screen.wait("How to take a portrait.")
        screen.line("/studio__nothing")
        screen.wait("There is no command /studio__nothing")
        screen.line("exit")

    with ScriptedModel([Turn("Smile.")]) as server:
        sit_down_here(bench, person, **server.env())
        assert "Take a portrait of Ada Lovelace" in sent(server, "user")[-1]
        assert len(server.turns) == 1


def test_how_far_a_call_is_is_shown_in_the_live_line(bench: Bench, studio: Any) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("develop")
        screen.wait("studio__develop: 1/3 in the dark room")
        (bench.project / "developed").touch()
        screen.wait("Done.")
        screen.prompt(times=2)
        screen.line("exit")

    with ScriptedModel([Turn("", [Call("studio__develop", {})]), Turn("Done.")]) as server:
        sit_down_here(bench, person, "--yes", **server.env())
        assert sent(server, "tool") == ["developed"]
