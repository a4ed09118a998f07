"""Twenty small tasks with hidden tests: which of them does a model solve, in how many steps, at what cost?

    .venv/bin/python yardstick/measure.py                          with the model that is configured
    .venv/bin/python yardstick/measure.py --model qwen3:8b --only bug-csv --only scratch-roman
    .venv/bin/python yardstick/measure.py --door evercontext --json
    .venv/bin/python yardstick/measure.py --script good            the harness itself: every task must count as solved
    .venv/bin/python yardstick/measure.py --script bad             and none of them

A task is a folder in yardstick/tasks: `task.json` (what is asked), `project/` (what is there), `hidden/` (tests that
decide, never shown), and two known outcomes, `good/` and `bad/`, files that a scripted model writes. The tests of a
result run in a layer (no network, nothing of this machine can be changed); a machine that has none must be told
`--unguarded`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from nebula.agent.figures.gather import gather
from nebula.agent.figures.kpis import Spending, spending
from nebula.config import load_settings
from nebula.tools.commands.layers import CommandLayers
from nebula.value import replace
from nebula.workspace.project_copy import copy_project

HERE = Path(__file__).resolve().parent
TASKS = HERE / "tasks"
BIN = Path(sys.executable).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from scripted_model import Call, ScriptedModel, Turn  # noqa: E402 - the tests' own model server

JUDGE_S = 120.0
OUT_OF_TIME = -1
TO_END_S = 20.0
"""An agent whose time is over is interrupted, so that its turn is recorded to the end; then it is killed."""
PYTEST = f"PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 {sys.executable} -B -m pytest -p no:cacheprovider"
"""Without the plugins of this machine: they take longer to load than most of the tests take to run."""


@dataclass(frozen=True)
class Score:
    task: str
    kind: str
    solved: bool
    exit_code: int
    """The agent's own; OUT_OF_TIME where it was stopped."""
    steps: int
    input_tokens: int
    output_tokens: int
    cost: float
    unpriced_tokens: int
    seconds: float
    judged: str
    """The last line of the hidden tests."""


def main() -> int:
    options = _options()
    names = options.only or sorted(path.name for path in TASKS.iterdir() if path.is_dir())
    check_judge(options)
    with ThreadPoolExecutor(options.parallel) as pool:
        scores = []
        for score in pool.map(lambda name: attempt(name, options), names):
            scores.append(score)
            said = "solved" if score.solved else "not solved"
            print(
                f"{len(scores)}/{len(names)} {score.task}: {said}, {score.seconds:.0f} s", file=sys.stderr, flush=True
            )
    if options.json:
        print(json.dumps({"solved": sum(each.solved for each in scores), "tasks": [asdict(each) for each in scores]}))
    else:
        show(scores)
    return 0


def show(scores: list[Score]) -> None:
    rows = [
        (each.task, each.kind, "yes" if each.solved else "no", each.steps, each.input_tokens, each.output_tokens,
         _dollars(each.cost, each.unpriced_tokens), _seconds(each), each.judged)
        for each in scores
    ]  # fmt: skip
    head = ("task", "kind", "solved", "steps", "tokens in", "tokens out", "cost", "seconds", "hidden tests")
    for row in (head, ("---",) * len(head), *rows):
        print("| " + " | ".join(map(str, row)) + " |")
    solved, unpriced = sum(each.solved for each in scores), sum(each.unpriced_tokens for each in scores)
    sums = [sum(getattr(each, name) for each in scores) for name in ("steps", "input_tokens", "output_tokens")]
    dollars = _dollars(sum(each.cost for each in scores), unpriced)
    print(f"\nsolved {solved} of {len(scores)}; {sums[0]} steps, {sums[1]:,} → {sums[2]:,} tokens, {dollars}")


def _seconds(score: Score) -> str:
    return f"{score.seconds:.1f}" + (" (stopped)" if score.exit_code == OUT_OF_TIME else "")


def _dollars(cost: float, unpriced: int) -> str:
    return f"${cost:.4f}" + (" + ?" if unpriced else "")


def attempt(name: str, options: argparse.Namespace) -> Score:
    """One task in a place of its own, then judged."""
    said = json.loads((TASKS / name / "task.json").read_text("utf-8"))
    with tempfile.TemporaryDirectory(prefix=f"nebula-{name}-") as folder:
        project, home = Path(folder, "project"), Path(folder, "home")
        shutil.copytree(TASKS / name / "project", project) if (TASKS / name / "project").exists() else project.mkdir()
        home.mkdir()
        _begin_repository(project)
        with surroundings(name, home, options) as env:
            began = time.monotonic()
            code = run_agent(said["prompt"], project, env, options)
            seconds = time.monotonic() - began
        found = gather([str(project)])
        [spent] = spending(found.tasks, "all") or [Spending("")]
        solved, judged = judge(project, TASKS / name / "hidden", Path(folder, "judged"), options)
        steps = sum(task.steps for task in found.tasks)
        tokens = (spent.input_tokens, spent.output_tokens, spent.cost, spent.unpriced_tokens)
        return Score(name, said["kind"], solved, code, steps, *tokens, seconds, judged)


def run_agent(prompt: str, project: Path, env: Mapping[str, str], options: argparse.Namespace) -> int:
    if options.door == "evercontext":
        words = ["evercontext", "run", "--task", prompt]
        words += ["--planner", options.model, "--executor", options.model] if options.model else []
    else:
        words = ["nebula", "-p", prompt, "--yes"]
        words += ["--model", options.model] if options.model else []
        words += ["--provider", options.provider] if options.provider else []
    agent = subprocess.Popen(
        [str(BIN / words[0]), *words[1:]],
        cwd=project,
        env=dict(env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=None if options.verbose else subprocess.DEVNULL,
    )
    try:
        return agent.wait(options.timeout)
    except subprocess.TimeoutExpired:
        agent.send_signal(signal.SIGINT)
    try:
        agent.wait(TO_END_S)
    except subprocess.TimeoutExpired:
        agent.kill()
        agent.wait()
    return OUT_OF_TIME


@contextmanager
def surroundings(name: str, home: Path, options: argparse.Namespace) -> Iterator[dict[str, str]]:
    """The environment of the agent: the user's own with a home apart, or one with a scripted model and nothing else."""
    if not options.script:
        settings = load_settings(str(home))
        if os.path.exists(settings.config_path):
            shutil.copy(settings.config_path, home / "config.json")
        yield {**os.environ, "NEBULA_HOME": str(home)}
        return
    with ScriptedModel(script(name, options)) as model:
        plain = {"PATH": os.environ["PATH"], "HOME": str(home), "NEBULA_HOME": str(home / ".nebula"), "LANG": "C.UTF-8"}
        yield {**plain, **model.env()}


def script(name: str, options: argparse.Namespace) -> list[Turn]:
    """A model that reads and writes just the files of the known outcome; where there are none it only says so."""
    outcome, there = TASKS / name / options.script, TASKS / name / "project"
    turns: list[Turn] = []
    if options.door == "evercontext":
        plan = {"tasks": [{"id": "1", "title": "Do it", "goal": "Do what is asked.", "files": [], "depends_on": []}]}
        turns.append(Turn(json.dumps(plan)))
    for file in sorted(path for path in outcome.rglob("*") if path.is_file()):
        path = str(file.relative_to(outcome))
        text = file.read_text("utf-8")
        if (there / path).exists():
            turns.append(Turn("Let me look.", [Call("readFile", {"path": path})]))
            turns.append(Turn("", [Call("editFile", {"path": path, "new_content": text})]))
        else:
            turns.append(Turn("", [Call("writeFile", {"path": path, "content": text})]))
    return [*turns, Turn("It is done.")]


def judge(project: Path, hidden: Path, place: Path, options: argparse.Namespace) -> tuple[bool, str]:
    """Whether the hidden tests pass on what the agent left, and their last line."""
    copy_project(str(project), str(place))
    shutil.copytree(hidden, place, dirs_exist_ok=True)
    tests = " ".join(sorted(str(file.relative_to(hidden)) for file in hidden.rglob("test_*.py")))
    code, output = run_guarded(f"{PYTEST} -q {tests}", place, options)
    lines = [line for line in output.splitlines() if line.strip()]
    return code == 0, lines[-1] if lines else ""


def check_judge(options: argparse.Namespace) -> None:
    """A judge that cannot work would call every result a failure."""
    with tempfile.TemporaryDirectory(prefix="nebula-judge-") as folder:
        code, output = run_guarded(f"{PYTEST} --version", Path(folder), options)
    if code != 0:
        raise SystemExit(f"The hidden tests cannot be run here: {output}")


def run_guarded(line: str, place: Path, options: argparse.Namespace) -> tuple[int | None, str]:
    if options.unguarded:
        words = ["sh", "-c", line]
        done = subprocess.run(words, cwd=place, capture_output=True, text=True, timeout=JUDGE_S, check=False)
        return done.returncode, done.stdout + done.stderr
    readable = tuple(dict.fromkeys((sys.prefix, sys.base_prefix)))
    settings = replace(load_settings(str(place)), sandbox_read=readable)
    layers = CommandLayers(settings)
    if not layers.available:
        raise SystemExit("This machine can make no layers (`nebula doctor` says why): --unguarded runs tests without.")
    try:
        done_there: Any = asyncio.run(layers.run(line, timeout_s=JUDGE_S, read_back=False))
        return done_there.exit_code, done_there.output
    finally:
        layers.close()


def _begin_repository(project: Path) -> None:
    """As a user's project is; without git it is a plain folder."""
    if shutil.which("git") is None:
        return
    who = ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "-c", "init.defaultBranch=main"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "--allow-empty", "-m", "Begin"]):
        subprocess.run(["git", *who, *words], cwd=project, check=True, capture_output=True)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Which of twenty small tasks does a model solve?")
    parser.add_argument("--model", help="model to use, else the configured one")
    parser.add_argument("--provider", help="provider to use")
    parser.add_argument(
        "--door", choices=("nebula", "evercontext"), default="nebula", help="what carries the tasks out"
    )
    parser.add_argument("--only", action="append", metavar="TASK", help="one task (repeatable)")
    parser.add_argument("--script", choices=("good", "bad"), help="a scripted model with a known outcome, no real one")
    parser.add_argument("--parallel", type=int, default=1, metavar="N", help="so many tasks at a time")
    parser.add_argument("--timeout", type=float, default=900.0, metavar="S", help="most seconds for a task")
    parser.add_argument("--unguarded", action="store_true", help="run the hidden tests without a layer")
    parser.add_argument("--verbose", action="store_true", help="show what the agent remarks")
    parser.add_argument("--json", action="store_true", help="print JSON")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
