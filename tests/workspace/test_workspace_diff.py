from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nebula.workspace.diff import diff_texts


def test_counts_and_text() -> None:
    diff = diff_texts("a.txt", "one\ntwo\nthree\n", "one\n2\nthree\nfour\n")
    assert (diff.added, diff.removed) == (2, 1)
    assert diff.text == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n"


@pytest.mark.parametrize(
    ("old", "new", "added", "removed"),
    [("x\n", "x\n", 0, 0), (None, "a\nb\n", 2, 0), ("a\nb", None, 0, 2), ("", "", 0, 0), ("a", "a\n", 1, 1)],
)
def test_edges(old: str | None, new: str | None, added: int, removed: int) -> None:
    diff = diff_texts("a.txt", old, new)
    assert (diff.added, diff.removed) == (added, removed)
    assert bool(diff.text) == bool(added or removed)


def test_large_texts_are_quick() -> None:
    old = "".join(f"{number}\n" for number in range(3 * 4_000))
    new = "".join(f"{number * 7}\n" for number in range(3 * 4_000))
    diff = diff_texts("a.txt", old, new)
    assert diff.added == diff.removed
    assert diff_texts("a.txt", old, old + "end\n").added == 1


@given(
    old=st.lists(st.sampled_from(["a", "b", "c", "\r", ""]), max_size=30).map("\n".join),
    new=st.lists(st.sampled_from(["a", "b", "c", "\r", ""]), max_size=30).map("\n".join),
)
@settings(max_examples=40, deadline=None)
def test_git_can_apply_it(tmp_path_factory: pytest.TempPathFactory, old: str, new: str) -> None:
    folder: Path = tmp_path_factory.mktemp("patch")
    (folder / "f").write_bytes(old.encode())
    diff = diff_texts("f", old, new)
    if diff.text:
        subprocess.run(["git", "apply", "-"], input=diff.text.encode(), cwd=folder, check=True)
    assert (folder / "f").read_bytes() == new.encode()
