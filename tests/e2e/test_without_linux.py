"""Every door on a machine that is not Linux: what only Linux has is taken away from Python itself."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from conftest import Bench
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow
PROFILE = {"PYTHONPATH": str(Path(__file__).parent / "without_linux")}


def test_a_turn_writes_reads_and_is_taken_back(bench: Bench) -> None:
    write = Call("writeFile", {"path": "a.py", "content": "x = 1\n"})
    with ScriptedModel([Turn("", [write]), Turn("", [Call("readFile", {"path": "a.py"})]), Turn("Done.")]) as server:
        ran = bench.run("nebula", "-p", "write it", "--yes", "--output-format", "json", **PROFILE, **server.env())
    final = json.loads(ran.out)
    assert (ran.code, final["status"]) == (0, "ok"), ran.err
    assert (bench.project / "a.py").read_text(encoding="utf-8") == "x = 1\n"
    blamed = bench.run("nebula", "blame", "a.py", "--json", **PROFILE)
    assert [each["by"] for each in json.loads(blamed.out)] == ["turn"], blamed.err
    listed = bench.run("vizprompt", "--data-dir", ".nebula/graph", "node", "list", **PROFILE)
    assert (listed.code, "write it" in listed.out) == (0, True), listed.err


def test_a_command_is_no_tool_and_the_doctor_says_why(bench: Bench) -> None:
    with ScriptedModel([Turn("Done.")]) as server:
        ran = bench.run("nebula", "-p", "run it", **PROFILE, **server.env())
    assert ran.code == 0, ran.err
    offered = {tool["function"]["name"] for tool in server.turns[0].json["tools"]}
    assert "readFile" in offered
    assert "runCommand" not in offered
    doctor = bench.run("nebula", "doctor", **PROFILE)
    assert "Traceback" not in doctor.err + doctor.out
    assert "Linux" in doctor.out


def test_the_index_is_built_searched_and_kept_in_step(bench: Bench) -> None:
    for number in range(40):
        bench.write(f"src/part_{number}.py", f"def paint_{number}():\n    return {number}\n" * 20)
    built = bench.run("nebula", "index", "rebuild", **PROFILE)
    assert built.code == 0, built.err
    found = bench.run("nebula", "index", "search", "paint_7", "--json", **PROFILE)
    assert "src/part_7.py" in found.out, found.err
    bench.write("src/late.py", "def sculpture():\n    return 1\n")
    found = bench.run("nebula", "index", "search", "sculpture", "--json", **PROFILE)
    assert "src/late.py" in found.out, found.err


def test_a_task_of_the_orchestrator_is_carried_out(bench: Bench) -> None:
    plan = {"tasks": [{"id": "1", "tool": "write_file", "parameters": {"path": "b.txt", "content": "b\n"}}]}
    bench.write("plan.json", json.dumps(plan))
    with ScriptedModel([Turn("Done.")] * 5) as server:
        ran = bench.run("evercontext", "run", "--task", "write b", "--plan", "plan.json", **PROFILE, **server.env())
    assert ran.code == 0, ran.err
    assert (bench.project / "b.txt").read_text(encoding="utf-8") == "b\n", ran.err
