"""A change of a text before it is made: shown, judged, and bound to the content that it replaces."""

from __future__ import annotations

from collections.abc import Collection

from nebula.events import ProposedChange
from nebula.workspace.changed_lines import Block
from nebula.workspace.diff import apply_hunks, diff_texts


def propose_text(path: str, old: str | None, new: str, before: str = "") -> ProposedChange:
    """Return the change from one text to another; None stands for a missing file, `before` is the hash of the old
    text."""
    diff = diff_texts(path, old, new)
    kind = "created" if old is None else "changed"
    lost = not is_blank(old or "") and is_blank(new)
    return ProposedChange(path, kind, diff.added, diff.removed, diff.text, "", old, new, before, beyond_text=lost)


def is_blank(text: str | bytes) -> bool:
    """Return whether nothing is to be read in a text, or in the beginning of a content: what leaves no more than that
    of a file is a loss like its deletion."""
    shown = text if isinstance(text, str) else text.decode(errors="replace")
    return not any(char.isprintable() and not char.isspace() for char in shown)


def keep_hunks(change: ProposedChange, numbers: Collection[int]) -> ProposedChange:
    """Return the same change with only some of its hunks, counted from 1."""
    hunks = enumerate(diff_texts(change.path, change.old, change.new).hunks, start=1)
    new = apply_hunks(change.old, [hunk for number, hunk in hunks if number in numbers])
    return propose_text(change.path, change.old, new, change.before)


def blocks_of(change: ProposedChange) -> list[Block]:
    """Return the lines that differ."""
    return diff_texts(change.path, change.old, change.new).blocks
