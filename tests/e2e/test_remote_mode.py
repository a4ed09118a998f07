"""`EC_MCP_URL`: the agent works on the files of a gateway, under one trace id, and plan mode only looks there, too."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from scripted_model import Call, ScriptedModel, Turn


@dataclass(frozen=True)
class Served:
    root: Path
    url: str

    def audited(self) -> list[dict[str, Any]]:
        text = (self.root / ".nebula" / "audit.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def served(bench, tmp_path) -> Iterator[Served]:
    root = tmp_path / "served"
    root.mkdir()
    (root / "a.txt").write_text("remote\n", encoding="utf-8")
    server = subprocess.Popen(
        bench.argv("evercontext", "gateway", "--port", "0", "--root", str(root)),
        env=bench.env(),
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    yield Served(root, server.stdout.readline().strip())
    server.terminate()
    server.communicate(timeout=60)


SCRIPT = [
    Turn("", [Call("readFile", {"path": "a.txt"})]),
    Turn("", [Call("editFile", {"path": "a.txt", "new_content": "edited\n"})]),
    Turn("end"),
]


def run(bench, served, *args):
    with ScriptedModel(SCRIPT) as server:
        ran = bench.run("nebula", "-p", "go", *args, "--output-format", "json", EC_MCP_URL=served.url, **server.env())
    results = [message["content"] for message in server.turns[-1].json["messages"] if message["role"] == "tool"]
    return ran, [json.loads(result) for result in results]


def test_the_files_are_the_gateways_and_every_call_has_the_tasks_trace_id(bench, served):
    bench.write("a.txt", "local\n")
    ran, results = run(bench, served, "--yes")
    assert ran.code == 0
    assert results == [{"content": "remote\n"}, {"success": True}]
    assert (served.root / "a.txt").read_text(encoding="utf-8") == "edited\n"
    assert bench.read("a.txt") == "local\n"
    assert {line["trace_id"] for line in served.audited()} == {ran.json["trace_id"]}


def test_plan_mode_looks_at_the_gateways_files_and_changes_none(bench, served):
    bench.write("a.txt", "local\n")
    ran, results = run(bench, served, "--yes", "--mode", "plan")
    assert ran.code == 2
    assert results[0] == {"content": "remote\n"}
    assert "plan mode" in results[1]["error"]
    assert (served.root / "a.txt").read_text(encoding="utf-8") == "remote\n"
    assert "write_file" not in {line["method"] for line in served.audited()}
    assert {line["trace_id"] for line in served.audited()} == {ran.json["trace_id"]}
