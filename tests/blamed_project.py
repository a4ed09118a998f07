"""Real turns against the scripted model in a project, perhaps a git repository, and what `nebula blame` says of it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from conftest import Bench
from in_process import run_here
from new_repository import make_repository
from scripted_model import Call, ScriptedModel, Turn

GIT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_COMMITTER_NAME": "Me",
    "GIT_COMMITTER_EMAIL": "me@example.org",
}


def turn(bench: Bench, prompt: str, *calls: Call, env: dict[str, str] | None = None, answer: str = "Done.") -> str:
    """Let a turn make these calls; its node's id."""
    script = [Turn("Working.", [call]) for call in calls]
    with ScriptedModel([*script, Turn(answer)]) as model:
        ran = run_here(bench, "nebula", "-p", prompt, "--yes", "--output-format", "json", **model.env(), **(env or {}))
    assert ran.code == 0, ran.err
    node_id: str = ran.json["node_id"]
    return node_id


def write(path: str, *lines: str) -> Call:
    return Call("writeFile", {"path": path, "content": "".join(f"{line}\n" for line in lines), "mode": "overwrite"})


def edit(path: str, *lines: str) -> tuple[Call, Call]:
    content = "".join(f"{line}\n" for line in lines)
    return Call("readFile", {"path": path}), Call("editFile", {"path": path, "new_content": content})


def blame(bench: Bench, *argv: str, **env: str) -> list[dict[str, Any]]:
    ran = run_here(bench, "nebula", "blame", *argv, "--json", **env)
    assert ran.code == 0, ran.err
    found: list[dict[str, Any]] = ran.json
    return found


def who(runs: list[dict[str, Any]]) -> list[str]:
    """Return of each line the node's id, or whose it is else."""
    return [run.get("node_id", run["by"]) for run in runs for _ in range(run["start_line"], run["end_line"] + 1)]


def git(folder: Path, *argv: str, by: str = "me", at: str = "") -> str:
    env = {**os.environ, **GIT, "GIT_AUTHOR_NAME": by.title(), "GIT_AUTHOR_EMAIL": f"{by}@example.org"}
    env |= {"GIT_AUTHOR_DATE": at, "GIT_COMMITTER_DATE": at} if at else {}
    done = subprocess.run(["git", *argv], cwd=folder, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(bench: Bench) -> None:
    make_repository(bench.project, "Me")


def share(bench: Bench) -> None:
    """Let git keep the conversation, too."""
    ran = run_here(bench, "nebula", "graph", "share", "--yes")
    assert ran.code == 0, ran.err
