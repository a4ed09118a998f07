"""What is loaded when the first request leaves: counted in the process itself, which waits for its answer meanwhile."""

from __future__ import annotations

import subprocess
import sys

import pytest

from conftest import Bench
from scripted_model import RecordedRequest, ScriptedModel, Turn

pytestmark = pytest.mark.slow

MOST_OF_OURS = 214
MOST_OF_OTHERS = 140
"""Each costs a tenth of a millisecond and more; `bench/start.py` says what all of them come to. Of Python's own 3.11 has
120, other versions some more."""
NEEDED_LATER = (
    "_ctypes",
    "binascii",
    "bisect",
    "dataclasses",
    "email",
    "gettext",
    "h11",
    "hashlib",
    "http",
    "importlib.metadata",
    "inspect",
    "locale",
    "nebula.blame",
    "nebula.exchange",
    "nebula.extensions",
    "nebula.graph.graph",
    "nebula.graph.store",
    "nebula.index",
    "nebula.llm.anthropic",
    "nebula.llm.gemini",
    "nebula.llm.ollama",
    "nebula.sandbox.command",
    "nebula.server",
    "nebula.stage",
    "nebula.tools.external",
    "nebula.workspace.writing",
    "pathlib",
    "prompt_toolkit",
    "pydantic",
    "rich",
    "shlex",
    "shutil",
    "ssl",
    "subprocess",
    "tempfile",
    "textwrap",
    "tokenize",
    "tomllib",
    "traceback",
    "unicodedata",
    "unittest",
    "urllib",
    "uuid",
    "xml",
    "yaml",
)
"""Modules, and what lies below them."""


def loaded_before_the_request(bench: Bench, *argv: str) -> list[str]:
    """Run a command that reports its imports as they happen, and look at the report when its request arrives."""
    report = bench.home / "imports.txt"
    seen: list[str] = []

    def answer(_: RecordedRequest) -> Turn:
        seen.append(report.read_text(encoding="utf-8"))
        return Turn("Hello.")

    with ScriptedModel(answer) as server:
        env = bench.env(PYTHONPROFILEIMPORTTIME="1", **server.env())
        for _ in range(2):  # the first run of all tries the sandbox, and notes what came of it
            with report.open("wb") as told:
                subprocess.run(bench.argv("nebula", *argv), cwd=bench.project, env=env, stderr=told, check=True)
    return [line.rpartition("|")[2].strip() for line in seen[-1].splitlines() if line.startswith("import time:")]


def unavoidable() -> set[str]:
    """Return what asyncio of this Python loads in any case."""
    code = """
import sys
from nebula.cli.late_modules import LateModule, put_off
put_off()
import asyncio
print(*(name for name, module in sys.modules.items() if type(module) is not LateModule))
"""
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split())


def test_a_first_request_loads_what_it_needs_and_no_more(bench: Bench) -> None:
    loaded = loaded_before_the_request(bench, "-p", "Say hello.")
    assert "nebula.cli.nebula" in loaded
    too_early = {name for name in loaded if any(f"{name}.".startswith(f"{late}.") for late in NEEDED_LATER)}
    assert not too_early - unavoidable()
    ours = [name for name in loaded if name.partition(".")[0] == "nebula"]
    assert len(ours) <= MOST_OF_OURS, "load it where it is used first, or leave it out"
    assert len(loaded) - len(ours) <= MOST_OF_OTHERS
