"""Plan mode changes nothing: whatever is called, under whatever name, through whatever link or door."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from nebula.tools.registry import TOOLS
from scripted_model import Call, ScriptedModel, Turn, hermes

PATHS = ("new.txt", "a.txt", "src/b.py", "inside.txt", "outside.txt", "dangling.txt", "folder/x.txt", "../victim/v.txt")
WRITERS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("writeFile", {"content": "forged"}),
    ("editFile", {"new_content": "forged"}),
    ("write_file", {"content": "forged", "mode": "create"}),
    ("write_file", {"content": "forged", "mode": "overwrite"}),
    ("edit_file", {"new_content": "forged"}),
    ("appendFile", {"content": "forged"}),
    ("deleteFile", {}),
)
READERS = [
    Call("list", {"path": ".", "recursive": True}),
    Call("list", {"path": "folder"}),
    Call("searchInDirectory", {"directory": ".", "keyword": "original"}),
    Call("readNode", {"id": "../../etc/passwd"}),
    Call("runCheck", {"name": "touch ran.txt"}),
    Call("runCommand", {"command": "touch ran.txt; echo forged > a.txt; chmod 777 src/b.py; rm -rf src; ls"}),
    Call("runCommand", {"command": "echo forged > inside.txt; echo forged > outside.txt; echo forged > dangling.txt"}),
    Call("runCommand", {"command": "echo forged > folder/x.txt; echo forged > ../victim/v.txt; rm -rf ../victim"}),
    Call("run_command", {"command": "touch ran.txt", "network": True}),
]


@pytest.fixture
def trapped(bench, tmp_path) -> Path:
    """A project with links in it; what they lead to lies beside it, and counts as the tree, too."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "v.txt").write_text("original\n", encoding="utf-8")
    bench.write("a.txt", "original\n")
    bench.write("src/b.py", "original = 1\n")
    bench.write(".nebula/config.json", '{"checks": ["touch ran.txt"]}')
    for name, target in {
        "inside.txt": "a.txt",
        "outside.txt": str(victim / "v.txt"),
        "dangling.txt": str(victim / "made.txt"),
        "folder": str(victim),
    }.items():
        (bench.project / name).symlink_to(target)
    return tmp_path


def tree_hash(top: Path) -> str:
    """Of every name, kind, mode, link target and byte, but for what nebula keeps for itself."""
    found = hashlib.sha256()
    for folder, folders, files in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in (".nebula", "home"))
        for name in sorted((*folders, *files)):
            path = Path(folder, name)
            state = path.lstat()
            content = os.readlink(path).encode() if path.is_symlink() else b"" if path.is_dir() else path.read_bytes()
            found.update(repr((str(path.relative_to(top)), state.st_mode, content)).encode())
    return found.hexdigest()


def attempts() -> list[Call]:
    reads = [Call("readFile", {"path": path}) for path in PATHS]
    return reads + READERS + [Call(name, {"path": path, **args}) for path in PATHS for name, args in WRITERS]


def test_the_hash_sees_any_change(trapped):
    before = tree_hash(trapped)
    (trapped / "victim" / "v.txt").write_text("0riginal\n", encoding="utf-8")
    assert tree_hash(trapped) != before


@pytest.mark.usefixtures("upper_side")
def test_no_native_call_changes_the_tree(bench, trapped):
    before = tree_hash(trapped)
    with ScriptedModel([Turn("", attempts()), Turn("", attempts()), Turn("A plan.")]) as server:
        ran = bench.run("nebula", "-p", "go", "--mode", "plan", "--yes", "--trust", "--allow", "a.txt", **server.env())
    assert (ran.code, ran.out) == (2, "A plan.\n")
    assert tree_hash(trapped) == before
    offered = {tool["function"]["name"] for tool in server.turns[0].json["tools"]}
    assert {"list", "readFile", "runCommand", "delegate"} <= offered <= {tool.name for tool in TOOLS if tool.in_plan}


def test_no_call_of_the_json_dialect_changes_the_tree(bench, trapped):
    before = tree_hash(trapped)
    script = [*(hermes(Turn("", [call])) for call in attempts()), hermes(Turn("A plan."))]
    with ScriptedModel(script, capabilities={"hermes3:8b": ["completion"]}) as server:
        bench.run("nebula", "-p", "go", "--mode", "plan", "--yes", "--model", "hermes3:8b", **server.env("ollama"))
    assert len(server.turns) == len(script)
    assert tree_hash(trapped) == before


async def test_no_call_over_mcp_changes_the_tree(bench, trapped):
    before = tree_hash(trapped)
    command = bench.argv("nebula", "mcp", "--read-only", "--root", str(bench.project))
    server = StdioServerParameters(command=command[0], args=command[1:], env=bench.env())
    async with Client(stdio_client(server)) as client:
        readers = {tool.name for tool in TOOLS if tool.over_mcp and not tool.writes}
        assert {tool.name for tool in (await client.list_tools()).tools} == readers
        for call in attempts():
            result = await client.call_tool(call.name, dict(call.args))
            assert result.is_error or call.name in readers
    assert tree_hash(trapped) == before
