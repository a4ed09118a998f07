"""Reading patches in the two forms that agents record: unified diffs, and the blocks of `apply_patch`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from nebula.exchange.imports.contract import FileEdit, LineChange

_HUNK = re.compile(r"@@ -\d{1,9}(?:,\d{1,9})? \+(\d{1,9})")
_SECTION = re.compile(r"\*\*\* (Add|Update|Delete) File: (.+)")


def lines_of_diff(diff: str) -> tuple[LineChange, ...]:
    """Return the runs of lines that the hunks of a unified diff put in and take out."""
    return tuple(_runs(diff.split("\n"), in_hunk=False))


def lines_of_hunk(start: int, lines: Iterable[str]) -> tuple[LineChange, ...]:
    """Return the same of one hunk, of which the line number and the marked lines are known."""
    return tuple(_runs([f"@@ -1 +{start}", *lines], in_hunk=False))


def edits_of_apply_patch(patch: str) -> list[FileEdit]:
    """Return what a patch between `*** Begin Patch` and `*** End Patch` does to which files."""
    edits: list[FileEdit] = []
    kind, path, held = "", "", list[str]()
    for line in [*patch.split("\n"), "*** End Patch"]:
        found = _SECTION.fullmatch(line.rstrip("\r"))
        if found or line.startswith("*** End Patch"):
            if kind:
                edits.append(_edit(kind, path, held))
            kind, path, held = (found[1], found[2].strip(), []) if found else ("", "", [])
        elif kind and not line.startswith("*** "):
            held.append(line)
    return edits


def _edit(kind: str, path: str, held: list[str]) -> FileEdit:
    if kind == "Add":
        return FileEdit(path, "", "".join(f"{line[1:]}\n" for line in held if line.startswith("+")))
    return FileEdit(path, lines=tuple(_runs(held, in_hunk=True)) if kind == "Update" else ())


def _runs(lines: Iterable[str], *, in_hunk: bool) -> Iterator[LineChange]:
    """Yield each run of changed lines; `in_hunk` where the lines begin without a head that numbers them."""
    here = 1
    added: list[str] = []
    removed: list[str] = []
    for line in lines:
        mark = line[:1]
        if in_hunk and mark == "+":
            added.append(line[1:])
            here += 1
            continue
        if in_hunk and mark == "-":
            removed.append(line[1:])
            continue
        if added or removed:
            yield LineChange(here - len(added), tuple(added), tuple(removed))
            added, removed = [], []
        if found := _HUNK.match(line):
            here, in_hunk = int(found[1]), True
        elif in_hunk and mark != "\\":
            here += mark != "@"
    if added or removed:
        yield LineChange(here - len(added), tuple(added), tuple(removed))
