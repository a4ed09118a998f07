from __future__ import annotations

import subprocess
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.workspace.diff import apply_hunks, diff_texts
from rows import each_row


def test_counts_and_text() -> None:
    diff = diff_texts("a.txt", "one\ntwo\nthree\n", "one\n2\nthree\nfour\n")
    assert (diff.added, diff.removed) == (2, 1)
    assert diff.text == "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,4 @@\n one\n-two\n+2\n three\n+four\n"


def test_lines_count_from_the_start_of_a_long_text() -> None:
    lines = [f"{number}\n" for number in range(100)]
    diff = diff_texts("a", "".join(lines), "".join([*lines[:50], "new\n", *lines[51:]]))
    assert diff.text == "--- a/a\n+++ b/a\n@@ -48,7 +48,7 @@\n 47\n 48\n 49\n-50\n+new\n 51\n 52\n 53\n"
    assert (diff.hunks[0].old_start, diff.blocks) == (50, [(50, 51, 50, 51)])


@each_row(
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
def test_git_can_apply_it(tmp_path_factory: pytest.TempPathFactory, old: str, new: str) -> None:
    folder: Path = tmp_path_factory.mktemp("patch")
    (folder / "f").write_bytes(old.encode())
    diff = diff_texts("f", old, new)
    if diff.text:
        subprocess.run(["git", "apply", "-"], input=diff.text.encode(), cwd=folder, check=True)
    assert (folder / "f").read_bytes() == new.encode()


@pytest.mark.parametrize("line", ["line {}\n", "the same\n", "{{\n"])
def test_two_changes_far_apart_in_a_long_file_are_two_changes(line: str) -> None:
    lines = [line.format(number) for number in range(25_000)]
    changed = [*lines]
    changed[10], changed[24_990] = "first\n", "last\n"
    changed.insert(12_000, "between\n")
    diff = diff_texts("a.txt", "".join(lines), "".join(changed))
    assert (diff.added, diff.removed) == (3, 2)
    assert diff.text.count("@@ -") == len(diff.hunks) == 3


def test_a_rewritten_long_file_is_quick() -> None:
    old = "".join(f"{number % 7} {number % 3}\n" for number in range(60_000))
    new = "".join(f"{number % 5} {number % 2}\n" for number in range(60_000))
    started = time.process_time()
    diff = diff_texts("a.txt", old, new)
    assert time.process_time() - started < 5
    assert apply_hunks(old, diff.hunks) == new


texts = st.lists(st.sampled_from(["a", "b", "c", "d e", "\r", ""]), max_size=40).map("\n".join)


@given(old=texts, new=texts, data=st.data())
def test_hunks_can_be_applied_one_by_one(old: str, new: str, data: st.DataObject) -> None:
    diff = diff_texts("f", old, new)
    assert apply_hunks(old, diff.hunks) == new
    assert apply_hunks(old, ()) == old
    assert (diff.added, diff.removed) == (
        sum(end - start for _, _, start, end in diff.blocks),
        sum(end - start for start, end, _, _ in diff.blocks),
    )
    chosen = [hunk for hunk in diff.hunks if data.draw(st.booleans())]
    lines = apply_hunks(old, chosen).count("\n") - old.count("\n")
    assert lines == sum("".join(h.new).count("\n") - "".join(h.old).count("\n") for h in chosen)


@given(old=texts, new=texts)
def test_blocks_are_in_order_and_apart(old: str, new: str) -> None:
    for (_, b, _, d), (a, _, c, _) in pairwise(diff_texts("f", old, new).blocks):
        assert a > b
        assert a - b == c - d


def test_a_file_that_is_new_and_one_that_goes_are_shown_as_git_shows_them() -> None:
    assert diff_texts("a", None, "one\n").text == "--- /dev/null\n+++ b/a\n@@ -0,0 +1 @@\n+one\n"
    assert diff_texts("a", "one\ntwo\n", None).text == "--- a/a\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-one\n-two\n"
    assert diff_texts("a", "same\n", "same\n").text == ""


@pytest.mark.parametrize(("between", "hunks"), [(6, 1), (7, 2)])
def test_changes_share_a_hunk_while_their_context_meets(between: int, hunks: int) -> None:
    same = "".join(f"{number}\n" for number in range(between))
    diff = diff_texts("a", f"x\n{same}y\n", f"X\nXX\n{same}Y\n")
    assert len(diff.hunks) == hunks
    assert diff.hunks[-1].old_start == (0 if hunks == 1 else between + 1)


def test_several_hunks_are_applied_one_after_the_other() -> None:
    same = "".join(f"{number}\n" for number in range(9))
    old, new = f"{same}a\n{same}b\n{same}", f"{same}A\n{same}B\n{same}"
    diff = diff_texts("a", old, new)
    assert apply_hunks(old, diff.hunks) == new
    assert apply_hunks(old, diff.hunks[1:]) == f"{same}a\n{same}B\n{same}"
    assert apply_hunks(old, ()) == old
    assert [hunk.text.partition("\n")[0] for hunk in diff.hunks] == ["@@ -7,7 +7,7 @@", "@@ -17,7 +17,7 @@"]
