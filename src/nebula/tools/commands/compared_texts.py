"""Compare a text before and after a command, as far as anybody would read the difference."""

from __future__ import annotations

from nebula.sandbox.contract import LayerChange
from nebula.sandbox.layer import Layer
from nebula.value import value
from nebula.workspace.diff import diff_texts

SHOWN_BYTES = 256 * 1024
"""A text up to this size is compared whole; of a larger one both ends of the differing part."""
READ_BYTES = 8 * 1024 * 1024
"""A larger text is not compared."""
PART = 32 * 1024
"""Characters at either end of the differing part of a large text."""
CONTEXT = 400
"""Equal characters shown before and after it."""


@value
class Compared:
    """A difference. `note` is one line on what it does not show, or empty."""

    text: str = ""
    added: int = 0
    removed: int = 0
    note: str = ""
    old: str | None = None
    """The whole text before and after, where it was compared whole; None: there is no such text."""
    new: str | None = None


def compare_texts(layer: Layer, first: LayerChange, last: LayerChange) -> Compared | None:
    """Compare a file before the `first` of its changes with the file after the `last`; None where one of them is not
    text."""
    large = max(0 if entry is None else entry.size for entry in (first.before, last.after))
    if large > READ_BYTES:
        return Compared(note=f"too large for a difference: more than {READ_BYTES // 2**20} MiB")
    old, new = _read(layer, first, before=True), _read(layer, last, before=False)
    if old is None or new is None:
        return None
    if large <= SHOWN_BYTES:
        texts = old if first.before else None, new if last.after else None
        diff = diff_texts(last.path, *texts)
        return Compared(diff.text, diff.added, diff.removed, "", *texts)
    return _compare_ends(last.path, old, new)


def _read(layer: Layer, change: LayerChange, *, before: bool) -> str | None:
    """Return the text of one side: empty where there is no file, None where it is not text."""
    entry = change.before if before else change.after
    if entry is None or entry.kind != "file":
        return ""
    try:
        content = (layer.read_before if before else layer.read)(change.path, READ_BYTES)
        return None if b"\0" in content else content.decode()
    except (OSError, UnicodeDecodeError):
        return None


def _compare_ends(path: str, old: str, new: str) -> Compared:
    """Compare both ends of the differing part. Line numbers count from the beginning of the part."""
    head = max(0, _same_beginning(old, new) - CONTEXT)
    tail = max(0, _same_beginning(old[head:][::-1], new[head:][::-1]) - CONTEXT)
    texts = [text[head : len(text) - tail] for text in (old, new)]
    if max(map(len, texts)) <= 2 * PART:
        parts = [texts]
    else:
        parts = [[text[:PART] for text in texts], [text[PART:][-PART:] for text in texts]]
    diffs = [diff_texts(path, *part) for part in parts]
    line = old.count("\n", 0, head) + 1
    note = f"a large text: what differs, from line {line} on"
    if len(parts) > 1:
        left_out = max(map(len, texts)) - 2 * PART
        note = f"a large text: both ends of what differs, from line {line} on; {left_out:,} characters are not shown"
    return Compared(
        "".join(diff.text for diff in diffs),
        sum(diff.added for diff in diffs),
        sum(diff.removed for diff in diffs),
        note,
    )


def _same_beginning(one: str, other: str) -> int:
    """Return the length of the common beginning of two texts, rounded down to whole lines."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return one.rfind("\n", 0, low) + 1
