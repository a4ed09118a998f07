"""The real `gemini` command as the planner, its requests answered by the scripted server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from scripted_model import ScriptedModel
from scripted_model.planned import HERMES, plan, say, step, write

PACKAGE = "@google/gemini-cli"


@pytest.fixture(scope="module")
def gemini(tmp_path_factory) -> Path:
    """A folder with the command in it."""
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("npm is not installed, so the gemini command cannot be")
    folder = tmp_path_factory.mktemp("gemini")
    words = [npm, "install", "--no-audit", "--no-fund", "--ignore-scripts", "--prefix", str(folder), PACKAGE]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=100, check=False)
    except subprocess.TimeoutExpired:
        pytest.skip(f"{PACKAGE} could not be installed in 100 seconds")
    if done.returncode != 0:
        pytest.skip(f"{PACKAGE} cannot be installed here: {done.stderr.strip().splitlines()[-1:]}")
    return folder / "node_modules" / ".bin"


def environment(bench, folder: Path, server: ScriptedModel) -> dict[str, str]:
    settings = bench.home / ".gemini"
    settings.mkdir()
    chosen = {"security": {"auth": {"selectedType": "gemini-api-key"}}}
    (settings / "settings.json").write_text(json.dumps(chosen))
    path = f"{folder}{os.pathsep}{os.environ['PATH']}"
    return {"PATH": path, "GEMINI_API_KEY": "k", "GOOGLE_GEMINI_BASE_URL": server.url}


def test_the_real_gemini_command_plans_a_task(bench, gemini):
    bench.write("AGENTS.md", "Use four spaces.\n")
    with (
        ScriptedModel([plan(step("1", "Create main.py.", files=["main.py"]))]) as google,
        ScriptedModel([write("main.py", "x = 1\n"), say("Made.")], **HERMES) as local,
    ):
        env = environment(bench, gemini, google) | local.env("ollama")
        words = ("run", "--task", "make main.py", "--planner", "gemini-cli/gemini-2.5-flash", "--json")
        ran = bench.run("evercontext", *words, timeout=200, **env)
    assert (ran.code, bench.read("main.py")) == (0, "x = 1\n"), ran.err
    asked = google.turns[0].body.decode()
    assert "gemini-2.5-flash" in google.turns[0].path
    assert "make main.py" in asked and "You are the planner" in asked and "Use four spaces." in asked
    planned = next(event for event in bench.trace() if event["type"] == "plan")
    assert planned["model"] == "gemini-2.5-flash" and planned["usage"]["input_tokens"] > 0


def test_what_the_gemini_command_says_of_a_failure_is_told(bench, gemini):
    with ScriptedModel([]) as google, ScriptedModel([], **HERMES) as local:
        env = environment(bench, gemini, google) | local.env("ollama")
        (bench.home / ".gemini" / "settings.json").unlink()  # nobody has logged in
        ran = bench.run("evercontext", "run", "--task", "x", "--planner", "gemini-cli", timeout=200, **env)
    assert ran.code == 1
    assert "`gemini`" in ran.err and "auth" in ran.err.lower() and "Traceback" not in ran.err
