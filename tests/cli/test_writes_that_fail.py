"""A write that fails is told to the person in their language, whatever the model was told."""

from __future__ import annotations

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
