"""`nebula commit`: a message from the turns behind what is staged, and the user's own git."""

from __future__ import annotations

import pytest

from blamed_project import GIT, edit, git, repository, turn, write
from conftest import Bench
from in_process import Ran, run_here
from nebula.agent.commits.message import clean_message
from scripted_model import ScriptedModel, Turn

AUTHOR = {**GIT, "GIT_AUTHOR_NAME": "Me", "GIT_AUTHOR_EMAIL": "me@example.org"}


def commit(bench: Bench, *argv: str, reply: str = "Add a file") -> tuple[Ran, str]:
    """What came of it, and what the model was asked."""
    with ScriptedModel([Turn(reply)]) as model:
        ran = run_here(bench, "nebula", "commit", *argv, **model.env(), **AUTHOR)
        asked = str(model.turns[-1].json["messages"][-1]["content"]) if model.turns else ""
    return ran, asked


def test_the_prompts_behind_the_staged_files_are_told_and_the_message_is_committed(bench: Bench) -> None:
    repository(bench)
    turn(bench, "make the first file", write("a.py", "one = 1"))
    turn(bench, "make another", write("b.py", "two = 2"))
    git(bench.project, "add", "a.py")
    ran, asked = commit(bench, "--yes", reply="Add the first file\n\nIt was missing.")
    assert ran.code == 0, ran.err
    assert git(bench.project, "log", "-1", "--format=%B") == "Add the first file\n\nIt was missing."
    assert "make the first file" in asked and "make another" not in asked
    assert "A a.py" in asked and "+one = 1" in asked and "b.py" not in asked


def test_a_commit_of_a_part_leaves_the_turns_of_the_rest(bench: Bench) -> None:
    repository(bench)
    turn(bench, "make both", write("a.py", "one = 1"), write("b.py", "two = 2"))
    git(bench.project, "add", "a.py")
    commit(bench, "--yes")
    turn(bench, "change the first", *edit("a.py", "one = 10"))
    git(bench.project, "add", "a.py")
    _, asked = commit(bench, "--yes")
    assert "change the first" in asked and "make both" not in asked
    git(bench.project, "add", "b.py")
    _, asked = commit(bench, "--yes")
    assert "make both" in asked and "change the first" not in asked


def test_an_edit_by_hand_that_was_committed_ends_what_went_before(bench: Bench) -> None:
    repository(bench)
    turn(bench, "make it", write("a.py", "one = 1"))
    bench.write("a.py", "one = 2\n")
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "by hand")
    turn(bench, "then this", *edit("a.py", "one = 3"))
    git(bench.project, "add", "a.py")
    _, asked = commit(bench, "--yes")
    assert "then this" in asked and "make it" not in asked


def test_an_edit_by_hand_behind_a_committed_turn_has_no_turn(bench: Bench) -> None:
    repository(bench)
    turn(bench, "make it", write("a.py", "one = 1"))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "made")
    bench.write("a.py", "one = 2\n")
    git(bench.project, "add", "a.py")
    _, asked = commit(bench, "--yes")
    assert "+one = 2" in asked and "make it" not in asked


def test_what_is_not_staged_is_not_told(bench: Bench) -> None:
    repository(bench)
    for name in ("a.py", "b.py"):
        bench.write(name, "one = 1\n")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "both")
    for name in ("a.py", "b.py"):
        bench.write(name, "one = 2\n")
    git(bench.project, "add", "a.py")
    _, asked = commit(bench)
    assert "M a.py" in asked and "b.py" not in asked


def test_without_a_yes_and_a_terminal_the_message_is_only_printed(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "one = 1\n")
    git(bench.project, "add", "a.py")
    ran, _ = commit(bench)
    assert (ran.code, ran.out) == (0, "Add a file\n")
    assert git(bench.project, "status", "--porcelain") == "A  a.py"


def test_nothing_staged_asks_no_model(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "one = 1\n")
    ran, asked = commit(bench, "--yes")
    assert (ran.code, asked) == (1, "") and "Nothing is staged" in ran.err


def test_a_hook_of_the_user_may_refuse(bench: Bench) -> None:
    repository(bench)
    hook = bench.project / ".git/hooks/commit-msg"
    hook.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    hook.chmod(0o755)
    bench.write("a.py", "one = 1\n")
    git(bench.project, "add", "a.py")
    ran, _ = commit(bench, "--yes")
    assert ran.code == 1 and git(bench.project, "status", "--porcelain") == "A  a.py"


def test_what_a_secret_file_holds_is_not_sent(bench: Bench) -> None:
    repository(bench)
    bench.write(".env", "TOKEN=correct-horse-battery\n")
    bench.write("a.py", "key = 'ghp_" + "a1B2" * 9 + "'\n")
    git(bench.project, "add", "-f", ".env", "a.py")
    _, asked = commit(bench)
    assert "A .env" in asked and "correct-horse" not in asked and "ghp_a1B2" not in asked


@pytest.mark.parametrize(
    "reply",
    [
        "Add a file",
        "```\nAdd a file\n```",
        "Add a file\n\nCo-Authored-By: Somebody <x@example.org>",
        "Add a file\n\n🤖 Generated with a tool\nSigned-off-by: Me",
    ],
)
def test_nothing_is_added_to_a_message(reply: str) -> None:
    assert clean_message(reply) == "Add a file"
