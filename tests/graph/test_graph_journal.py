"""Steps survive kills and power cuts, and fail whole (SPEC §11; SQLite's method: fail at the n-th call, for every n)."""

from __future__ import annotations

import errno
import itertools
import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.flow_files import LONG
from nebula.graph.disk.journal import CAPACITY, Extend, Journal, JournalStep, Put, Remove, _decode
from nebula.graph.graph import Graph
from nebula.graph.values import Connection


def journal_in(root: Path) -> Journal:
    """The journal of a data folder as another process sees it."""
    folder = DataFolder(str(root))
    folder.prepare()
    return folder.journal


def test_steps_come_back_in_order_with_contents(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    operations = [
        Put("nodes/000/000.xml", b"x\ny\x00", -1),
        Remove("flows/000/000.yaml", 7),
        Extend("flows/000/001.yaml", ("a",), (Connection("a", "b", "枝"),), "t"),
    ]
    assert journal.append(operations)
    assert journal.append([])
    again = journal_in(tmp_path)
    assert [list(step.operations) for step in again.steps()] == [operations, []]
    assert again.mark() == journal.mark()
    again.drop(2)
    assert journal.outline() == []
    assert journal.append(operations)
    assert len(again.outline()) == 1


@pytest.mark.slow
def test_a_checkpoint_carries_over_what_came_in_meanwhile(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    for number in range(10):
        journal.append([Put(f"nodes/000/{number:03}.xml", b"x" * 9000, -1)])
    late = journal.steps()[7:]
    for _ in range(40):
        journal.drop(len(journal.outline()) - 3)
        assert journal.steps() == late
        assert journal_in(tmp_path).steps() == late
        while journal.append([Put("nodes/000/999.xml", b"y" * 9000, -1)]):
            pass
        late = journal.steps()[-3:]


def test_a_torn_record_counts_as_absent(tmp_path: Path) -> None:
    journal = journal_in(tmp_path)
    journal.append([Put("nodes/000/000.xml", b"first", -1)])
    journal.append([Put("nodes/000/001.xml", b"second", -1)])
    data = bytearray((tmp_path / ".state/journal").read_bytes())
    data[data.index(b"second")] ^= 1
    (tmp_path / ".state/journal").write_bytes(data)
    assert len(journal_in(tmp_path).steps()) == 1


def test_a_full_journal_is_emptied_and_goes_on(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        text = "x" * (CAPACITY // 5)
        ids = [graph.create_node(text).id for _ in range(12)]
        larger = graph.create_node("x" * CAPACITY).id
        assert graph.get_flow().nodes == [*ids, larger]
    assert len(Graph(tmp_path).list_nodes()) == 13


def test_a_journal_from_a_stranger_cannot_write_elsewhere(tmp_path: Path) -> None:
    with Graph(tmp_path / "data") as graph:
        graph.create_node("q")
    journal = journal_in(tmp_path / "data")
    journal.append([])
    journal._boot = "another run"
    for path in ("../stolen", "nodes/../../stolen", "nodes/index.tsv", ".git/hooks/pre-commit", "/tmp/stolen"):
        journal.append([Put(path, b"evil", -1), Extend(path, ("x",), (), "t")])
    with Graph(tmp_path / "data") as graph:
        assert len(graph.list_nodes()) == 1
        assert graph.check() == []
    assert not (tmp_path / "stolen").exists()
    assert "evil" not in (tmp_path / "data/nodes/index.tsv").read_text("utf-8")


@pytest.mark.parametrize("plant", ["a pipe", "a link", "too large", "other bytes", "nothing"])
def test_a_step_aside_from_a_stranger_is_passed_over(tmp_path: Path, plant: str) -> None:
    root, victim = tmp_path / "data", tmp_path / "victim"
    with Graph(root) as graph:
        first = graph.create_node("first").id
    journal = journal_in(root)
    journal._boot = "another run"
    large = Put("nodes/000/001.xml", b"x" * CAPACITY, -1)
    assert journal.append([large])
    assert journal_in(root).steps()[0].operations == (large,)
    (aside,) = (root / ".state").glob("step-*")
    data = aside.read_bytes()
    aside.unlink()
    if plant == "a pipe":
        os.mkfifo(aside)
    elif plant == "a link":
        victim.write_bytes(data)
        aside.symlink_to(victim)
    elif plant == "too large":
        with aside.open("wb") as file:
            file.truncate(4 << 30)
    elif plant == "other bytes":
        aside.write_bytes(data.replace(b"xx", b"yy"))
    with Graph(root) as graph:
        assert [node.id for node in graph.list_nodes()] == [first]
        second = graph.create_node("goes on").id
        assert graph.check() == []
    assert Graph(root).get_flow().nodes == [first, second]


def test_a_table_that_is_far_too_long_is_not_read() -> None:
    assert _decode(b'["boot", [' + b" " * (9 << 20) + b"]]\n") is None
    assert _decode(b'["boot", [' + b" " * (1 << 20) + b"]]\n") == JournalStep("boot", ())


def tree(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and ".state" not in path.parts
    }


@pytest.mark.slow
@settings(max_examples=50)
@given(st.data(), st.booleans())
def test_after_a_power_cut_everything_acknowledged_is_there(
    tmp_path_factory: Any, data: st.DataObject, long: bool
) -> None:
    """Any file that was not flushed may be as it was before, whole, empty or torn; the journal was flushed."""
    root = tmp_path_factory.mktemp("cut")
    graph = Graph(root)
    graph.create_flow("main", "x" * LONG if long else "")
    first = graph.create_node("first").id
    graph.close()
    flushed = [tree(root)]
    graph.get_flow()
    journal = graph._store.disk.journal
    journal._boot = "before the cut"
    real_drop = journal.drop
    journal.drop = lambda count: (flushed.append(tree(root)), real_drop(count))  # type: ignore[method-assign, assignment, return-value]
    prompts = {first: "first"}
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
    # Not drawn one by one: what was flushed meanwhile depends on the clock, and with it what there is to choose from.
    chance = random.Random(data.draw(st.integers(0, 2**32)))
    before, after = flushed[-1], tree(root)
    for path in sorted(before.keys() | after.keys()):
        states = [before.get(path), after.get(path)]
        written = after.get(path)
        if written and written != before.get(path) and path.startswith("nodes/0" if long else ("nodes/0", "flows/0")):
            # Cut short, or with holes: a long flow is flushed before it takes its place.
            torn = bytearray(written)
            torn[: len(torn) // 512 * 512 : 1] = bytes(len(torn) // 512 * 512)
            states += [b"", written[: len(written) // 2], bytes(len(written)), bytes(torn)]
        state = chance.choice(states)
        if state is None:
            (root / path).unlink(missing_ok=True)
        else:
            (root / path).write_bytes(state)
    with Graph(root) as again:
        assert {node.id: node.prompt for node in again.list_nodes()} == prompts
        found = again.get_flow()
        assert (found.nodes, found.connections) == (flow.nodes, flow.connections)
        again.check(repair=True)
        assert again.check() == []
    shutil.rmtree(root)


def test_what_was_edited_after_the_crash_is_left_alone(tmp_path: Path) -> None:
    graph = Graph(tmp_path)
    graph.create_node("q")
    graph.close()
    graph.get_flow()
    graph._store.disk.journal._boot = "before"
    node = graph.create_node("machine")
    graph._store._housekeeper.stop()
    path = tmp_path / "nodes/000/001.xml"
    path.write_text(path.read_text("utf-8").replace("machine", "person"), encoding="utf-8")
    with Graph(tmp_path) as again:
        assert again.get_node(node.id).prompt == "person"


class Fault:
    """Fails one call to the system."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
        self.count = itertools.count(1)
        self.at = at
        self.struck = False
        for name in ("write", "pwrite", "fsync", "fdatasync", "rename", "mkdir", "ftruncate"):
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


def test_what_an_older_epoch_left_in_the_journal_is_nobodys_news(tmp_path: Path) -> None:
    """A flow is read again only when another process has written: what stands behind the last record of a half is left
    from the time before, and counting it would read a long flow anew for every turn."""
    graph = Graph(tmp_path)
    graph.create_flow("main", "x" * LONG)
    last = graph.create_node("0").id
    journal = graph._store.disk.journal
    foreign = journal.foreign
    for number in range(1, 5):
        for _ in range(5 - number):  # each epoch shorter than the one before it in its half
            last = graph.create_node(str(number), parents=[last]).id
        loaded = graph._store.flows.get("main")
        graph._store.disk.checkpoint()
        assert graph._store.flows.get("main") is loaded, "read again after a checkpoint of our own"
    assert journal.foreign == foreign
    with Graph(tmp_path) as other:
        other.create_node("from elsewhere")
        graph.get_flow()
        assert journal.foreign > foreign
    graph.close()


def test_a_step_undone_is_gone_for_other_processes_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, other = Graph(tmp_path), Graph(tmp_path)
    a = graph.create_node("a").id
    assert other.get_flow().nodes == [a]
    disk: DataFolder = graph._store.disk
    with monkeypatch.context() as patch:
        patch.setattr(os, "rename", lambda *_, **__: (_ for _ in ()).throw(OSError(errno.EIO, "gone")))
        with pytest.raises(OSError, match="gone"):
            graph.create_node("b")
    assert disk.journal.outline() == []
    assert other.get_flow().nodes == [a]
    b = other.create_node("b").id
    assert graph.get_flow().nodes == [a, b]
    graph.close()
    other.close()


def long_ago(path: Path) -> None:
    os.utime(path, (1_700_000_000, 1_700_000_000))


def test_a_step_that_was_taken_back_is_gone_for_whoever_saw_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    graph, reader = Graph(tmp_path), Graph(tmp_path)
    graph.create_flow("main", "x" * LONG)
    first = graph.create_node("first").id
    graph.close()
    long_ago(tmp_path / "flows/000/000.yaml")
    assert reader.get_flow().nodes == [first]
    seen = []

    def no_room(*_: object, **__: object) -> None:
        monkeypatch.undo()
        seen.append(len(reader.get_flow().nodes))
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "rename", no_room)
    with pytest.raises(OSError, match="No space"):
        graph.create_node("second", parents=[first])
    assert seen == [2], "journalled first, and what is journalled counts"
    assert reader.get_flow().nodes == [first]
    reader.close()
    graph.close()


def test_a_flow_that_another_process_replaced_within_a_tick_is_read_again(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph, Graph(tmp_path) as other:
        graph.create_flow("main", "one")
        path = tmp_path / "flows/000/000.yaml"
        before = path.stat()
        assert graph.get_flow().description == "one"
        path.write_text(path.read_text("utf-8").replace("one", "two"), encoding="utf-8")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        other.create_flow("elsewhere")
        assert graph.get_flow().description == "two"


def test_only_what_was_left_in_the_middle_is_done_once_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lock's note says that the steps of others are done: doing one again reads all its files, and the index."""
    graph, other = Graph(tmp_path), Graph(tmp_path)
    for each in (graph, other):  # no checkpoint but the one below
        monkeypatch.setattr(each._store._housekeeper, "wake", lambda **_: None)
    other.get_node(graph.create_node("first").id)
    ours: DataFolder = graph._store.disk
    again: list[int] = []
    monkeypatch.setattr(other._store.disk, "finish_step", lambda: again.append(1))
    other.create_node("second")
    graph.create_node("third")
    other.create_node("fourth")
    sync = ours._sync
    with monkeypatch.context() as patch:
        patch.setattr(ours, "_sync", lambda steps: (graph.create_node("meanwhile"), sync(steps)))
        ours.checkpoint()
    assert len(ours.journal.outline()) == 1, "carried over"
    other.create_node("fifth")
    assert again == []
    with ours.exclusive():
        ours.journal.append([])
    other.create_node("sixth")
    other.create_node("seventh")
    assert again == [1]
    with (tmp_path / ".state/lock").open("ab") as file:
        file.write(b"from a stranger")
    other.create_node("eighth")
    assert again == [1]
    graph.close()
    other.close()
