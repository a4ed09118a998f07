"""Reading goes on where nothing can be written: a full disk, somebody else's folder."""

from __future__ import annotations

import os
import resource
import shutil
import tempfile
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path

import pytest

from nebula.files.home import derived_folder
from nebula.graph.graph import Graph

NOBODY = 65534


@pytest.fixture
def folder() -> Iterator[Path]:
    """A graph that anybody may read: two nodes in a row, the writer gone."""
    place = Path(tempfile.mkdtemp())
    place.chmod(0o755)
    (place / "tmp").mkdir()
    (place / "tmp").chmod(0o777)
    with Graph(place / "data") as graph:
        first = graph.create_node("一つ目の質問", "a")
        graph.connect_nodes(first.id, graph.create_node("second", "b").id)
        # Whatever is imported late: a stranger may not be let into the interpreter's folders.
        assert graph.search_nodes(text="second") and not graph.check()
    yield place / "data"
    shutil.rmtree(place)


def read_everything(folder: Path) -> None:
    with Graph(folder) as graph:
        [found] = graph.search_nodes(text="質問")
        [last] = graph.search_nodes(text="second")
        assert [node.id for node in graph.get_history(last.id)] == [found.id, last.id]
        assert graph.get_node(found.id).response == "a"
        assert graph.check() == []
        with pytest.raises(OSError):
            graph.create_node("one more")


def on_a_full_disk(folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    read_everything(folder)


def as_a_stranger(folder: Path) -> None:
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        tempfile.tempdir = str(folder.parent / "tmp")  # that of whoever runs the tests may be theirs alone
    else:
        for place in (folder, *folder.rglob("*")):
            place.chmod(0o555 if place.is_dir() else 0o444)
    read_everything(folder)


@pytest.mark.parametrize("state", ["with its state", "as git brings it"])
@pytest.mark.parametrize("way", [on_a_full_disk, as_a_stranger])
def test_a_graph_can_be_read_where_nothing_can_be_written(
    folder: Path, way: Callable[[Path], None], state: str
) -> None:
    if state == "as git brings it":
        shutil.rmtree(folder / ".state")
        shutil.rmtree(derived_folder(str(folder)))
    before = {path: path.read_bytes() for path in folder.rglob("*.*") if path.is_file()}
    # A process of its own: neither limit can be taken back.
    child = get_context("fork").Process(target=way, args=(folder,))
    child.start()
    child.join()
    assert child.exitcode == 0
    assert {path: path.read_bytes() for path in before} == before


def with_room_for_nodes_alone(folder: Path) -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (16_000, 16_000))
    with Graph(folder) as graph:
        for number in range(10):
            graph.create_node(str(number), "answer", summary=3_000 * "a")
    with Graph(folder) as graph:
        assert len(graph.list_nodes()) == 12
        index = folder / "metadata" / "index.yaml"
        assert 3_000 * "a" not in index.read_text("utf-8") and graph.check() == []


def test_metadata_that_finds_no_room_fails_no_write(folder: Path) -> None:
    child = get_context("fork").Process(target=with_room_for_nodes_alone, args=(folder,))
    child.start()
    child.join()
    assert child.exitcode == 0
    with Graph(folder) as graph:
        graph.create_node("one more")
    assert (folder / "metadata" / "index.yaml").stat().st_size > 10 * 3_000  # written as soon as there is room


def test_a_home_that_takes_no_mark_fails_no_write(tmp_path: Path) -> None:
    mark = Path(derived_folder(str(tmp_path / "data")), "metadata-is-old")
    mark.symlink_to(tmp_path / "nothing" / "there")
    with Graph(tmp_path / "data") as graph:
        node = graph.create_node("one", "answer", tags=["kept"])
        assert graph.search_nodes(text="one") == [node] and graph.check() == []
    assert "kept" in (tmp_path / "data" / "metadata" / "tags.yaml").read_text("utf-8")
