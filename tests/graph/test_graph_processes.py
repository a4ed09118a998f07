"""Several processes at once, and processes that are killed (SPEC §11)."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from nebula.files.home import derived_folder
from nebula.graph.errors import CycleError, NotFound
from nebula.graph.graph import Graph

WRITER = Path(__file__).with_name("graph_writer.py")
DYING = Path(__file__).with_name("dying_writer.py")


def view(root: Path) -> Any:
    """All a fresh reader knows."""
    with Graph(root) as graph:
        flow = graph.get_flow()
        return (
            {node.id: node for node in graph.list_nodes()},
            flow.nodes,
            flow.connections,
            graph.list_tags(),
            graph.problems(),
        )


class Writer:
    """A process at work; what it said is kept in a file, so that it can be waited for and read after its end."""

    def __init__(self, root: Path, said: Path, seed: int, count: int) -> None:
        self.said = said
        with said.open("w", encoding="utf-8") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(WRITER), str(root), str(seed), str(count)], stdout=output
            )

    def wait_until_at_work(self) -> None:
        while self.process.poll() is None and self.said.stat().st_size == 0:
            time.sleep(0.005)

    def told(self) -> str:
        self.process.wait(100)
        return self.said.read_text("utf-8")


class Told:
    """What the writers said they had done, and what they may have done before they were killed."""

    def __init__(self) -> None:
        self.alive: set[str] = set()
        self.texts: dict[str, str] = {}
        self.deleted: set[str] = set()
        self.doubtful: set[str] = set()

    def hear(self, lines: str) -> None:
        begun = ""
        for line in lines.splitlines():
            kind, *words = line.split(" ")
            begun = words[0] if kind == "try" else ""
            if kind == "create":
                self.alive.add(words[0])
            elif kind == "delete":
                self.alive.discard(words[0])
                self.deleted.add(words[0])
            elif kind == "edit":
                self.texts[words[0]] = words[1]
        self.doubtful.add(begun)

    def check(self, root: Path) -> None:
        with Graph(root) as graph:
            nodes = {node.id: node for node in graph.list_nodes()}
            assert self.alive - nodes.keys() <= self.doubtful
            assert not self.deleted & nodes.keys()
            known = self.alive & nodes.keys() - self.doubtful
            assert {each: nodes[each].prompt for each in known & self.texts.keys()} == {
                each: self.texts[each] for each in known & self.texts.keys()
            }
            assert self.alive & nodes.keys() <= set(graph.get_flow().nodes)
            assert [problem for problem in graph.check() if problem.kind != "metadata"] == []


@pytest.mark.slow
def test_two_processes_leave_files_that_every_reader_understands_alike(tmp_path: Path) -> None:
    told = Told()
    root = tmp_path / "data"
    writers = [Writer(root, tmp_path / f"{seed}.txt", seed, 120) for seed in (1, 2)]
    for writer in writers:
        told.hear(writer.told())
        assert writer.process.returncode == 0
    told.check(root)
    seen = view(root)
    assert len(seen[0]) > 50
    shutil.rmtree(root / ".state")
    shutil.rmtree(derived_folder(str(root)))
    assert view(root) == seen
    with Graph(root) as graph:
        assert graph.check() == []


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_kill_9_forty_times_loses_nothing_acknowledged(tmp_path: Path) -> None:
    told = Told()
    chance = random.Random(9)
    root = tmp_path / "data"
    with Graph(root) as graph:
        graph.create_flow("main", "x" * chance.choice([0, 40_000]))
    for kill in range(40):
        writers = [Writer(root, tmp_path / f"{number}.txt", 1000 + 2 * kill + number, 100_000) for number in range(2)]
        for writer in writers:
            writer.wait_until_at_work()
        time.sleep(chance.random() * 0.1)
        for writer in writers:
            writer.process.kill()
        for writer in writers:
            told.hear(writer.told())
        if kill % 10 == 9:
            told.check(root)
    assert len(told.alive) > 40
    before = view(root)
    with Graph(root) as graph:
        graph.check(repair=True)
        assert graph.check() == []
    assert view(root) == before


@pytest.mark.slow
@pytest.mark.parametrize("length", [10, 40_000], ids=["short", "long"])
def test_whoever_comes_next_finishes_what_a_dying_process_left(tmp_path: Path, length: int) -> None:
    """It dies at each call that changes something, and another process that was open all the time goes on."""
    for at in itertools.count(1):
        root = tmp_path / str(at)
        with Graph(root) as other:
            first = other.create_node("first").id
            died = subprocess.run([sys.executable, str(DYING), str(root), str(at), first, str(length)], check=False)
            second = other.create_node("second", parents=[first]).id
            assert other.check() == []
            made = {node.id for node in other.list_nodes()} - {first, second}
            assert set(other.get_flow().nodes) == {first, second, *made}, f"half of a step at call {at}"
        seen = view(root)
        assert [path.name for path in (root / ".state").iterdir() if path.name != "step"] == ["lock"]
        shutil.rmtree(root / ".state")
        assert view(root) == seen
        if died.returncode == 0:
            assert len(made) == 1
            assert at > 5
            break


def test_many_threads_share_one_graph(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        root = graph.create_node("root").id
        ids: list[str] = []
        faults: list[BaseException] = []

        def work(number: int) -> None:
            try:
                last = root
                for step in range(8):
                    last = graph.create_node(f"{number} {step}", parents=[last]).id
                    ids.append(last)
                    assert graph.get_node(last).prompt == f"{number} {step}"
                    graph.search_nodes(text=str(step))
                assert len(graph.get_history(last)) == 9
            except BaseException as fault:  # noqa: BLE001
                faults.append(fault)

        threads = [threading.Thread(target=work, args=[number]) for number in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert faults == []
        assert len(graph.get_flow().nodes) == 49
        assert {node.id for node in graph.list_nodes()} == {root, *ids}
    assert Graph(tmp_path).check() == []


def test_a_reader_that_found_no_folder_leaves_the_one_that_a_writer_makes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found_none, is_opened, real_stat, real_fstat = threading.Event(), threading.Event(), os.stat, os.fstat

    def stat(path: Any, **options: Any) -> os.stat_result:
        try:
            return real_stat(path, **options)
        except FileNotFoundError:
            if threading.current_thread() is reader and path == str(tmp_path / "data"):
                found_none.set()
                is_opened.wait(0.5)
            raise

    def fstat(handle: int) -> os.stat_result:
        if threading.current_thread() is not reader and not is_opened.is_set():
            is_opened.set()
            reader.join(0.5)
        return real_fstat(handle)

    with Graph(tmp_path / "data") as graph:
        reader = threading.Thread(target=graph.count_nodes)
        monkeypatch.setattr(os, "stat", stat)
        reader.start()
        assert found_none.wait(10)
        monkeypatch.setattr(os, "fstat", fstat)
        assert graph.create_node("first").prompt == "first"
        reader.join()


class TwoWriters(RuleBasedStateMachine):
    """Two open graphs on one folder, in any order; each sees at once what the other did."""

    nodes: Bundle[str] = Bundle("nodes")

    def __init__(self) -> None:
        super().__init__()
        import tempfile

        self.root = Path(tempfile.mkdtemp())
        self.graphs = [Graph(self.root), Graph(self.root)]
        self.prompts: dict[str, str] = {}
        self.edges: set[tuple[str, str]] = set()

    def leads_to(self, start: str, goal: str) -> bool:
        pending, seen = [start], {start}
        while pending:
            node = pending.pop()
            if node == goal:
                return True
            fresh = {target for source, target in self.edges if source == node} - seen
            seen |= fresh
            pending += fresh
        return False

    @rule(target=nodes, who=st.integers(0, 1), prompt=st.text("aあ\r\n]>\x00", max_size=5))
    def create(self, who: int, prompt: str) -> str:
        node = self.graphs[who].create_node(prompt)
        self.prompts[node.id] = prompt
        return node.id

    @rule(who=st.integers(0, 1), node=nodes, prompt=st.text("bい", max_size=3))
    def edit(self, who: int, node: str, prompt: str) -> None:
        self.graphs[who].update_node(node, prompt=prompt)
        self.prompts[node] = prompt

    @rule(who=st.integers(0, 1), a=nodes, b=nodes)
    def connect(self, who: int, a: str, b: str) -> None:
        if self.leads_to(b, a):
            with pytest.raises(CycleError):
                self.graphs[who].connect_nodes(a, b)
        else:
            self.graphs[who].connect_nodes(a, b)
            self.edges.add((a, b))

    @rule(who=st.integers(0, 1), a=nodes, b=nodes)
    def disconnect(self, who: int, a: str, b: str) -> None:
        if (a, b) in self.edges:
            self.graphs[who].disconnect_nodes(a, b)
            self.edges.discard((a, b))
        else:
            with pytest.raises(NotFound):
                self.graphs[who].disconnect_nodes(a, b)

    @rule(who=st.integers(0, 1), node=consumes(nodes))
    def delete(self, who: int, node: str) -> None:
        self.graphs[who].delete_node(node)
        del self.prompts[node]
        self.edges = {edge for edge in self.edges if node not in edge}

    @rule(who=st.integers(0, 1))
    def reopen(self, who: int) -> None:
        self.graphs[who].close()

    @invariant()
    def both_see_the_same(self) -> None:
        for graph in self.graphs:
            assert {node.id: node.prompt for node in graph.list_nodes()} == self.prompts
            if self.prompts or self.edges:
                flow = graph.get_flow()
                assert set(flow.nodes) == self.prompts.keys()
                assert {(edge.source, edge.target) for edge in flow.connections} == self.edges

    def teardown(self) -> None:
        for graph in self.graphs:
            graph.close()
        seen = view(self.root) if self.prompts else None
        shutil.rmtree(self.root / ".state", ignore_errors=True)
        shutil.rmtree(derived_folder(str(self.root)), ignore_errors=True)
        if seen:
            assert view(self.root) == seen
        assert Graph(self.root).check() == []
        shutil.rmtree(self.root)


TestTwoWriters = TwoWriters.TestCase
TestTwoWriters.settings = settings(max_examples=30, stateful_step_count=15, deadline=None)
TestTwoWriters.pytestmark = [pytest.mark.slow]  # type: ignore[attr-defined]


INTERRUPTED_AT_ITS_END = """
import atexit, signal, sys
from nebula.graph.graph import Graph

Graph(sys.argv[1]).create_node("kept", "a")
atexit.register(sys.addaudithook, lambda event, _: event == "sqlite3.connect" and signal.raise_signal(signal.SIGINT))
"""


@pytest.mark.slow
def test_ctrl_c_while_a_process_ends_is_no_traceback(tmp_path: Path) -> None:
    told = subprocess.run(
        [sys.executable, "-c", INTERRUPTED_AT_ITS_END, tmp_path / "g"], capture_output=True, check=True
    )
    assert told.stderr == b""
    assert [node.prompt for node in Graph(tmp_path / "g").list_nodes()] == ["kept"]
