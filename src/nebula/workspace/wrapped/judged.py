"""A workspace in which somebody judges each write first: exactly what was judged is written, or nothing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Self

from nebula.events import ProposedChange
from nebula.workspace.contract import Workspace, WriteMode, WriteResult
from nebula.workspace.errors import Stale
from nebula.workspace.proposing import propose_text
from nebula.workspace.wrapped.base import WrappedWorkspace

Judge = Callable[[str, Sequence[ProposedChange]], None]
"""Raises RefusedByHook."""
WRITE: Final = "writeFile"


class JudgedWorkspace(WrappedWorkspace):
    def __init__(self, inner: Workspace, judge: Judge) -> None:
        super().__init__(inner)
        self._judge = judge

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        """Write as the inner workspace does. Raises what the judge raises, and Stale where the file changes while it is
        judged."""
        state = self._inner.check_write(path, mode, content)
        if expected is not None and expected != state.expected:
            raise Stale("{path}: is not what it was when it was read; read it again.", path=state.path)
        old = None if state.kind == "missing" else state.content
        if old is None and state.kind != "missing":
            old = self._inner.read_file(state.path).content
        new = f"{old or ''}{content}" if mode == "append" else content
        self._judge(WRITE, [propose_text(state.path, old, new)])
        return self._inner.write_file(path, content, mode, expected=state.expected)

    def _around(self, inner: Workspace) -> Self:
        return type(self)(inner, self._judge)
