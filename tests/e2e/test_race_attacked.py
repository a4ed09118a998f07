"""A hostile try: whatever its commands do, the project, what lies beside it and the other try stay as they are."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from sandbox_rig.hostile_commands import DELETING, THROUGH_PROC, WRITING_OUT
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

LINES = [*DELETING.values(), *WRITING_OUT.values(), *THROUGH_PROC.values()]
AT_A_TIME = 8


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
    (outside / "precious").write_text("canary outside\n")
    for name in ("README.md", "src/a.py", "precious-inside"):
        bench.write(name, f"this is {name}\n")
    bench.write(".env", "KEY=canary-in-the-project\n")
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh/id").write_text("canary key\n")
    before, beside = tree(bench.project), (tree(outside), tree(bench.home / ".ssh"))
    lines = [line.replace("$OUTSIDE", str(outside)).replace("$HOST_PID", str(os.getpid())) for line in LINES]
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
    assert "canary" not in "".join(said) and "canary" not in json.dumps(final)
    [own] = kept
    assert "this is src/a.py\\nmine\\nmine\\nmine\\nmine\\n" in own and "README.md" in own and "precious-inside" in own
    assert tree(bench.project) == before
    assert (tree(outside), tree(bench.home / ".ssh")) == beside
