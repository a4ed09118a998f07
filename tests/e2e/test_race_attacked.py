"""A hostile try: whatever its commands do, the project, what lies beside it and the other try stay as they are."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_rig.hostile_commands import (
    DELETING,
    KERNEL,
    MOUNTS,
    NETWORK,
    PLANTING,
    PROCESSES,
    SECRETS,
    THROUGH_PROC,
    WRITING_OUT,
)
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

DEBUGGING = ("debug the user's process", "debug the first process", "seize the first process", "read another's memory")
LINES = [
    *DELETING.values(),
    *WRITING_OUT.values(),
    *THROUGH_PROC.values(),
    *SECRETS.values(),
    *PLANTING.values(),
    *MOUNTS.values(),
    *KERNEL.values(),
    *(PROCESSES[name] for name in DEBUGGING),
]
AT_A_TIME = 8
CANARY = "canary-4711"
"""Not the bare word, which commands find in the programs of the machine."""


def tree(folder):
    """Every file with its content, and every mode, below a folder; what nebula keeps aside."""
    found = {}
    for here, folders, files in os.walk(folder):
        if here == str(folder):
            folders[:] = [name for name in folders if name != ".nebula"]
        for name in (*folders, *files):
            path = os.path.join(here, name)
            status = os.lstat(path)
            is_file = name in files and not os.path.islink(path)
            content = Path(path).read_bytes() if is_file else b""
            found[path] = (status.st_mode, content)
    return found


@pytest.mark.timeout(300)
def test_a_hostile_try_changes_nothing_but_its_place(bench, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text(f"{CANARY} outside\n")
    for name in ("README.md", "src/a.py", "precious-inside"):
        bench.write(name, f"this is {name}\n")
    bench.write(".env", f"KEY={CANARY}-in-the-project\n")
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh/id").write_text(f"{CANARY} key\n")
    before, beside = tree(bench.project), (tree(outside), tree(bench.home / ".ssh"))
    seen = {"OUTSIDE": str(outside), "HOST_PID": str(os.getpid()), "MARK": "mark-of-this-test"}
    lines = [f"export {' '.join(f'{name}={each}' for name, each in seen.items())}; {line}" for line in LINES]
    hostile: list[str] = []
    said: list[str] = []
    kept: list[str] = []

    def answer(request: RecordedRequest) -> Turn:
        messages = request.json["messages"]
        results = [str(each["content"]) for each in messages if each["role"] == "tool"]
        if not results and not hostile:
            hostile.append("")
            return Turn("hostile", [Call("runCommand", {"command": line}) for line in lines[:AT_A_TIME]])
        if any(each.get("content") == "hostile" for each in messages):
            said.extend(results)
            rest = lines[len(results) : len(results) + AT_A_TIME]
            return Turn("", [Call("runCommand", {"command": line}) for line in rest]) if rest else Turn("Done.")
        if len(results) < 4:
            return Turn("", [Call("runCommand", {"command": "sleep 3; echo mine >> src/a.py; cat src/a.py; ls"})])
        kept.append(results[-1])
        return Turn("Done.")

    with ScriptedModel(answer) as server:
        ran = bench.run(
            "nebula", "race", "do it", "--tries", "2", "--output-format", "json", timeout=280, **server.env()
        )
    final = json.loads(ran.out)
    assert len(final["tries"]) == 2, ran.err
    assert len(said) >= len(lines)
    assert not [each for each in said if CANARY in each] and CANARY not in json.dumps(final)
    assert not [each for each in said if '"output":"HOLE' in each.replace(": ", ":") or "\\nHOLE" in each]
    [own] = kept
    assert "this is src/a.py\\nmine\\nmine\\nmine\\nmine\\n" in own and "README.md" in own and "precious-inside" in own
    assert tree(bench.project) == before
    assert (tree(outside), tree(bench.home / ".ssh")) == beside


def scripted(*lines: str, said: list[str], **more: object) -> Callable[[RecordedRequest], Turn]:
    """Every try runs these commands at once, and what they say is kept."""

    def answer(request: RecordedRequest) -> Turn:
        results = [str(each["content"]) for each in request.json["messages"] if each["role"] == "tool"]
        said.extend(results)
        return Turn("Done.") if results else Turn("", [Call("runCommand", {"command": line} | more) for line in lines])

    return answer


@pytest.mark.timeout(120)
@pytest.mark.parametrize("wish", [{}, {"network": True}])
def test_a_try_reaches_no_network(bench, wish):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        lines = [
            f"PORT={port}; export PORT; {NETWORK[name]}" for name in ("the user's server", "the world", "datagrams")
        ]
        said: list[str] = []
        with ScriptedModel(scripted(*lines, "echo al''ive", said=said, **wish)) as server:
            ran = bench.run("nebula", "race", "do it", "--tries", "2", timeout=100, **server.env())
        assert ran.code == (1 if wish else 0), ran.err
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert len(said) == 2 * (len(lines) + 1) and sum("alive" in each for each in said) == (0 if wish else 2)
    assert not any('"output": "HOLE' in each or "\\nHOLE" in each for each in said), said


@pytest.mark.timeout(180)
def test_a_process_bomb_ends_its_own_command_alone(bench):
    bombed: list[int] = []

    def answer(request: RecordedRequest) -> Turn:
        messages = request.json["messages"]
        results = [str(each["content"]) for each in messages if each["role"] == "tool"]
        if not results and not bombed:
            bombed.append(1)
            return Turn("bomb", [Call("runCommand", {"command": PROCESSES["fork bomb"]})])
        is_bomber = any(each.get("content") == "bomb" for each in messages)
        if not is_bomber and len(results) < 5:
            return Turn("", [Call("runCommand", {"command": "sleep 1; echo mine >> mine.txt"})])
        return Turn("Done.")

    (bench.home / ".nebula").mkdir(exist_ok=True)
    (bench.home / ".nebula/config.json").write_text(json.dumps({"command_timeout_s": 15}))
    with ScriptedModel(answer) as server:
        ran = bench.run(
            "nebula", "race", "do it", "--tries", "2", "--output-format", "json", timeout=160, **server.env()
        )
    tries = json.loads(ran.out)["tries"]
    assert [each["status"] for each in tries] == ["ok", "ok"], ran.err
    assert sorted(len(each["files_changed"]) for each in tries) == [0, 1]


EDITS: dict[str, Callable[[Path], object]] = {
    "content": lambda path: path.write_text("mine\n"),
    "mode": lambda path: path.chmod(0o700),
    "gone": lambda path: path.unlink(),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "link": lambda path: (path.unlink(), path.symlink_to("elsewhere")),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_the_user_edits_during_a_race_is_a_conflict_and_stays(bench, edit):
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "one\n")
    edited: list[object] = []

    def answer(request: RecordedRequest) -> Turn:
        if request.json["messages"][-1]["role"] == "tool":
            if not edited:
                edited.append(EDITS[edit](bench.project / "a.txt"))
                bench.write("new.txt", "mine\n")
            return Turn("Done.")
        line = "echo two > a.txt; echo two > b.txt; echo theirs > new.txt"
        return Turn("", [Call("runCommand", {"command": line})])

    with ScriptedModel(answer) as server:
        ran = bench.run(
            "nebula", "race", "do it", "--tries", "2", "--take", "1", "--yes", "--output-format", "json", **server.env()
        )
    after = tree(bench.project)
    assert ran.code == 1 and "a.txt, new.txt" in ran.err, ran.err
    assert (bench.read("b.txt"), bench.read("new.txt")) == ("two\n", "mine\n")
    path = bench.project / "a.txt"
    kept = {
        "content": lambda: path.read_text() == "mine\n",
        "mode": lambda: path.read_text() == "one\n" and path.stat().st_mode & 0o777 == 0o700,
        "gone": lambda: str(path) not in after,
        "folder": path.is_dir,
        "link": lambda: os.readlink(path) == "elsewhere",
    }
    assert kept[edit](), after
