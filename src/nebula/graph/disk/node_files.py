"""Node files: the next free place, reading with a memory of what was read, the operations of a step."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from itertools import islice
from threading import Lock

from nebula.graph.disk import numbered_paths
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.files import Signature, is_settled
from nebula.graph.disk.index_file import IndexFile
from nebula.graph.disk.step import Put, Remove
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.formats.node_edit import edit_node
from nebula.graph.formats.node_xml import MAX_NODE_BYTES, dump_node, load_node
from nebula.graph.values import Node, Problem
from nebula.value import replace

FOLDER = "nodes"
INDEX = "nodes/index.tsv"
_REMEMBERED = 1024
_LARGE = 64 * 1024


class NodeFiles:
    def __init__(self, disk: DataFolder) -> None:
        self._disk = disk
        self._memory: OrderedDict[str, tuple[Signature, Node]] = OrderedDict()
        self._memory_lock = Lock()
        self.index_file = IndexFile(disk, INDEX, "xml")

    def create(self, path: str, node: Node) -> Put:
        return Put(f"{FOLDER}/{path}", dump_node(node))

    def change(self, path: str, node: Node) -> Put:
        return Put(f"{FOLDER}/{path}", edit_node(self.read_bytes(path), node, f"{FOLDER}/{path}"))

    def remove(self, path: str) -> Remove:
        return Remove(f"{FOLDER}/{path}")

    def read(self, path: str) -> Node:
        """Return the node at a path as the file says now. Raises NotFound or BadFile."""
        current = self._disk.signature(f"{FOLDER}/{path}")
        with self._memory_lock:
            known = self._memory.get(path)
            if known and known[0] == current:
                self._memory.move_to_end(path)
                return replace(known[1])
        data, found = self._read(path)
        node = load_node(data, f"{FOLDER}/{path}")
        if is_settled(found.changed_ns) and found.size <= _LARGE:
            self._remember(path, found, node)
        return node

    def _remember(self, path: str, found: Signature, node: Node) -> None:
        with self._memory_lock:
            self._memory[path] = (found, replace(node))
            self._memory.move_to_end(path)
            while len(self._memory) > _REMEMBERED:
                self._memory.popitem(last=False)

    def problems(self, last: int) -> list[Problem]:
        """Return what makes no sense in so many files, those that came last. Nothing is written down of it."""
        found = []
        for path in islice(self._last_first(), last):
            try:
                self.read(path)
            except NotFound:
                continue  # gone by now
            except BadFile as error:
                found.append(Problem("unreadable", f"{FOLDER}/{path}", error.reason))
        return sorted(found, key=lambda problem: problem.path)

    def _last_first(self) -> Iterator[str]:
        """Yield the paths by the time at which a file came to its place, the last first: a copy may carry any other."""
        changed = self._disk.folder_times(FOLDER)
        for folder in sorted(changed, key=changed.__getitem__, reverse=True):
            came = self._disk.change_times(f"{FOLDER}/{folder}")
            for name in sorted(came, key=came.__getitem__, reverse=True):
                if numbered_paths.is_path(f"{folder}/{name}", "xml"):
                    yield f"{folder}/{name}"

    def read_bytes(self, path: str) -> bytes:
        return self._read(path)[0]

    def _read(self, path: str) -> tuple[bytes, Signature]:
        try:
            return self._disk.load(f"{FOLDER}/{path}", MAX_NODE_BYTES)
        except FileNotFoundError:
            raise NotFound("no file {path}", path=f"{FOLDER}/{path}") from None
