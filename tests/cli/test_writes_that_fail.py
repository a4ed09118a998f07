"""A write that fails is told to the person in their language, whatever the model was told."""

from __future__ import annotations

import resource
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from in_process import run_here
from scripted_model import Call, ScriptedModel, Turn

if TYPE_CHECKING:
    from conftest import Bench

READ = Call("readFile", {"path": "a.txt"})


def edit(path: str, old: str) -> Call:
    return Call("editFile", {"path": path, "edits": [{"old_text": old, "new_text": "y"}]})


@pytest.mark.parametrize(
    ("calls", "english", "japanese"),
    [
        (
            [Call("writeFile", {"path": "a.txt", "content": "y\n"})],
            "a.txt exists already.",
            "a.txt はすでに存在します。",
        ),
        ([edit("b.txt", "x")], "b.txt does not exist.", "b.txt は存在しません。"),
        ([edit("a.txt", "x")], "Its present content had not been read.", "現在の内容が読まれていませんでした。"),
        (
            [READ, edit("a.txt", "z")],
            "The text to be replaced is not there.",
            "置き換えるはずの文字列が見つかりません。",
        ),
        (
            [READ, edit("a.txt", "x")],
            "The text to be replaced is there more than once.",
            "置き換えるはずの文字列が複数あります。",
        ),
    ],
)
@pytest.mark.parametrize("lang", ["en", "ja"])
def test_the_reason_is_for_the_person(bench: Bench, calls: list[Any], english: str, japanese: str, lang: str) -> None:
    bench.write("a.txt", "x\nx\n")
    with ScriptedModel([*(Turn("", [call]) for call in calls), Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", stdin="go\nexit\n", NEBULA_LANG=lang, **server.env())
    assert (japanese if lang == "ja" else english) in ran.out
    assert "editFile" not in ran.out and "readFile" not in ran.out and "old_text" not in ran.out
    assert bench.read("a.txt") == "x\nx\n"


@pytest.mark.parametrize(
    ("command", "place"),
    [
        (["nebula", "config", "set", "model", "x" * 500], "home/.nebula/config.json"),
        (["vizprompt", "--data-dir", "d", "create-node", "--prompt", "x" * 500, "--response", "y"], "project/d"),
        (["evercontext", "hook", "install"], "project/.git/hooks/pre-commit"),
        (["nebula", "-p", "go", "--output-last-message", "/dev/full"], "/dev/full"),
    ],
)
def test_a_file_that_cannot_be_written_is_named(bench: Bench, command: list[str], place: str) -> None:
    """The system names none of those that are open: the limit on their size is met as a full disk is."""
    subprocess.run(["git", "init", "-q", bench.project], check=True)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with ScriptedModel(["Done."]) as server:
        resource.setrlimit(resource.RLIMIT_FSIZE, (400 if place != "/dev/full" else before[0], before[1]))
        try:
            ran = run_here(bench, *command, **server.env())
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
    reason = "the disk is full; make room and try again." if place == "/dev/full" else "File too large"
    assert (ran.code, ran.err.splitlines()[-1].endswith(f"{place}: {reason}")) == (1, True), ran.err
