"""Tools of the user's own in a layer: the virtual environment of a Python that lies in the home."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from python_environment import make_environment
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow


def show_home_of_python(home: Path) -> None:
    """Let the home of the test have the pyenv that this Python comes from, where it comes from one."""
    for folder in Path(sys.base_prefix).parents:
        if folder.name == ".pyenv":
            (home / ".pyenv").symlink_to(folder)


@pytest.mark.parametrize("line", [". .venv/bin/activate && python -m pytest -q", "python -m pytest -q"])
def test_the_project_s_own_pytest_runs(bench, line: str) -> None:
    make_environment(bench.project)
    show_home_of_python(bench.home)
    bench.write("test_app.py", "import sys\n\n\ndef test_it():\n    assert sys.prefix.endswith('.venv')\n")
    bench.write(".gitignore", ".venv/\n__pycache__/\n.pytest_cache/\n")
    calls = [Call("runCommand", {"command": line})]
    with ScriptedModel([Turn("", calls), Turn("Done.")]) as server:
        env = server.env() | {
            "PATH": "/usr/bin:/bin",
            "VIRTUAL_ENV": "",
        }  # only the links of the environment lead to its Python
        done = bench.run("nebula", "-p", "go", "--yes", "--output-format", "stream-json", **env)
    events = [json.loads(line) for line in done.out.splitlines()]
    (result,) = [event for event in events if event["type"] == "tool_result"]
    told = result["result"]["content"][0]["Json"]
    assert (told["exit_code"], "1 passed" in told["output"]) == (0, True), told
