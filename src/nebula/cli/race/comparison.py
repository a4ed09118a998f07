"""Show what tries did to the files: side by side where the terminal is wide enough, else one below the other."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Final

from nebula.agent.race.compare import NOT_TEXT, AlignedRow, Column, ComparedFile, compare_tries
from nebula.agent.race.outcome import TryOutcome
from nebula.cli.terminal.output.width import cut, pad
from nebula.language import translate
from nebula.stage import neutralise, one_line
from nebula.workspace.file_history import FileHistory

MOST_LINES: Final = 120
"""Lines that are shown unasked; then the files alone are named."""
_NARROWEST: Final = 36
"""Columns that one try needs at least to stand beside another."""
_NUMBER: Final = 5
_BETWEEN: Final = " │ "


def show_comparison(
    tries: Sequence[TryOutcome], history: FileHistory, paths: Sequence[str] = (), width: int = 0
) -> list[str]:
    """Return the files that tries changed and how; with `paths` those files and folders alone, and all of them."""
    width = width or shutil.get_terminal_size().columns
    found = compare_tries({each.number: each.files for each in tries if each.node_id}, history)
    wanted = [each for each in found if not paths or any(_is_below(each.path, path) for path in paths)]
    lines: list[str] = []
    for each in wanted:
        body = _format_file(each, width)
        fits = bool(paths) or len(lines) + len(body) <= MOST_LINES
        lines += [format_head(each), *(body if fits else ())]
    return lines


def _is_below(path: str, named: str) -> bool:
    return PurePosixPath(path).is_relative_to(named)


def format_head(file: ComparedFile) -> str:
    """Return a file with who did the same to it."""
    if file.kind == "alike":
        said = translate("all alike")
    elif file.kind == "only":
        said = translate("only {number}", number=file.columns[0].numbers[0])
    else:
        said = " | ".join(" = ".join(map(str, column.numbers)) for column in file.columns)
    return f"  {one_line(file.path)}: {said}"


def _format_file(file: ComparedFile, width: int) -> list[str]:
    room = (width - 1 - _NUMBER) // len(file.columns) - len(_BETWEEN)
    if len(file.columns) == 1 or room < _NARROWEST or not file.rows:
        return _format_below(file)
    heads = [pad(cut(_format_name(file, place), room), room) for place in range(len(file.columns))]
    lines = [" " * _NUMBER + _BETWEEN + _BETWEEN.join(heads).rstrip()]
    lines += [_format_row(row, room) for row in file.rows]
    if file.left_out:
        lines.append(translate("     … and {count} more lines", count=file.left_out))
    return lines


def _format_name(file: ComparedFile, place: int) -> str:
    column = file.columns[place]
    numbers = " = ".join(map(str, column.numbers))
    said = translate("try {numbers} (+{added} −{removed})", numbers=numbers, added=column.added, removed=column.removed)
    return f"{said} · {_format_note(column)}" if column.note else said


def _format_note(column: Column) -> str:
    return translate("not text") if column.note == NOT_TEXT else one_line(column.note)


def _format_row(row: AlignedRow | None, room: int) -> str:
    if row is None:
        return "…".rjust(_NUMBER)
    cells = [pad(cut(f"{sign or ' '} {neutralise(text.expandtabs(4))}", room), room) for sign, text in row.cells]
    return (str(row.line or "").rjust(_NUMBER) + _BETWEEN + _BETWEEN.join(cells)).rstrip()


def _format_below(file: ComparedFile) -> list[str]:
    lines = []
    for place, column in enumerate(file.columns):
        if len(file.columns) > 1:
            lines.append(f"    {_format_name(file, place)}")
        elif column.note:
            lines.append(f"    {_format_note(column)}")
        body = column.diff.partition("--- ")[2].splitlines()[2:]
        lines += [f"    {neutralise(line)}" for line in body]
    return lines
