"""What an earlier version left in its journal is not lost by an update."""

from __future__ import annotations

import json
import shutil
import struct
import zlib
from pathlib import Path

import pytest

from nebula.graph.disk.step import checksum
from nebula.graph.graph import Graph

EPOCH = 7


def write_journal(root: Path, *steps: tuple[list[list[object]], bytes], aside: bool = False) -> None:
    """As the version before wrote it: records with a line of JSON and the contents of files."""
    records = b""
    for number, (rows, contents) in enumerate(steps):
        payload = json.dumps(["boot", rows]).encode("ascii") + b"\n" + contents
        if aside:
            name = f"step-{number:016x}"
            (root / ".state" / name).write_bytes(payload)
            payload = f"{name} {zlib.crc32(payload)}\n".encode("ascii")
        records += struct.pack("<4sQIII", b"step", EPOCH, number, len(payload), zlib.crc32(payload)) + payload
    half = 1024 * 1024
    data = struct.pack("<8sQ", b"graphjn2", EPOCH).ljust(4096, b"\0") + bytes(half) + records.ljust(half, b"\0")
    (root / ".state/journal").write_bytes(data)


@pytest.mark.parametrize("aside", [False, True])
def test_additions_to_a_flow_and_files_that_a_power_cut_emptied_come_back(tmp_path: Path, aside: bool) -> None:
    with Graph(tmp_path) as graph:
        a = graph.create_node("a").id
        flow = (tmp_path / "flows/000/000.yaml").read_bytes()
        b, c = graph.create_node("b", parents=[a]).id, graph.create_node("c", parents=[a]).id
    node = tmp_path / "nodes/000/002.xml"
    contents = node.read_bytes()
    node.write_bytes(b"")
    (tmp_path / "flows/000/000.yaml").write_bytes(flow)
    write_journal(
        tmp_path,
        ([["extend", "flows/000/000.yaml", [b], [[a, b, None]], "2026-01-01T00:00:00+00:00"]], b""),
        (
            [
                ["put", "nodes/000/002.xml", -1, len(contents)],
                ["extend", "flows/000/000.yaml", [c], [[a, c, "try"]], "2026-01-01T00:00:00+00:00"],
            ],
            contents,
        ),
        aside=aside,
    )
    shutil.copytree(tmp_path / ".state", tmp_path / "kept")
    for _ in range(2):  # killed before it was removed: taken over once more, and nothing is there twice
        with Graph(tmp_path) as graph:
            found = graph.get_flow()
            assert found.nodes == [a, b, c]
            assert [(each.source, each.target, each.branch) for each in found.connections] == [
                (a, b, None),
                (a, c, "try"),
            ]
            assert graph.get_node(c).prompt == "c"
            assert graph.check() == []
        assert sorted(path.name for path in (tmp_path / ".state").iterdir()) == ["lock", "step"]
        shutil.copytree(tmp_path / "kept", tmp_path / ".state", dirs_exist_ok=True)


def test_what_was_edited_since_is_left_alone_and_what_was_to_go_goes(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        graph.create_node("a")
        graph.create_node("b")
        graph.remove_node_from_flow("main", graph.create_node("c").id)
    first, third = tmp_path / "nodes/000/000.xml", tmp_path / "nodes/000/002.xml"
    written = first.read_bytes()
    first.write_bytes(written.replace(b"\na\n", b"\nby hand\n"))
    write_journal(
        tmp_path,
        ([["put", "nodes/000/000.xml", -1, len(written)]], written),
        ([["remove", "nodes/000/002.xml", checksum(third.read_bytes())]], b""),
    )
    with Graph(tmp_path) as graph:
        assert {node.prompt for node in graph.list_nodes()} == {"by hand", "b"}
        assert graph.check() == []


@pytest.mark.parametrize("path", ["../stolen", "nodes/index.tsv", ".git/config"])
def test_a_journal_from_a_stranger_writes_nothing(tmp_path: Path, path: str) -> None:
    with Graph(tmp_path / "data") as graph:
        graph.create_node("a")
    write_journal(tmp_path / "data", ([["put", path, -1, 4]], b"evil"))
    with Graph(tmp_path / "data") as graph:
        assert len(graph.list_nodes()) == 1
    assert not (tmp_path / "stolen").exists()
    assert not (tmp_path / "data/.state/journal").exists()


def test_a_flow_that_cannot_be_read_keeps_the_journal(tmp_path: Path) -> None:
    with Graph(tmp_path) as graph:
        a = graph.create_node("a").id
        b = graph.create_node("b").id
        graph.remove_node_from_flow("main", b)
    path = tmp_path / "flows/000/000.yaml"
    good = path.read_bytes()
    path.write_bytes(b"id: [\n")
    write_journal(tmp_path, ([["extend", "flows/000/000.yaml", [b], [[a, b, None]], ""]], b""))
    with Graph(tmp_path) as graph:
        assert len(graph.list_nodes()) == 2
    path.write_bytes(good)
    with Graph(tmp_path) as graph:
        assert graph.get_flow().nodes == [a, b]
