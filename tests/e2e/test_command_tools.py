"""Tools of the user's own in a layer: the virtual environment of a Python that lies in the home."""

from __future__ import annotations

import importlib.metadata
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow
PACKAGES = ("pytest", "iniconfig", "packaging", "pluggy", "pygments")


def make_environment(project: Path) -> None:
    """Make a `.venv` as its user would have it, its packages copied from here: nothing is fetched."""
    python = Path(sys.base_prefix) / "bin" / "python3"
    subprocess.run([python, "-m", "venv", "--without-pip", ".venv"], cwd=project, check=True)
    (packages,) = project.glob(".venv/lib/python3*/site-packages")
    for name in PACKAGES:
        for file in importlib.metadata.files(name) or []:
            if file.parts[0] not in ("..", "/") and "__pycache__" not in file.parts:
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), packages / file)


def show_home_of_python(home: Path) -> None:
    """Let the home of the test have the pyenv that this Python comes from, where it comes from one."""
    for folder in Path(sys.base_prefix).parents:
        if folder.name == ".pyenv":
            (home / ".pyenv").symlink_to(folder)


def test_the_project_s_own_pytest_runs(bench) -> None:
    make_environment(bench.project)
    show_home_of_python(bench.home)
    bench.write("test_app.py", "import sys\n\n\ndef test_it():\n    assert sys.prefix.endswith('.venv')\n")
    bench.write(".gitignore", ".venv/\n__pycache__/\n.pytest_cache/\n")
    calls = [Call("runCommand", {"command": ". .venv/bin/activate && python -m pytest -q"})]
    with ScriptedModel([Turn("", calls), Turn("Done.")]) as server:
        env = server.env() | {"PATH": "/usr/bin:/bin"}  # only the links of the environment lead to its Python
        done = bench.run("nebula", "-p", "go", "--yes", "--output-format", "stream-json", **env)
    events = [json.loads(line) for line in done.out.splitlines()]
    (result,) = [event for event in events if event["type"] == "tool_result"]
    told = result["result"]["content"][0]["Json"]
    assert (told["exit_code"], "1 passed" in told["output"]) == (0, True), told
