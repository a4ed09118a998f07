"""Writes that are held back are judged like real ones."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nebula.workspace import LocalWorkspace, Policy
from nebula.workspace.errors import NotUtf8, TooLarge, WorkspaceError
from nebula.workspace.wrapped.held_back import HeldBackWorkspace


@pytest.mark.parametrize(("content", "refusal"), [(b"x" * 50, TooLarge), (b"\xff\xfe", NotUtf8)])
def test_nothing_is_appended_to_what_cannot_be_read(
    root: Path, open_at: Callable[..., LocalWorkspace], content: bytes, refusal: type[WorkspaceError]
) -> None:
    (root / "a.txt").write_bytes(content)
    workspace = HeldBackWorkspace(open_at(Policy(max_bytes=40)))
    with pytest.raises(refusal):
        workspace.write_file("a.txt", "more", "append")
    assert workspace.forecast() == []


def test_appends_add_up_and_the_file_stays_as_it_is(root: Path, open_at: Callable[..., LocalWorkspace]) -> None:
    (root / "a.txt").write_text("one\n")
    workspace = HeldBackWorkspace(open_at())
    workspace.write_file("a.txt", "two\n", "append")
    workspace.write_file("a.txt", "three\n", "append")
    assert workspace.read_file("a.txt").content == "one\ntwo\nthree\n"
    assert (root / "a.txt").read_text() == "one\n"
    assert [diff.added for diff in workspace.forecast()] == [2]
