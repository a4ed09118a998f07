"""What the model is told of a large project: from the index where there is one, and nothing before."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripted_model import Call, ScriptedModel, Turn

HEADING = "# The files that count most"


@pytest.fixture
def project(bench):
    bench.write("core.py", "def heart():\n    pass\n\n\nclass Engine:\n    def beat(self):\n        pass\n")
    for number in range(60):
        bench.write(f"part{number}.py", f"from core import heart\n\n\ndef helper_{number}():\n    return heart()\n")
    bench.write("windmill.py", "def grind_flour():\n    pass\n")
    bench.write("tests/test_core.py", "def test_heart():\n    pass\n")
    return bench


def outlines(bench, prompt, *script):
    with ScriptedModel([*script, Turn("ok")]) as server:
        assert bench.run("nebula", "-p", prompt, **server.env()).code == 0
        sent = [turn.json["messages"][0]["content"] for turn in server.turns]
    return [text.partition(HEADING)[2].splitlines()[2:] for text in sent]


def test_without_an_index_there_is_none_and_nothing_is_made(project):
    assert outlines(project, "hello") == [[]]
    assert not list(project.home.rglob("index.db"))


def test_the_outline_is_ranked_and_bounded(project):
    assert project.run("nebula", "index", "sync").code == 0
    (lines,) = outlines(project, "hello")
    assert lines[0] == "core.py: heart, Engine"
    assert "tests/test_core.py: test_heart" not in lines
    assert len("\n".join(lines).encode()) <= 4_000
    (asked,) = outlines(project, "How is flour ground in the windmill?")
    assert "windmill.py: grind_flour" in asked[:2]
    (project.project / "core.py").unlink()
    (lines,) = outlines(project, "hello")
    assert not [line for line in lines if line.startswith("core.py")], "what is gone is not shown"


def test_a_file_just_read_weighs_in(project):
    project.run("nebula", "index", "sync")
    read = Turn("", [Call("readFile", {"path": "part57.py"})])
    with ScriptedModel([read, Turn("ok"), Turn("ok")]) as server:
        assert project.run("nebula", "-p", "read it", **server.env()).code == 0
        assert project.run("nebula", "-p", "and now", "--continue", **server.env()).code == 0
        sent = server.turns[-1].json["messages"][0]["content"].partition(HEADING)[2].splitlines()[2:]
    assert "part57.py: helper_57" in sent[:2]


def test_a_damaged_index_costs_nothing_but_the_outline(project):
    project.run("nebula", "index", "sync")
    (database,) = project.home.rglob("index.db")
    database.write_bytes(b"no database" * 1000)
    assert outlines(project, "hello") == [[]]


def test_nothing_of_the_index_is_imported_before_it_is_needed():
    code = (
        "import sys, nebula.agent.assembly, nebula.cli.headless.run\n"
        "print([name for name in sys.modules if name.startswith('nebula.index')])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
