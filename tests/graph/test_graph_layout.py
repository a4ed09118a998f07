"""Where files go: seed 004 §3.1, §4.3, §8.1, and the numbering of SPEC §11."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph.graph_seed import NODE_TSV
from nebula.graph.disk import index_file, numbered_paths
from nebula.graph.disk.files import Files
from nebula.graph.disk.index_file import IndexFile
from nebula.graph.formats import tsv
from rows import each_row


@each_row(
    ("number", "path"),
    [
        (0, "000/000.xml"),
        (99, "000/099.xml"),
        (100, "001/000.xml"),
        (99_999, "999/099.xml"),
        (100_000, "000/100.xml"),
        (100_100, "001/100.xml"),
        (999_999, "999/999.xml"),
    ],
)
def test_8_1_a_hundred_in_each_folder_then_the_next_hundred(number: int, path: str) -> None:
    assert numbered_paths.path_of(number, 100, "xml") == path


def index_in(folder: Path) -> IndexFile:
    files = Files(str(folder))
    files.look()
    return IndexFile(files, "index.tsv", "xml")


def test_8_1_the_step_is_max_files_per_folder() -> None:
    assert [numbered_paths.path_of(number, 2, "xml") for number in (0, 1, 2, 1999, 2000)] == [
        "000/000.xml",
        "000/001.xml",
        "001/000.xml",
        "999/001.xml",
        "000/002.xml",
    ]


@given(st.integers(0, 5_000_000), st.integers(1, 1000))
def test_a_number_can_be_told_from_its_path(number: int, step: int) -> None:
    assert numbered_paths.number_of(numbered_paths.path_of(number, step, "xml"), step) == number


@pytest.mark.parametrize("path", ["00/00.xml", "000/000.xml", "0/12345.xml"])
def test_readers_accept_any_width(path: str) -> None:
    assert numbered_paths.is_path(path, "xml")


@each_row("path", ["../x/0.xml", "/0/0.xml", "0/0.yaml", "0/../1.xml", "0/0.xml\n", "０/0.xml", "a/b.xml", ""])
def test_nothing_else_is_a_path_of_the_store(path: str) -> None:
    assert not numbered_paths.is_path(path, "xml")


def test_4_3_the_seeds_own_example_loads_as_it_stands(tmp_path: Path) -> None:
    file = tmp_path / "index.tsv"
    file.write_text(NODE_TSV, encoding="utf-8")
    lines = list(index_in(tmp_path).lines())
    assert [line.path for line in lines] == ["00/00.xml", "00/01.xml", "00/02.xml", "01/00.xml"]
    assert lines[0].timestamp == "2025-05-09T06:48:06.533720+09:00"
    assert index_in(tmp_path).last() == lines[-1]


def test_4_3_lines_are_only_appended(tmp_path: Path) -> None:
    file = tmp_path / "index.tsv"
    index = index_in(tmp_path)
    assert index.last() is None
    index.append("000/000.xml", "a", "t")
    assert file.read_text() == "relpath\tuuid\ttimestamp\n000/000.xml\ta\tt\n"
    index.append("000/001.xml", "b", "t")
    assert file.read_text() == "relpath\tuuid\ttimestamp\n000/000.xml\ta\tt\n000/001.xml\tb\tt\n"
    index_in(tmp_path).append("000/002.xml", "c", "t")
    assert index.last() == tsv.Line("000/002.xml", "c", "t")
    file.write_text("", encoding="utf-8")
    index.append("000/003.xml", "d", "t")
    assert file.read_text() == "relpath\tuuid\ttimestamp\n000/003.xml\td\tt\n"


def test_an_unfinished_line_is_closed_off_and_reads_as_absent(tmp_path: Path) -> None:
    file = tmp_path / "index.tsv"
    file.write_text("relpath\tuuid\ttimestamp\n000/000.xml\ta\tt\n000/0", encoding="utf-8")
    assert index_in(tmp_path).last() == tsv.Line("000/000.xml", "a", "t")
    index_in(tmp_path).append("000/001.xml", "b", "t")
    assert [line.id for line in index_in(tmp_path).lines()] == ["a", "b"]


def test_a_long_index_is_read_piece_by_piece(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(index_file, "_PIECE", 100)
    index = index_in(tmp_path)
    for number in range(500):
        index.append(numbered_paths.path_of(number, 100, "xml"), str(number), "t")
    assert [line.id for line in index.lines()] == [str(number) for number in range(500)]


@pytest.mark.slow
def test_an_index_without_lines_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "index.tsv").open("wb") as file:
        file.truncate(1 << 28)
    index = index_in(tmp_path)
    tracemalloc.start()
    assert (list(index.lines()), index.last(), index.find("a")) == ([], None, [])
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_many_lines_are_found_as_each_of_them_is(tmp_path: Path, end: str) -> None:
    rows = [
        "relpath\tuuid\ttimestamp",
        "000/000.xml\ta\t2026-01-01",
        "<<<<<<< ours",
        "000/001.xml\tb",
        "000/002.xml\tab\t2026-01-02\tmore",
        "a\ta\t2026-01-03",
        "000/003.xml\tc\ta",
        "",
        "000/004.xml\ta\t2026-01-04",
        "000/005.xml\ta",
    ]
    (tmp_path / "index.tsv").write_text(end.join(rows), encoding="utf-8", newline="")
    index = index_in(tmp_path)

    found = list(index.find_all({"a", "b", "nobody"}))

    assert found == [line for line in index.lines() if line.id in {"a", "b"}]
    assert [line.path for line in found] == ["000/000.xml", "000/001.xml", "000/004.xml"]  # the last is not finished
    assert found[2] in index.find("a")


def test_a_project_that_is_moved_away_is_not_made_again(tmp_path: Path) -> None:
    files = Files(str(tmp_path / "project/.nebula/graph"))
    files.make()
    (tmp_path / "project").rename(tmp_path / "moved")
    files.look()
    with pytest.raises(FileNotFoundError):
        files.make()
    assert not (tmp_path / "project").exists()
