"""Planning and carrying out in one step, for tests that look at what came of it."""

from __future__ import annotations

from collections.abc import Mapping

from nebula.workspace.file_history import FileHistory, FileStep


def undo(history: FileHistory, group: str | None = None) -> tuple[FileStep, ...]:
    return history.apply(history.plan_undo(group))


def redo(history: FileHistory, group: str | None = None) -> tuple[FileStep, ...]:
    return history.apply(history.plan_redo(group))


def restore(history: FileHistory, state: Mapping[str, str | None], group: str) -> tuple[FileStep, ...]:
    return history.apply(history.plan_restore(state, group))
