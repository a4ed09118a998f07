"""Every door on another system: on macOS, whose Python lacks what only Linux has, and on an old kernel."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from acp import text_block
from mcp import Client, StdioServerParameters

from conftest import BIN, Bench
from conversation_rig import serving, talk
from editor_rig import Editor, connected
from gateway_rig import server_command
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import CTRL_D, Terminal

pytestmark = pytest.mark.slow
SYSTEMS = Path(__file__).parents[1] / "systems"
WRITE = Call("writeFile", {"path": "a.py", "content": "x = 1\n"})


@dataclass(frozen=True)
class Elsewhere(Bench):
    """A bench whose programs are on another system."""

    system: str = ""

    def env(self, **more: str) -> dict[str, str]:
        return super().env(**{"PYTHONPATH": str(SYSTEMS / self.system)} | more)


@pytest.fixture(params=["macos", "old_kernel"])
def elsewhere(bench: Bench, request: pytest.FixtureRequest) -> Elsewhere:
    return Elsewhere(bench.project, bench.home, request.param)


def test_headless_a_turn_writes_and_is_in_the_graph(elsewhere: Elsewhere) -> None:
    elsewhere.write("old.txt", "old\n")
    turns = [
        WRITE,
        Call("readFile", {"path": "old.txt"}),
        Call("editFile", {"path": "old.txt", "new_content": "new\n"}),
    ]
    with ScriptedModel([*(Turn("", [call]) for call in turns), Turn("Done.")]) as server:
        ran = elsewhere.run("nebula", "-p", "write it", "--yes", "--output-format", "json", **server.env())
    final = json.loads(ran.out)
    assert (ran.code, final["status"]) == (0, "ok"), ran.err
    assert (elsewhere.read("a.py"), elsewhere.read("old.txt")) == ("x = 1\n", "new\n")
    blamed = elsewhere.run("nebula", "blame", "a.py", "--json")
    assert [each["by"] for each in json.loads(blamed.out)] == ["turn"], blamed.err
    listed = elsewhere.run("vizprompt", "--data-dir", ".nebula/graph", "node", "list")
    assert (listed.code, "write it" in listed.out) == (0, True), listed.err


def test_a_command_is_no_tool_and_the_doctor_says_why(elsewhere: Elsewhere) -> None:
    with ScriptedModel([Turn("Done.")]) as server:
        ran = elsewhere.run("nebula", "-p", "run it", **server.env())
    assert ran.code == 0, ran.err
    offered = {tool["function"]["name"] for tool in server.turns[0].json["tools"]}
    assert "readFile" in offered
    assert "runCommand" not in offered
    doctor = elsewhere.run("nebula", "doctor")
    assert "Traceback" not in doctor.err + doctor.out
    reason = "Layers need Linux" if elsewhere.system == "macos" else "user namespaces"
    assert reason.lower() in " ".join(doctor.out.split()).lower()


def test_at_a_terminal_a_file_is_written_and_taken_back(elsewhere: Elsewhere) -> None:
    with ScriptedModel([Turn("", [WRITE]), Turn("Written.")]) as server:
        env = elsewhere.env(TERM="xterm-256color", **server.env())
        with Terminal(elsewhere.argv("nebula"), elsewhere.project, env, columns=100) as screen:
            screen.prompt()
            screen.line("write it")
            screen.wait("Go ahead? (y/N):")
            screen.line("y")
            screen.prompt(times=2)
            assert elsewhere.read("a.py") == "x = 1\n"
            screen.line("/undo")
            screen.wait("Taken back: a.py")
            screen.prompt(times=3)
            screen.send(CTRL_D)
            assert screen.ended() == 0
    assert not (elsewhere.project / "a.py").exists()


def test_a_race_is_run_in_copies_and_one_is_taken(elsewhere: Elsewhere) -> None:
    elsewhere.write("old.txt", "old\n")

    def answer(request: Any) -> Turn:
        said = sum(message["role"] == "assistant" for message in request.json["messages"])
        return [Turn("", [WRITE]), Turn("Done.")][said]

    with ScriptedModel(answer) as server:
        ran = elsewhere.run("nebula", "race", "write it", "--tries", "2", "--output-format", "json", **server.env())
    assert ran.code == 0, ran.err
    tries = json.loads(ran.out)["tries"]
    assert [each["status"] for each in tries] == ["ok", "ok"], tries
    taken = elsewhere.run("nebula", "take", tries[0]["node_id"], "--yes")
    assert (taken.code, elsewhere.read("a.py")) == (0, "x = 1\n"), taken.err


def test_the_index_is_built_searched_and_kept_in_step(elsewhere: Elsewhere) -> None:
    for number in range(40):
        elsewhere.write(f"src/part_{number}.py", f"def paint_{number}():\n    return {number}\n" * 20)
    built = elsewhere.run("nebula", "index", "rebuild")
    assert built.code == 0, built.err
    found = elsewhere.run("nebula", "index", "search", "paint_7", "--json")
    assert "src/part_7.py" in found.out, found.err
    elsewhere.write("src/late.py", "def sculpture():\n    return 1\n")
    found = elsewhere.run("nebula", "index", "search", "sculpture", "--json")
    assert "src/late.py" in found.out, found.err


def test_a_task_of_the_orchestrator_is_carried_out(elsewhere: Elsewhere) -> None:
    plan = {"tasks": [{"id": "1", "tool": "write_file", "parameters": {"path": "b.txt", "content": "b\n"}}]}
    elsewhere.write("plan.json", json.dumps(plan))
    with ScriptedModel([Turn("Done.")] * 5) as server:
        ran = elsewhere.run("evercontext", "run", "--task", "write b", "--plan", "plan.json", **server.env())
    assert ran.code == 0, ran.err
    assert elsewhere.read("b.txt") == "b\n", ran.err


async def test_the_page_hears_a_turn_of_its_server(elsewhere: Elsewhere) -> None:
    model = ScriptedModel([Turn("", [WRITE]), Turn("Written.")])
    with model, serving(elsewhere, "nebula", **model.env()) as server:
        async with talk(server) as page:
            await page.ask("hello", token=server.token)
            await page.ask("send_prompt", prompt="write it")
            asked = await page.event("approval")
            await page.ask("approve", approval_id=asked["data"]["approval_id"], decision="yes")
            ended = await page.event("final")
            found = await page.ask("get_node", node_id=ended["data"]["node_id"])
    assert "write it" in json.dumps(found)
    assert elsewhere.read("a.py") == "x = 1\n"


async def test_an_editor_has_a_turn_with_a_write(elsewhere: Elsewhere) -> None:
    editor = Editor()
    with ScriptedModel([Turn("I write it.", [WRITE]), Turn("Written.")]) as server:
        async with connected(elsewhere, server, editor) as agent:
            session = await agent.new_session(cwd=str(elsewhere.project), mcp_servers=[])
            ended = await agent.prompt(session_id=session.session_id, prompt=[text_block("write it")])
    assert (ended.stop_reason, elsewhere.read("a.py")) == ("end_turn", "x = 1\n")


async def test_mcp_writes_and_searches(elsewhere: Elsewhere) -> None:
    command = StdioServerParameters(
        command=str(BIN / "nebula"), args=["mcp", "--root", str(elsewhere.project)], env=elsewhere.env()
    )
    async with Client(command) as client:
        written = await client.call_tool("writeFile", {"path": "a.py", "content": "x = 1\n"})
        found = await client.call_tool("searchInDirectory", {"directory": ".", "keyword": "x = 1"})
    assert not written.is_error, written
    assert "a.py" in json.dumps(found.structured_content or [each.text for each in found.content]), found


def test_the_gateway_writes_and_reads(elsewhere: Elsewhere) -> None:
    with server_command("gateway", elsewhere.project, env=elsewhere.env()) as gateway:
        written = gateway.post("write_file", {"path": "a.py", "content": "x = 1\n", "mode": "create"})
        read = gateway.post("read_file", {"path": "a.py"})
    assert written.status == 200, written.body
    assert read.json["content"] == "x = 1\n", read.body


def test_on_macos_what_a_turn_wrote_is_on_the_drive(bench: Bench, tmp_path: Path) -> None:
    mac, syncs = Elsewhere(bench.project, bench.home, "macos"), tmp_path / "syncs"
    with ScriptedModel([Turn("", [WRITE]), Turn("Done.")]) as server:
        ran = mac.run("nebula", "-p", "write it", "--yes", NEBULA_TEST_SYNCS=str(syncs), **server.env())
    assert ran.code == 0, ran.err
    flushed = [
        Path(line).relative_to(mac.project) for line in syncs.read_text().splitlines() if str(mac.project) in line
    ]
    noted, staged = Path(".nebula/journal/changes.jsonl"), Path(".nebula/journal/staging")
    contents = [each for each in flushed if each.parent == staged]
    assert contents and noted in flushed[: flushed.index(contents[0])], "the change is noted before it is made"
    assert Path(".") in flushed[flushed.index(contents[0]) :], "the name of the new file, after its content"
    assert any(each.name.startswith(".new-") for each in flushed), "the node"
    assert Path(".nebula/graph/nodes/000") in flushed, "and its name"


@pytest.mark.parametrize(
    ("command", "words"),
    [("nebula", []), ("nebula", ["-p", "hi"]), ("evercontext", ["hook", "run"]), ("vizprompt", ["--help"])],
)
@pytest.mark.parametrize(("lang", "said"), [("en", "On Windows use WSL"), ("ja", "Windows では WSL を")])
def test_on_windows_every_command_says_to_use_wsl(
    bench: Bench, command: str, words: list[str], lang: str, said: str
) -> None:
    ran = Elsewhere(bench.project, bench.home, "windows").run(command, *words, NEBULA_LANG=lang)
    assert (ran.code, ran.out, ran.err.count("\n")) == (1, "", 1), ran.err
    assert said in ran.err
