"""A data folder that came with a clone has no power: links, pipes, databases and odd files in every place."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from nebula.files.home import derived_folder
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.graph import Graph
from nebula.graph.summaries.build import build
from nebula.language import explain_to

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A folder with a small conversation, as git brings it: without what a machine keeps for itself."""
    root = tmp_path / "project"
    with Graph(root / ".nebula/graph") as graph:
        first = graph.create_node("needle one", "r", tags=["t"])
        graph.create_node("needle two", "r", parents=[first.id])
    (root / ".nebula/graph/.state/lock").unlink()
    return root


def data_dir(project: Path) -> Path:
    return project / ".nebula/graph"


def test_nothing_derived_lies_in_the_project(project: Path) -> None:
    with Graph(data_dir(project)) as graph:
        graph.search_nodes(text="needle")
        graph.update_node(graph.list_nodes()[0].id, prompt="new")
        asyncio.run(build(graph))
        assert sorted(os.listdir(data_dir(project) / ".state")) == ["lock", "step"]
        derived = set(os.listdir(derived_folder(graph.data_dir)))
        assert {"graph.db", "built_tags.jsonl"} <= derived


@pytest.mark.parametrize("name", ["built_tags.jsonl", "cache.db", "metadata-is-old", "graph.db"])
def test_a_link_in_the_state_folder_reaches_nobody(project: Path, tmp_path: Path, name: str) -> None:
    victim = tmp_path / "bashrc"
    victim.write_text("alias ls=ls\n", encoding="utf-8")
    (data_dir(project) / ".state" / name).symlink_to(victim)
    (data_dir(project) / ".state" / "dangling.db").symlink_to(tmp_path / "made")
    with Graph(data_dir(project)) as graph:
        node = graph.create_node("q", "a", tags=["x"])
        asyncio.run(build(graph, node_ids=[node.id]))
        graph.delete_node(graph.search_nodes(text="one")[0].id)
    assert victim.read_text("utf-8") == "alias ls=ls\n"
    assert not (tmp_path / "made").exists()


def test_a_planted_cache_is_not_even_opened(project: Path) -> None:
    planted = data_dir(project) / ".state/cache.db"
    with closing(sqlite3.connect(planted)) as db, db:
        db.execute("CREATE VIEW files AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n")
        db.execute("PRAGMA user_version = 3")
    db.close()
    before = planted.read_bytes()
    with Graph(data_dir(project)) as graph:
        assert len(graph.search_nodes(text="needle")) == 2
    assert planted.read_bytes() == before


LINKED = [".nebula", ".nebula/graph", ".nebula/graph/.state", ".nebula/graph/nodes", ".nebula/graph/nodes/000"]


@pytest.mark.parametrize("place", LINKED)
def test_a_folder_that_is_a_link_is_refused_and_nothing_is_written_behind_it(
    project: Path, tmp_path: Path, place: str
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (project / place).rename(elsewhere)
    (project / place).symlink_to(elsewhere)
    before = sorted(path for path in elsewhere.rglob("*"))
    with pytest.raises(BadFile), Graph(data_dir(project)) as graph:
        graph.create_node("q")
    assert sorted(elsewhere.rglob("*")) == before


def test_a_flow_folder_that_is_a_link_is_no_flow(project: Path, tmp_path: Path) -> None:
    flows = data_dir(project) / "flows/000"
    flows.rename(tmp_path / "elsewhere")
    flows.symlink_to(tmp_path / "elsewhere")
    with Graph(data_dir(project)) as graph, pytest.raises(NotFound):
        graph.get_flow()


def test_nodes_behind_a_folder_that_became_a_link_are_found_no_more(project: Path, tmp_path: Path) -> None:
    nodes = data_dir(project) / "nodes/000"
    with Graph(data_dir(project)) as graph:
        assert len(graph.search_nodes(text="needle")) == 2
    nodes.rename(tmp_path / "elsewhere")
    nodes.symlink_to(tmp_path / "elsewhere")
    with Graph(data_dir(project)) as graph:
        assert graph.search_nodes(text="needle") == []
        assert graph.count_nodes() == 0


def as_pipe(path: Path) -> None:
    os.mkfifo(path)


def as_folder(path: Path) -> None:
    path.mkdir()


def as_link(path: Path) -> None:
    path.symlink_to("/etc/passwd")


def as_sparse_file(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("plant", [as_pipe, as_folder, as_link, as_sparse_file])
@pytest.mark.parametrize("name", ["nodes/index.tsv", "flows/index.tsv", "metadata/index.yaml", "config.yaml"])
def test_something_odd_in_the_place_of_a_file_costs_a_remark(
    project: Path, plant: Callable[[Path], None], name: str
) -> None:
    path = data_dir(project) / name
    path.unlink()
    plant(path)
    with Graph(data_dir(project)) as graph:
        node = graph.create_node("needle three", "r", tags=["t"])
        assert len(graph.search_nodes(text="needle")) == 3
        assert graph.get_flow().nodes[-1] == node.id
        named = [problem.path for problem in graph.check()]
        assert name in named or name.startswith("metadata")
        assert name.startswith("metadata") or name in [problem.path for problem in graph.problems()]


@pytest.mark.parametrize("plant", [as_pipe, as_folder, as_link])
@pytest.mark.parametrize("name", ["lock", "step"])
def test_an_odd_state_file_is_one_clear_error_for_writers_and_none_for_readers(
    project: Path, plant: Callable[[Path], None], name: str
) -> None:
    path = data_dir(project) / ".state" / name
    path.unlink(missing_ok=True)
    plant(path)
    graph = Graph(data_dir(project))
    assert len(graph.search_nodes(text="needle")) == 2
    with pytest.raises(BadFile):
        graph.create_node("q")


@pytest.mark.parametrize("encoding", ["no-such-thing", "shift_jis", "utf-7", "utf-16"])
def test_a_node_in_an_unknown_encoding_costs_a_remark(project: Path, encoding: str) -> None:
    path = data_dir(project) / "nodes/000/007.xml"
    path.write_text(f"<?xml version='1.0' encoding='{encoding}'?><node id='odd' timestamp='t'/>", encoding="utf-8")
    with Graph(data_dir(project)) as graph:
        assert len(graph.search_nodes(text="needle")) == 2
        assert [problem.path for problem in graph.problems()] == ["nodes/000/007.xml"]
        graph.create_node("goes on")


def test_a_short_look_takes_what_came_last_and_derives_nothing(project: Path) -> None:
    database = Path(derived_folder(data_dir(project))) / "graph.db"
    database.unlink()
    old, new = data_dir(project) / "nodes/000/001.xml", data_dir(project) / "nodes/000/000.xml"
    old.write_text("odd", encoding="utf-8")
    while new.stat().st_ctime_ns <= old.stat().st_ctime_ns:  # the clock of the file system goes in steps
        new.write_text("odd, too", encoding="utf-8")
    with Graph(data_dir(project)) as graph:
        assert [problem.path for problem in graph.unreadable(1)] == ["nodes/000/000.xml"]
        assert [problem.path for problem in graph.unreadable(9)] == ["nodes/000/000.xml", "nodes/000/001.xml"]
    assert not database.exists()


def test_a_database_that_is_not_ours_is_left_alone(project: Path) -> None:
    path = Path(derived_folder(data_dir(project))) / "graph.db"
    path.unlink()
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TABLE precious (x)")
    db.close()
    before = path.read_bytes()
    with Graph(data_dir(project)) as graph:
        assert len(graph.search_nodes(text="needle")) == 2
    assert path.read_bytes() == before


@pytest.mark.parametrize("page", [1, 2, 3, 4, 7])
def test_a_cache_with_a_zeroed_page_ends_nothing(project: Path, page: int) -> None:
    graph = Graph(data_dir(project))
    assert len(graph.search_nodes(text="needle")) == 2
    graph.close()
    path = Path(derived_folder(data_dir(project))) / "graph.db"
    data = bytearray(path.read_bytes())
    data[page * 4096 : (page + 1) * 4096] = bytes(4096)
    path.write_bytes(data)
    with Graph(data_dir(project)) as again:
        again.create_node("needle three")
        assert {node.prompt for node in again.search_nodes(text="needle")} == {
            "needle one",
            "needle two",
            "needle three",
        }
        assert len(again.list_tags()) == 1


def test_views_and_triggers_make_a_cache_foreign(project: Path) -> None:
    path = Path(derived_folder(data_dir(project))) / "graph.db"
    with closing(sqlite3.connect(path)) as db, db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON files BEGIN DELETE FROM files; END")
    db.close()
    with Graph(data_dir(project)) as graph:
        graph.create_node("needle three")
        assert len(graph.search_nodes(text="needle")) == 3


@pytest.mark.parametrize("place", ["flows", "metadata"])
def test_a_folder_that_went_bad_meanwhile_does_not_spoil_the_end(project: Path, place: str) -> None:
    graph = Graph(data_dir(project))
    node = graph.create_node("kept", tags=["x"])
    (data_dir(project) / place).rename(project / "away")
    (data_dir(project) / place).write_text("in the way", encoding="utf-8")
    graph.close()
    (data_dir(project) / place).unlink()
    (project / "away").rename(data_dir(project) / place)
    with Graph(data_dir(project)) as again:
        assert again.get_flow().nodes[-1] == node.id
    assert again.check() == []


def test_what_is_wrong_is_said_in_both_languages(project: Path) -> None:
    (data_dir(project) / "nodes/000/000.xml").write_text("<node id='x'><a>", encoding="utf-8")
    (data_dir(project) / "config.yaml").write_text("settings: [1]", encoding="utf-8")
    with Graph(data_dir(project)) as graph:
        for problem in (*graph.problems(), *graph.check()):
            assert problem.message == explain_to("en", problem.what)
            assert explain_to("ja", problem.what) != problem.message
        with pytest.raises(NotFound) as caught:
            graph.get_node("nobody")
        assert explain_to("ja", caught.value) == "ノード nobody はありません"


# What reaches the disk, and in which order


class Flushes:
    """Which files and folders were flushed, and which files took their place or went, in order."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.happened: list[tuple[str, str]] = []
        real_fsync, real_rename, real_unlink = os.fsync, os.rename, os.unlink

        def fsync(handle: int) -> None:
            self.happened.append(("flush", os.readlink(f"/proc/self/fd/{handle}")))
            real_fsync(handle)

        def rename(source: str, target: str, *, src_dir_fd: int, dst_dir_fd: int) -> None:
            places = [os.readlink(f"/proc/self/fd/{handle}") for handle in (src_dir_fd, dst_dir_fd)]
            self.happened.append((f"{places[0]}/{source}", f"{places[1]}/{target}"))
            real_rename(source, target, src_dir_fd=src_dir_fd, dst_dir_fd=dst_dir_fd)

        def unlink(path: str, *, dir_fd: int | None = None) -> None:
            folder = "" if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
            self.happened.append(("gone", os.path.join(folder, path)))
            real_unlink(path, dir_fd=dir_fd)

        monkeypatch.setattr("nebula.files.syscalls.full_sync", fsync)
        monkeypatch.setattr(os, "rename", rename)
        monkeypatch.setattr(os, "unlink", unlink)

    def flushed(self) -> set[str]:
        return {path for kind, path in self.happened if kind == "flush"}


def test_the_folders_above_the_first_node_are_flushed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    flushes = Flushes(monkeypatch)
    root = tmp_path / "new/deep/data"
    Graph(root).create_node("q")
    for folder in (tmp_path, tmp_path / "new", tmp_path / "new/deep", root, root / "nodes/000"):
        assert str(folder) in flushes.flushed()


def test_a_node_is_on_the_disk_before_the_flow_that_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(tmp_path)
    first = graph.create_node("first").id
    flushes = Flushes(monkeypatch)
    graph.create_node("second", parents=[first])
    placed = {target: n for n, (kind, target) in enumerate(flushes.happened) if kind != "flush"}
    node, flow = placed[str(tmp_path / "nodes/000/001.xml")], placed[str(tmp_path / "flows/000/000.yaml")]
    assert node < flow
    for place in (node, flow):
        assert ("flush", flushes.happened[place][0]) in flushes.happened[:place], "its bytes before its name"
    for folder in ("nodes/000", "flows/000"):
        assert flushes.happened[flow:].count(("flush", str(tmp_path / folder))) == 1, "and both names"
    assert sum(kind == "flush" for kind, _ in flushes.happened) == 4, "what is derived need not be"


def test_a_flow_lets_go_of_a_node_before_the_node_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph = Graph(tmp_path)
    node = graph.create_node("first").id
    flushes = Flushes(monkeypatch)
    graph.delete_node(node)
    gone = flushes.happened.index(("gone", str(tmp_path / "nodes/000/000.xml")))
    assert str(tmp_path / "flows/000/000.yaml") in [target for _, target in flushes.happened[:gone]]
    for folder in ("nodes/000", "flows/000"):
        assert ("flush", str(tmp_path / folder)) in flushes.happened[gone:], "and both are on the disk"


def test_a_folder_that_was_replaced_is_opened_anew(tmp_path: Path) -> None:
    graph = Graph(tmp_path / "data")
    graph.create_node("old")
    with Graph(tmp_path / "other") as other:
        node = other.create_node("new")
    (tmp_path / "data").rename(tmp_path / "away")
    (tmp_path / "other").rename(tmp_path / "data")
    assert graph.get_flow().nodes == [node.id]
    late = graph.create_node("late", parents=[node.id])
    assert late.id not in "".join(
        path.read_text("utf-8") for path in (tmp_path / "away").rglob("*.*") if path.is_file()
    )
    assert Graph(tmp_path / "data").get_flow().nodes == [node.id, late.id]
    graph.close()
