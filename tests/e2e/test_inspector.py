"""The official inspector looks at `nebula mcp`, by both transports; each question is a process of its own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import BIN, Bench
from nebula.tools.registry import TOOLS
from scripted_model import ScriptedModel, Turn

pytestmark = pytest.mark.slow

INSPECTOR = (
    Path(__file__).parents[2] / "node_modules" / "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
)
NODE = shutil.which("node") or str(BIN / "node")
PATIENT = ("--connect-timeout", "290000")  # milliseconds; only a failure takes so long
FAILED_TOOL = 5
"""How the inspector ends after a tool's error."""


class Inspector:
    def __init__(self, bench: Bench, *target: str) -> None:
        self._bench = bench
        self._target = target

    def ask(self, method: str, *words: str, code: int = 0, **env: str) -> Any:
        """Return the result of the method."""
        variables = [word for key, value in env.items() for word in ("-e", f"{key}={value}")]
        ran = subprocess.run(
            [NODE, str(INSPECTOR), "--cli", *self._target, *variables, *PATIENT, "--method", method, *words],
            env=self._bench.env(),
            cwd=self._bench.project,
            capture_output=True,
            timeout=300,
            check=False,
        )
        assert ran.returncode == code, (ran.returncode, ran.stdout.decode(), ran.stderr.decode())
        return json.loads(ran.stdout)

    def call(self, tool: str, code: int = 0, env: dict[str, str] | None = None, **args: str) -> Any:
        words = [word for key, value in args.items() for word in ("--tool-arg", f"{key}={value}")]
        return self.ask("tools/call", "--tool-name", tool, *words, code=code, **env or {})


@pytest.fixture(params=["stdio", "http"])
def inspector(bench: Bench, request: pytest.FixtureRequest) -> Iterator[Inspector]:
    bench.write("a.txt", "of a file\n")
    if request.param == "stdio":
        yield Inspector(bench, *bench.argv("nebula", "mcp"))
        return
    process = bench.start("nebula", "mcp", "--http", "0", "--token", "of-this-test")
    assert process.stdout is not None
    address = re.search(r"http://[\d.:]+", process.stdout.readline().decode())
    assert address is not None
    try:
        header = "Authorization: Bearer of-this-test"
        yield Inspector(bench, "--server-url", f"{address[0]}/mcp", "--transport", "http", "--header", header)
    finally:
        process.terminate()
        process.communicate(timeout=30)


def test_tools_are_listed_and_every_schema_is_portable(inspector: Inspector) -> None:
    tools = inspector.ask("tools/list", "--strict")["tools"]
    offered = {tool.name: not tool.writes for tool in TOOLS if tool.over_mcp}
    assert {each["name"]: each["annotations"].get("readOnlyHint", False) for each in tools} == offered


def test_tools_are_called(inspector: Inspector, bench: Bench) -> None:
    read = inspector.call("readFile", path="a.txt")
    assert not read.get("isError") and read["structuredContent"] == {"content": "of a file\n"}
    assert inspector.call("writeFile", path="b.txt", content="by the inspector")["structuredContent"] == {
        "success": True
    }
    assert bench.read("b.txt") == "by the inspector"
    outside = inspector.call("readFile", code=FAILED_TOOL, path="../x")
    assert outside["isError"] and "error" in outside["content"][0]["text"]


def test_resources_are_listed_and_read(inspector: Inspector) -> None:
    assert inspector.ask("resources/list") == {"resources": []}, "no turn yet"
    templates = inspector.ask("resources/templates/list")["resourceTemplates"]
    assert [each["uriTemplate"] for each in templates] == ["nebula://files/{+path}", "nebula://turns/{id}"]
    (content,) = inspector.ask("resources/read", "--uri", "nebula://files/a.txt")["contents"]
    assert content["text"] == "of a file\n"
    assert inspector.ask("prompts/list") == {"prompts": []}


def test_the_agent_is_a_tool_and_its_turn_a_resource(bench: Bench) -> None:
    with ScriptedModel([Turn("It is done.")]) as server:
        inspector = Inspector(bench, *bench.argv("nebula", "mcp", "--agent"))
        done = inspector.call("runAgent", task="do it", env=server.env())
    assert not done.get("isError") and "It is done." in json.dumps(done["content"])
    (turn,) = inspector.ask("resources/list")["resources"]
    (content,) = inspector.ask("resources/read", "--uri", turn["uri"])["contents"]
    assert "do it" in content["text"] and "It is done." in content["text"]
