"""Steps survive kills and power cuts, and fail whole (SPEC §11; SQLite's method: fail at the n-th call, for every n)."""

from __future__ import annotations

import errno
import itertools
import os
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.files import Signature
from nebula.graph.disk.step import Move, _decode, _encode
from nebula.graph.graph import Graph
from nebula.graph.values import Connection

PUT = Move("nodes/000/000.xml", None, ".new-12-3")
REMOVE = Move("flows/000/000.yaml", Signature(7, 8, 9))


def folder_at(root: Path) -> DataFolder:
    folder = DataFolder(str(root))
    folder.prepare()
    return folder


def test_a_step_comes_back_as_it_was_written(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    assert not folder.step_file.is_there()
    folder.step_file.write([PUT, REMOVE])
    assert folder.step_file.is_there()
    assert folder_at(tmp_path).step_file.read() == [PUT, REMOVE]
    folder.step_file.clear()
    assert not folder.step_file.is_there()
    assert folder.step_file.read() == []


@given(st.integers(0, 200), st.integers(0, 255))
def test_a_torn_step_counts_as_none(place: int, byte: int) -> None:
    whole = _encode([PUT, REMOVE])
    assert _decode(whole[: min(place, len(whole) - 2)]) == []
    damaged = bytearray(whole)
    damaged[place % len(whole)] = byte
    if damaged[8:-1] != whole[8:-1]:
        assert _decode(bytes(damaged)) == []


@pytest.mark.parametrize(
    "path", ["../stolen", "nodes/../../stolen", "nodes/index.tsv", ".git/hooks/pre-commit", "/tmp/stolen"]
)
def test_a_step_from_a_stranger_cannot_write_elsewhere(tmp_path: Path, path: str) -> None:
    with Graph(tmp_path / "data") as graph:
        graph.create_node("q")
    (tmp_path / "data/.state/.new-1-1").write_text("evil")
    folder_at(tmp_path / "data").step_file.write([Move(path, None, ".new-1-1")])
    with Graph(tmp_path / "data") as graph:
        assert len(graph.list_nodes()) == 1
        graph.create_node("goes on")
        assert graph.check() == []
    assert not (tmp_path / "stolen").exists()
    assert "evil" not in (tmp_path / "data/nodes/index.tsv").read_text("utf-8")


@pytest.mark.parametrize("staged", ["../nodes/000/000.xml", "lock", ".new-1-2/x", "/etc/passwd"])
def test_a_step_from_a_stranger_cannot_take_files_from_elsewhere(tmp_path: Path, staged: str) -> None:
    assert _decode(_encode([Move("nodes/000/001.xml", None, staged)])) == []


def test_a_link_in_the_place_of_a_staged_file_is_not_moved_in(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        graph.create_node("q")
    (tmp_path / ".state/.new-1-1").symlink_to("/etc/passwd")
    folder_at(tmp_path).step_file.write([Move("nodes/000/001.xml", None, ".new-1-1")])
    with Graph(tmp_path) as graph:
        assert len(graph.list_nodes()) == 1
    assert sorted(path.name for path in (tmp_path / ".state").iterdir()) == ["lock"]
    assert not (tmp_path / "nodes/000/001.xml").is_symlink()


def interrupted(root: Path, at: int, act: Callable[[Graph], object]) -> Graph:
    """A graph whose process was killed in the middle of an action, at its n-th operation."""
    graph = Graph(root)
    disk = graph._store.disk
    count = itertools.count()

    def dying(real: Callable[..., None]) -> Callable[..., None]:
        def call(*arguments: Any, **named: Any) -> None:
            if next(count) == at:
                raise Killed
            real(*arguments, **named)

        return call

    with graph._store.writing():  # the folder is ready
        pass
    disk.move_in = dying(disk.move_in)  # type: ignore[method-assign]
    disk._take_back = lambda undo: None  # type: ignore[method-assign]
    with pytest.raises(Killed):
        act(graph)
    return graph


class Killed(BaseException):
    pass


@pytest.mark.parametrize("at", [0, 1])
def test_what_was_interrupted_is_finished_by_whoever_reads_next(tmp_path: Path, at: int) -> None:
    with Graph(tmp_path) as graph:
        first = graph.create_node("first").id
    interrupted(tmp_path, at, lambda graph: graph.create_node("second", parents=[first], tags=["t"]))
    with Graph(tmp_path) as again:
        flow = again.get_flow()
        assert flow.nodes[0] == first and len(flow.edges) == 1
        assert again.get_node(flow.nodes[1]).prompt == "second"
    assert Graph(tmp_path).check() == []


@pytest.mark.parametrize("at", [0, 1])
def test_an_interrupted_removal_is_finished(tmp_path: Path, at: int) -> None:
    with Graph(tmp_path) as graph:
        first, second = graph.create_node("first").id, graph.create_node("second").id
    interrupted(tmp_path, at, lambda graph: graph.delete_node(second))
    with Graph(tmp_path) as again:
        assert again.get_flow().nodes == [first]
        assert [node.id for node in again.list_nodes()] == [first]
    assert Graph(tmp_path).check() == []


def test_a_node_that_was_taken_out_of_its_flow_stays_out(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        first, second = graph.create_node("first").id, graph.create_node("second").id
        graph.remove_node_from_flow("main", second)
    interrupted(tmp_path, 1, lambda graph: graph.create_node("third", parents=[first]))
    with Graph(tmp_path) as again:
        assert second not in again.get_flow().nodes
        assert len(again.get_flow().nodes) == 2


def test_what_was_removed_and_came_back_stays_though_the_end_of_the_step_was_lost(tmp_path: Path) -> None:
    """By a checkout, say, after a power cut: the step file is not flushed."""
    with Graph(tmp_path) as graph:
        node = graph.create_node("q")
        path = tmp_path / "nodes/000/000.xml"
        text, before = path.read_bytes(), graph._store.disk.signature("nodes/000/000.xml")
        graph.delete_node(node.id)
    path.write_bytes(text)
    folder_at(tmp_path).step_file.write([Move("nodes/000/000.xml", before)])
    with Graph(tmp_path) as again:
        assert again.list_nodes() == [node]


def test_what_was_edited_after_the_crash_is_left_alone(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        graph.create_node("q")
    interrupted(tmp_path, 1, lambda graph: graph.create_node("machine"))
    path = tmp_path / "nodes/000/001.xml"
    path.write_text(path.read_text("utf-8").replace("machine", "person"), encoding="utf-8")
    with Graph(tmp_path) as again:
        assert [again.get_node(node).prompt for node in again.get_flow().nodes] == ["q", "person"]


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".state" not in path.parts
    }


@pytest.mark.slow
@settings(max_examples=50)
@given(st.data())
def test_after_a_power_cut_everything_acknowledged_is_there(tmp_path_factory: Any, data: st.DataObject) -> None:
    """Whatever was not flushed may be as it was before: the lines of indexes and metadata, and the step file."""
    root = tmp_path_factory.mktemp("graph") / "data"
    graph = Graph(root)
    prompts = {(node := graph.create_node("first")).id: "first"}
    graph.close()
    before = tree(root)
    for number in range(data.draw(st.integers(1, 4))):
        node = graph.create_node(f"n{number}", parents=[data.draw(st.sampled_from(sorted(prompts)))])
        prompts[node.id] = node.prompt
        if data.draw(st.booleans()):
            prompts[node.id] = graph.update_node(node.id, prompt=f"edited {number}").prompt
    if data.draw(st.booleans()):
        gone = data.draw(st.sampled_from(sorted(prompts)))
        graph.delete_node(gone)
        del prompts[gone]
    flow = graph.get_flow()
    graph._store._housekeeper.stop()
    for path in sorted(tree(root)):
        if path.endswith("index.tsv") or path.startswith("metadata"):
            (root / path).write_bytes(data.draw(st.sampled_from([before.get(path, b""), (root / path).read_bytes()])))
    (root / ".state/step").write_bytes(data.draw(st.sampled_from([b"", b"0" * 40, bytes(4096)])))
    with Graph(root) as again:
        assert {node.id: node.prompt for node in again.list_nodes()} == prompts
        found = again.get_flow()
        assert (found.nodes, found.connections) == (flow.nodes, flow.connections)
        again.check(repair=True)
        assert again.check() == []
    shutil.rmtree(root)


def test_a_step_that_was_ended_is_not_done_again_after_a_longer_one(tmp_path: Path) -> None:
    folder = folder_at(tmp_path)
    for moves in ([PUT, REMOVE] * 9, [REMOVE]):
        folder.step_file.write([])
        folder.step_file.write(moves)
        assert folder_at(tmp_path).step_file.read() == moves
        folder.step_file.write(None)
        assert not folder.step_file.is_there()
        assert folder.step_file.read() == []


def test_a_turn_waits_for_the_disk_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Node and flow are flushed at the same moment, and so are their folders; an index can be built anew."""
    flushed: list[str] = []
    real = os.fsync
    both = threading.Barrier(2)

    def fsync(handle: int) -> None:
        flushed.append(os.path.relpath(os.readlink(f"/proc/self/fd/{handle}"), tmp_path))
        if len(flushed) <= 4:
            both.wait(timeout=60)
        real(handle)

    graph = Graph(tmp_path)
    first = graph.create_node("first").id
    monkeypatch.setattr("nebula.files.syscalls.full_sync", fsync)
    second = graph.create_node("second", parents=[first]).id
    assert [path.startswith(".state/.new-") for path in flushed] == [True, True, False, False]
    assert sorted(flushed[2:]) == ["flows/000", "nodes/000"]
    graph.delete_node(second)
    assert sorted(flushed[-2:]) == ["flows/000", "nodes/000"]
    graph.close()


class Fault:
    """Fails one call to the system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.count = itertools.count(1)
        self.at = at
        self.struck = False
        names = ("write", "pwrite", "fsync", "fdatasync", "rename", "mkdir", "ftruncate")
        for name in filter(lambda name: hasattr(os, name), names):
            monkeypatch.setattr(os, name, self.wrap(getattr(os, name)))

    def wrap(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if next(self.count) == self.at:
                self.struck = True
                raise OSError(errno.ENOSPC, "No space left on device")
            return real(*arguments, **named)

        return call


@pytest.mark.parametrize("kind", ["create", "update", "delete", "connect"])
def test_a_fault_at_any_call_leaves_old_or_new_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    for at in itertools.count(1):
        root = tmp_path / f"{kind}{at}"
        graph = Graph(root)
        a, b = graph.create_node("a").id, graph.create_node("b").id
        graph.close()
        before = ({"a", "b"}, 0)
        with monkeypatch.context() as patch:
            fault = Fault(patch, at)
            failed = False
            try:
                match kind:
                    case "create":
                        graph.create_node("c", parents=[a, b])
                        after = ({"a", "b", "c"}, 2)
                    case "update":
                        graph.update_node(a, prompt="A")
                        after = ({"A", "b"}, 0)
                    case "delete":
                        graph.delete_node(b)
                        after = ({"a"}, 0)
                    case _:
                        graph.connect_nodes(a, b)
                        after = ({"a", "b"}, 1)
            except OSError:
                failed = True
        graph._store._housekeeper.stop()
        with Graph(root) as fresh:
            state = ({node.prompt for node in fresh.list_nodes()}, len(fresh.get_flow().edges))
            if failed:
                assert state in (before, {"create": ({"a", "b", "c"}, 2), "delete": ({"a"}, 0)}.get(kind, before))
            else:
                assert state == after
            fresh.create_node("goes on")
            fresh.check(repair=True)
            assert fresh.check() == []
        assert [path.name for path in (root / ".state").iterdir() if "new-" in path.name] == []
        if not fault.struck:
            assert at > 3
            break


def test_a_step_that_cannot_be_flushed_at_its_end_puts_every_file_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    graph = Graph(tmp_path)
    a, b = graph.create_node("a").id, graph.create_node("b").id
    graph._store._housekeeper.stop()
    before = tree(tmp_path)
    real = os.fsync

    def fsync(handle: int) -> None:
        if not faults and os.readlink(f"/proc/self/fd/{handle}") == str(tmp_path / "flows/000"):
            faults.append(handle)
            raise OSError(errno.EIO, "gone")
        real(handle)

    monkeypatch.setattr("nebula.files.syscalls.full_sync", fsync)
    for act in (lambda: graph.create_node("c", parents=[b]), lambda: graph.delete_node(a)):
        faults: list[int] = []
        with pytest.raises(OSError, match="gone"):
            act()
        graph._store._housekeeper.stop()
        assert tree(tmp_path) == before and [path.name for path in (tmp_path / ".state").iterdir()] == ["lock"]
        assert [node.id for node in graph.list_nodes()] == [b, a] and graph.get_flow().nodes == [a, b]
    graph.close()


def test_a_step_undone_is_gone_for_other_processes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, other = Graph(tmp_path), Graph(tmp_path)
    a = graph.create_node("a").id
    assert other.get_flow().nodes == [a]
    real = os.rename

    def rename(source: str, target: str, **where: int) -> None:
        if target.endswith(".yaml"):
            raise OSError(errno.EIO, "gone")
        real(source, target, **where)

    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", rename)
        with pytest.raises(OSError, match="gone"):
            graph.create_node("b")
    assert not graph._store.disk.step_file.is_there()
    assert [node.id for node in other.list_nodes()] == other.get_flow().nodes == [a]
    b = other.create_node("b").id
    assert graph.get_flow().nodes == [a, b]
    graph.close()
    other.close()


def test_a_flow_that_another_process_replaced_within_a_tick_is_read_again(tmp_path: Path) -> None:
    """Times and sizes may be the same; the file is another one, for the old one is held open."""
    with Graph(tmp_path) as graph:
        a, b = graph.create_node("a").id, graph.create_node("b").id
        path = tmp_path / "flows/000/000.yaml"
        for _ in range(20):
            graph.update_flow("main", description="one")
            loaded = graph._store.flows.get("main")
            assert graph._store.flows.get("main") is loaded, "not read again for the next turn"
            before = path.stat()
            for text in ("two", "six"):
                new = tmp_path / "new"
                new.write_text(path.read_text("utf-8").replace("one", text).replace("two", text), encoding="utf-8")
                os.utime(new, ns=(before.st_atime_ns, before.st_mtime_ns))
                new.rename(path)
            assert graph.get_flow().description == "six"
            graph.connect_nodes(a, b)
            assert graph.get_flow().connections == [Connection(a, b)]
            graph.disconnect_nodes(a, b)


def test_only_what_was_left_in_the_middle_is_done_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, other = Graph(tmp_path), Graph(tmp_path)
    again: list[int] = []
    monkeypatch.setattr(other._store.disk, "finish_step", lambda: again.append(1))
    other.get_node(graph.create_node("first").id)
    other.create_node("second")
    graph.create_node("third")
    other.create_node("fourth")
    assert again == []
    with graph._store.disk.exclusive():
        graph._store.disk.step_file.write([])
    other.create_node("fifth")
    other.create_node("sixth")
    assert again == [1]
    graph.close()
    other.close()


def test_a_disk_without_room_stays_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What did not fit is given back: a step that cannot be written down takes no room either."""
    graph = Graph(tmp_path)
    graph.create_node("first")
    real = os.write

    def write(handle: int, data: bytes) -> int:
        if len(data) > 1000:
            real(handle, data[:1000])
            raise OSError(errno.ENOSPC, "No space left on device")
        return real(handle, data)

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", write)
        with pytest.raises(OSError, match="No space"):
            graph.create_node("x" * 5000)
    assert [path.name for path in (tmp_path / ".state").iterdir()] == ["lock"]
    graph.create_node("goes on")
    graph.close()
