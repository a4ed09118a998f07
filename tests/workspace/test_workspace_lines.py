"""Some lines of a file of any size."""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.files.digest import digest
from nebula.workspace import LocalWorkspace, Policy, WorkspaceError, line_ranges
from nebula.workspace.diff import split_lines

Open = Callable[..., LocalWorkspace]


@given(
    text=st.lists(st.sampled_from(["a", "bb", "\n", "\r\n", "日本", "\u2028"]), max_size=40).map("".join),
    first=st.integers(1, 12),
    length=st.none() | st.integers(0, 8),
    chunk=st.integers(1, 7),
)
def test_it_is_what_a_slice_of_the_lines_is(
    tmp_path_factory: pytest.TempPathFactory, text: str, first: int, length: int | None, chunk: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "lines.txt"
    path.write_bytes(text.encode())
    last = None if length is None else first + length
    fd = os.open(path, os.O_RDONLY)
    whole, line_ranges._CHUNK = line_ranges._CHUNK, chunk  # type: ignore[misc]
    try:
        found = line_ranges.read_line_range(fd, first, last, 1_000_000)
    finally:
        line_ranges._CHUNK = whole  # type: ignore[misc]
        os.close(fd)
    lines = split_lines(text)
    assert found.content.decode() == "".join(lines[first - 1 : last])
    assert (found.total_lines, found.size) == (len(lines), len(text.encode()))
    assert found.sha256 == digest(text.encode())
    assert found.last == min(last or len(lines), len(lines))


@pytest.mark.slow
def test_a_file_too_large_to_read_whole(open_at: Open, root: Path) -> None:
    workspace = open_at(Policy(max_bytes=10_000))
    (root / "big.txt").write_text("".join(f"line {number}\n" for number in range(1, 2_000_001)))
    with pytest.raises(WorkspaceError, match="10000 bytes"):
        workspace.read_file("big.txt")
    tracemalloc.start()
    found = workspace.read_lines("big.txt", 1_500_000, 1_500_002)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert found.content == "line 1500000\nline 1500001\nline 1500002\n"
    assert (found.first, found.last, found.total_lines) == (1_500_000, 1_500_002, 2_000_000)
    assert peak < 8_000_000
    many = workspace.read_lines("big.txt", 1_999_000)
    assert many.content.startswith("line 1999000\n")
    assert many.content.endswith(f"line {many.last}\n")
    assert len(many.content) <= 10_000
    assert many.last < 2_000_000


def test_a_line_too_long_is_shown_by_its_beginning(open_at: Open, root: Path) -> None:
    workspace = open_at(Policy(max_bytes=100))
    (root / "wide.txt").write_text("あ" * 1000 + "\nend\n")
    found = workspace.read_lines("wide.txt", 1, 2)
    assert found.content == "あ" * 33
    assert (found.last, found.total_lines) == (0, 2)
    assert workspace.read_lines("wide.txt", 2, 2).content == "end\n"


@pytest.mark.parametrize("path", ["../x", ".env", "fifo", "none", "sub"])
def test_it_is_guarded_like_any_read(path: str, workspace: LocalWorkspace, root: Path) -> None:
    (root / ".env").write_text("KEY=1\n")
    (root / "sub").mkdir()
    os.mkfifo(root / "fifo")
    with pytest.raises(WorkspaceError):
        workspace.read_lines(path, 1, 2)
    for first, last in ((0, 1), (1, 0), (True, 2)):
        with pytest.raises(WorkspaceError):
            workspace.read_lines("sub", first, last)
