"""Compare the changes of several tries, file by file: what all did alike, what only one did, and the rest line by
line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from nebula.agent.recording.file_states import find_sealed
from nebula.agent.undo import difference, whole_texts
from nebula.graph.values import FileState
from nebula.value import value
from nebula.workspace.changed_lines import Block, changed_blocks
from nebula.workspace.diff import CONTEXT_LINES, split_lines
from nebula.workspace.file_history import FileHistory
from nebula.workspace.journal.states import content_name

MOST_ROWS: Final = 400
"""Rows of one file that are shown; the rest are only counted."""


NOT_TEXT: Final = "not text"


@value
class Column:
    """The tries that left the same version of a file, and how it differs."""

    numbers: tuple[int, ...]
    added: int
    removed: int
    note: str
    """What lines do not show: another mode, a link or a folder, or a file that is not text."""
    diff: str


@value
class AlignedRow:
    """One line of the first version, or lines that tries inserted at the same place: one cell for each column."""

    line: int
    """The line's number in the first version, from 1; 0 where it was not there."""
    cells: tuple[tuple[str, str], ...]
    """A sign (space, `+`, `-`, or empty where there is no line) and the text."""


@value
class ComparedFile:
    path: str
    kind: Literal["alike", "only", "differ"]
    columns: tuple[Column, ...]
    rows: tuple[AlignedRow | None, ...] = ()
    """None stands for a run of unchanged lines."""
    left_out: int = 0
    """How many rows are not shown, because there are too many."""

    def to_json(self) -> dict[str, Any]:
        columns = [{name: getattr(each, name) for name in Column.__match_args__} for each in self.columns]
        rows = [None if row is None else [row.line, *map(list, row.cells)] for row in self.rows]
        return {"path": self.path, "kind": self.kind, "columns": columns, "rows": rows, "left_out": self.left_out}


def compare_tries(tries: Mapping[int, Sequence[FileState]], history: FileHistory) -> list[ComparedFile]:
    """Return every file that one of the tries changed, by path. `tries` holds the changes of the tries that answered,
    by number."""
    groups: dict[str, dict[str, list[int]]] = {}
    starts: dict[str, str] = {}
    for number, files in sorted(tries.items()):
        for file in find_sealed(files, history):
            starts.setdefault(file.path, file.before)
            groups.setdefault(file.path, {}).setdefault(file.after, []).append(number)
    return [_compare(path, starts[path], groups[path], len(tries), history) for path in sorted(groups)]


def _compare(
    path: str, start: str, by_state: Mapping[str, list[int]], count: int, history: FileHistory
) -> ComparedFile:
    columns, texts = [], []
    is_text, old = True, None
    for state, numbers in by_state.items():
        old, new = whole_texts(history, start, state)
        if _is_unread(start, old) or _is_unread(state, new):
            columns.append(Column(tuple(numbers), 0, 0, NOT_TEXT, ""))
            is_text = False
            continue
        diff = difference(history, path, start, state)
        note = diff.text.partition("--- ")[0].strip()
        columns.append(Column(tuple(numbers), diff.added, diff.removed, note, diff.text))
        texts.append(split_lines(new))
    touched = sum(len(each.numbers) for each in columns)
    kind: Literal["alike", "only", "differ"] = "differ"
    if touched == 1:
        kind = "only"
    elif len(columns) == 1 and touched == count:
        kind = "alike"
    rows = align(split_lines(old), texts) if is_text else []
    return ComparedFile(path, kind, tuple(columns), tuple(rows[:MOST_ROWS]), max(0, len(rows) - MOST_ROWS))


def _is_unread(state: str, text: str | None) -> bool:
    """Return whether the state has a content that cannot be shown as lines."""
    return bool(state) and text is None and content_name(state) is not None


def align(start: Sequence[str], texts: Sequence[Sequence[str]]) -> list[AlignedRow | None]:
    """Return the lines of the first version in rows with those of each text in `texts`, so that equal lines are side by
    side."""
    blocks = [changed_blocks(start, text) for text in texts]
    removed = [{line for block in each for line in range(block[0], block[1])} for each in blocks]
    put_in = [
        {block[1]: [line.rstrip("\n") for line in text[block[2] : block[3]]] for block in each}
        for each, text in zip(blocks, texts, strict=True)
    ]
    rows: list[AlignedRow | None] = []
    reached = 0
    for first, last in _ranges([block for each in blocks for block in each], len(start)):
        if first > reached:
            rows.append(None)
        for line in range(first, last + 1):
            rows += _put_in_rows([each.get(line, []) for each in put_in])
            if line < last:
                text = start[line].rstrip("\n")
                rows.append(AlignedRow(line + 1, tuple(("-" if line in each else " ", text) for each in removed)))
        reached = last
    return [*rows, None] if rows and reached < len(start) else rows


def _put_in_rows(added: Sequence[Sequence[str]]) -> list[AlignedRow]:
    height = max(map(len, added), default=0)
    return [
        AlignedRow(0, tuple(("+", lines[row]) if row < len(lines) else ("", "") for lines in added))
        for row in range(height)
    ]


def _ranges(blocks: Sequence[Block], length: int) -> list[tuple[int, int]]:
    """Return the ranges of the first version that are shown: lines that changed in one of the texts, and a few around
    them."""
    found: list[tuple[int, int]] = []
    for block in sorted(blocks):
        first, last = max(0, block[0] - CONTEXT_LINES), min(length, block[1] + CONTEXT_LINES)
        if found and first <= found[-1][1]:
            found[-1] = found[-1][0], max(found[-1][1], last)
        else:
            found.append((first, last))
    return found
