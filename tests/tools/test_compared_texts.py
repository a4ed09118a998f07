"""How much of a large text's difference is shown, and that nobody is left to believe it is all."""

from __future__ import annotations

from typing import Any

import pytest

from nebula.sandbox.contract import Entry, LayerChange
from nebula.tools.commands.compared_texts import PART, READ_BYTES, SHOWN_BYTES, Compared, compare_texts
from nebula.workspace.diff import diff_texts

LINE = "this line stays as it is\n"
MANY = LINE * 12_000


class Sides:
    """What a layer has of one file, before and after."""

    def __init__(self, old: bytes | None, new: bytes | None) -> None:
        self.old, self.new = old, new

    def read_before(self, path: str, limit: int) -> bytes:
        assert self.old is not None
        return self.old[:limit]

    def read(self, path: str, limit: int) -> bytes:
        assert self.new is not None
        return self.new[:limit]


def compared(old: str | bytes | None, new: str | bytes | None) -> Compared | None:
    sides = [side.encode() if isinstance(side, str) else side for side in (old, new)]
    entries = [None if side is None else Entry("file", 0o644, len(side)) for side in sides]
    change = LayerChange("src/main.py", "changed", *entries)
    layer: Any = Sides(*sides)
    return compare_texts(layer, change, change)


def test_a_text_of_ordinary_size_is_compared_whole() -> None:
    for old, new in ((None, "a\n"), ("a\n", None), ("a\n", "b\n"), ("", "x" * SHOWN_BYTES)):
        diff = diff_texts("src/main.py", old, new)
        assert compared(old, new) == Compared(diff.text, diff.added, diff.removed, old=old, new=new)


@pytest.mark.parametrize("content", [b"\0", b"\xff", b"x" * SHOWN_BYTES * 2 + b"\0"])
def test_what_is_no_text_has_no_difference(content: bytes) -> None:
    assert compared(content, "a") is None and compared("a", content) is None


def test_a_change_is_seen_however_much_is_written_behind_it() -> None:
    found = compared("import os\nstart()\n", "import os\nevil()\n" + "#" * 270_000)
    assert found is not None and "-start()" in found.text and "+evil()" in found.text
    assert "not shown" in found.note and len(found.text) < 6 * PART


def test_a_change_deep_in_a_large_text_is_shown_with_its_line() -> None:
    found = compared(f"{MANY}start()\n{MANY}", f"{MANY}evil()\n{MANY}")
    assert found is not None and "-start()" in found.text and "+evil()" in found.text
    assert (found.added, found.removed) == (1, 1) and len(found.text) < 2_000
    first = int(found.note.removeprefix("a large text: what differs, from line ").removesuffix(" on"))
    assert 11_900 < first <= 12_001


def test_both_ends_of_what_differs_are_shown() -> None:
    new = "first()\n" + "".join(f"line {number}\n" for number in range(40_000)) + "last()\n"
    found = compared(f"{MANY}middle\n{MANY}", f"{MANY}{new}{MANY}")
    assert found is not None and "-middle" in found.text and "+first()" in found.text and "+last()" in found.text
    assert "both ends" in found.note and "not shown" in found.note and len(found.text) < 6 * PART


def test_beyond_reason_nothing_is_compared_and_that_is_said() -> None:
    assert compared("a", "x" * (READ_BYTES + 1)) == Compared(note="too large for a difference: more than 8 MiB")
    assert compared("x" * (READ_BYTES + 1), None) == Compared(note="too large for a difference: more than 8 MiB")
