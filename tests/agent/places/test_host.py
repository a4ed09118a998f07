"""The process that forks into the tries has loaded what they use: eight tries load nothing eight times."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow


def test_the_modules_of_a_turn_are_there_before_the_fork(tmp_path) -> None:
    look = """
import os, sys
from importlib import import_module
import nebula.agent.places.host
from nebula.agent.places.start import modules_ahead
from nebula.config import load_settings
for name in ("nebula.agent.race.attempt", *modules_ahead([load_settings(os.getcwd())])):
    import_module(name)
loaded = set(sys.modules)
from nebula.graph.graph import Graph
from nebula.llm.catalog import connect
from nebula.workspace import open_workspace
from nebula.workspace.guard.judge import Policy
connect("openai", base_url="http://localhost:1/v1", api_key="x")
Graph(".nebula/graph").close()
with open_workspace(os.getcwd(), Policy()) as files:
    files.for_turn("turn").write_file("a.txt", "a", "overwrite")
from nebula.tools.commands import change_set
print(*sorted(name for name in set(sys.modules) - loaded if name.startswith("nebula")))
"""
    environ = {"HOME": str(tmp_path), "OPENAI_API_KEY": "x", "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-c", look], cwd=tmp_path, env=environ, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
