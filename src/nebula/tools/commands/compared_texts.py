"""The difference that a command made to one text, or as much of it as anybody looks at."""

from __future__ import annotations

from nebula.sandbox.contract import LayerChange
from nebula.sandbox.layer import Layer
from nebula.value import value
from nebula.workspace.diff import diff_texts

SHOWN_BYTES = 256 * 1024
"""A text up to this size is compared whole; of a larger one both ends of what differs are."""
READ_BYTES = 8 * 1024 * 1024
"""A text beyond this size is not compared."""
PART = 32 * 1024
"""Characters of either end of what differs in a large text."""
CONTEXT = 400
"""Characters that are the same, in front of and behind it."""


@value
class Compared:
    """`note` is what the difference does not show by itself, one line, or empty."""

    text: str = ""
    added: int = 0
    removed: int = 0
    note: str = ""
    old: str | None = None
    """The whole text before and after, where it was compared whole; None: there is none."""
    new: str | None = None


def compare_texts(layer: Layer, first: LayerChange, last: LayerChange) -> Compared | None:
    """Compare a file before the `first` of its changes with it after the `last`; None where one of them is no text."""
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
    """Return the text of one side: empty where there is none, None where it is not a text."""
    entry = change.before if before else change.after
    if entry is None or entry.kind != "file":
        return ""
    try:
        content = (layer.read_before if before else layer.read)(change.path, READ_BYTES)
        return None if b"\0" in content else content.decode()
    except (OSError, UnicodeDecodeError):
        return None


def _compare_ends(path: str, old: str, new: str) -> Compared:
    """Compare both ends of what differs. The lines of a part are counted from its own beginning."""
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
    """Return how many characters two texts have in common at their beginning, cut back to a whole line."""
    low, high = 0, min(len(one), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if one[low:middle] == other[low:middle]:
            low = middle
        else:
            high = middle - 1
    return one.rfind("\n", 0, low) + 1
