"""Notes of the lines that turns wrote in a commit, written by a real git hook."""

from __future__ import annotations

import json
import subprocess

import pytest

from blamed_project import edit, git, repository, turn, write
from conftest import Bench
from in_process import run_here

pytestmark = pytest.mark.slow
NAME = 'a "b".py'
"""Quoted for its blank, and else as it is: git-ai's readers take the quotes away and undo no escapes."""


def note(bench: Bench) -> str:
    done = subprocess.run(
        ["git", "notes", "--ref=ai", "show", "HEAD"], cwd=bench.project, capture_output=True, text=True, check=False
    )
    return done.stdout


def test_a_commit_gets_a_note_of_the_turns_lines_in_it(bench: Bench) -> None:
    repository(bench)
    assert run_here(bench, "evercontext", "hook", "install", "--notes").code == 0
    bench.write(NAME, "first line\n")
    git(bench.project, "add", NAME)
    git(bench.project, "commit", "-qm", "by hand")
    assert note(bench) == "", "no turn wrote anything in it"
    node = turn(bench, "one", *edit(NAME, "first line", "by one", "also by one"), write("c.py", "of c"))
    bench.write(NAME, "first line\nby one\nby hand\nalso by one\n")
    git(bench.project, "commit", "-qam", "of the turn")
    blocks, _, metadata = note(bench).partition("---\n")
    told = json.loads(metadata)
    (session,) = told["prompts"]
    assert blocks == f'"{NAME}"\n  {session} 2,4\n', "only what the commit contains"
    assert told["schema_version"] == "authorship/3.0.0"
    assert told["base_commit_sha"] == git(bench.project, "rev-parse", "HEAD")
    counts = {"total_additions", "total_deletions", "accepted_lines", "overriden_lines"}
    assert set(told["prompts"][session]) == {"agent_id", "human_author", *counts}, "no field that went from the form"
    assert told["prompts"][session]["agent_id"] == {"tool": "nebula", "id": node, "model": "gpt-4.1-nano"}
    assert git(bench.project, "log", "-1", "--format=%B") == "of the turn"
    assert run_here(bench, "evercontext", "hook", "uninstall").code == 0
    assert not (bench.project / ".git/hooks/post-commit").exists()


def test_without_being_asked_there_are_no_notes(bench: Bench) -> None:
    repository(bench)
    assert run_here(bench, "evercontext", "hook", "install").code == 0
    turn(bench, "one", write("a.py", "by one"))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "of the turn")
    assert note(bench) == ""
