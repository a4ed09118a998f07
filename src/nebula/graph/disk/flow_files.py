"""Flow files: found by name or id, kept in memory while unchanged, edited line by line."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator, Sequence

from nebula.graph.disk import files
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.index_file import IndexFile
from nebula.graph.disk.journal import Extend, Put, Remove, checksum
from nebula.graph.disk.numbered_folders import NumberedFolders
from nebula.graph.errors import BadFile, CycleError, NotFound
from nebula.graph.flows.topology import Topology, extend
from nebula.graph.formats import tsv
from nebula.graph.formats.flow_edit import edit
from nebula.graph.formats.flow_yaml import (
    HEAD_BYTES,
    MAX_FLOW_BYTES,
    FlowFile,
    dump_flow,
    load_flow,
    load_head,
    refuse_bad_text,
)
from nebula.graph.formats.xml_text import refuse_surrogates
from nebula.graph.ids import now, sort_key
from nebula.graph.values import DEFAULT_FLOW, Connection, Edge, Flow, FlowEntry, Problem
from nebula.language import Sentence
from nebula.value import replace

FOLDER = "flows"
INDEX = "flows/index.tsv"
LONG = 4 * 1024
"""Bytes from which on additions to a flow go to the journal first and reach its file a moment later."""
_ID = re.compile(r"[0-9a-fA-F-]{36}")
_CLAIM = re.compile(r"^(id|name)[ \t]*:(.+)$", re.MULTILINE)
"""What a broken file still says of which flow it is."""


class Loaded:
    """A flow as of one moment: what its file says and what the journal adds. `path` is relative to `flows/`."""

    def __init__(self, path: str, signature: files.Signature, file: FlowFile) -> None:
        self.path = path
        self.signature = signature
        self.settled = files.is_settled(signature.mtime_ns)
        self.file = file
        self.topology = Topology(file.flow)
        self.epoch = -1
        """Of the journal, when it was last looked at."""
        self.foreign = -1
        self.applied = 0
        """How many of the journal's additions of that epoch are in."""
        self.entries: list[FlowEntry] = []
        self.edges: list[Edge] = []
        self.updated = ""
        self.composed: Flow | None = None

    @property
    def flow(self) -> Flow:
        flow = self.file.flow
        if not self.entries and not self.edges:
            return flow
        if self.composed is None:
            entries, edges = flow.entries + tuple(self.entries), flow.edges + tuple(self.edges)
            self.composed = replace(flow, entries=entries, edges=edges, updated=self.updated)
        return self.composed

    @property
    def is_new(self) -> bool:
        return self.signature == files.ABSENT

    def add(self, nodes: Iterable[str], connections: Iterable[Connection], updated: str) -> bool:
        """Takes in additions, in memory only; False when all were there already. Raises CycleError: the flow must
        then be loaded again."""
        entries, edges = extend(self.file.flow.name, self.topology, nodes, connections)
        if entries or edges:
            self.entries += entries
            self.edges += edges
            self.updated = updated
            self.composed = None
        return bool(entries or edges)


class FlowFiles:
    """Called with the thread part of the store's lock held."""

    def __init__(self, disk: DataFolder) -> None:
        self._disk = disk
        self._folders = NumberedFolders(disk, FOLDER, "yaml")
        self._paths: list[str] = []
        self._loaded: dict[str, Loaded] = {}
        self._heads: dict[str, tuple[files.Signature, Flow]] = {}
        self._bad: dict[str, tuple[files.Signature, BadFile]] = {}
        self._found: dict[str, str] = {}
        self.index_file = IndexFile(disk, INDEX, "yaml")
        disk.write_extended = self._write_extended

    def paths(self) -> list[str]:
        """Every flow file there is, in order of number."""
        if self._folders.look():
            self._paths = self._folders.paths()
            self._found.clear()
        return self._paths

    def load(self, path: str) -> Loaded:
        """The flow at a path as of now. Raises NotFound or BadFile."""
        journal = self._disk.journal
        for _ in range(100):
            epoch = journal.mark().epoch
            known = self._from_file(path)
            additions = journal.extended().get(f"{FOLDER}/{path}", [])
            if journal.mark().epoch != epoch:
                continue  # a checkpoint came between file and journal
            if known.epoch != epoch and (known.entries or known.edges):
                self.forget(path)  # what was added belonged to a journal that is over, and may have been taken back
                continue
            self._take_in(known, additions[known.applied if known.epoch == epoch else 0 :])
            known.epoch, known.foreign, known.applied = epoch, journal.foreign, len(additions)
            return known
        where = f"{FOLDER}/{path}"
        raise BadFile(where, Sentence("changes faster than it can be read"))

    def _from_file(self, path: str) -> Loaded:
        current = self._disk.signature(f"{FOLDER}/{path}")
        known = self._loaded.get(path)
        if known and known.signature == current and (known.settled or known.foreign == self._disk.journal.foreign):
            return known
        bad = self._bad.get(path)
        if bad and bad[0] == current:
            raise bad[1]
        self.forget(path)
        try:
            data, found = self._disk.load(f"{FOLDER}/{path}", MAX_FLOW_BYTES)
        except FileNotFoundError:
            raise NotFound("no file {path}", path=f"{FOLDER}/{path}") from None
        try:
            file = load_flow(data, f"{FOLDER}/{path}")
        except BadFile as error:
            if files.is_settled(found.mtime_ns):
                self._bad[path] = (found, error)
            raise
        loaded = Loaded(path, found, file)
        self._loaded[path] = loaded
        return loaded

    def _take_in(self, known: Loaded, additions: Sequence[Extend]) -> None:
        for addition in additions:
            try:
                known.add(addition.nodes, addition.connections, addition.updated)
            except CycleError:
                # Somebody turned an edge round in the file since; the file wins.
                known.topology = Topology(known.flow)

    def forget(self, path: str) -> None:
        self._loaded.pop(path, None)
        self._bad.pop(path, None)

    def all(self) -> list[Loaded]:
        """Every readable flow in order of number."""
        return [loaded for path in self.paths() if (loaded := self._load_if_good(path))]

    def _load_if_good(self, path: str) -> Loaded | None:
        try:
            return self.load(path)
        except (BadFile, NotFound):
            return None

    def heads(self) -> Iterator[tuple[str, Flow]]:
        """Path and head (no nodes, no connections) of every readable flow, without reading the long part."""
        for path in self.paths():
            head = self._head(path)
            if head:
                yield path, head

    def _head(self, path: str) -> Flow | None:
        current = self._disk.signature(f"{FOLDER}/{path}")
        known = self._heads.get(path)
        if current is None:
            return None
        if known and known[0] == current and files.is_settled(current.mtime_ns):
            return known[1]
        loaded = self._loaded.get(path)
        if loaded and loaded.signature == current:
            return replace(loaded.file.flow, entries=(), edges=())
        head = load_head(self._disk.head(f"{FOLDER}/{path}", HEAD_BYTES))
        if head is None:
            loaded = self._load_if_good(path)
            head = replace(loaded.file.flow, entries=(), edges=()) if loaded else None
        if head is not None:
            self._heads[path] = (current, head)
        return head

    def find(self, flow: str) -> Loaded | None:
        """By id, else by name; of several flows with one id the one changed last, of one name the first made. Raises
        BadFile where it may be in a file that cannot be read: that is not the same as having no such flow."""
        if flow in self._found:
            known = self._load_if_good(self._found[flow])
            if known and flow in (known.file.flow.id, known.file.flow.name):
                return known
        by_id: list[tuple[str, Flow]] = []
        by_name: str | None = None
        for path, head in self.heads():
            if head.id == flow:
                by_id.append((path, head))
            elif head.name == flow and by_name is None:
                by_name = path
                if not _ID.fullmatch(flow):
                    break
        found = max(by_id, key=lambda item: sort_key(item[1].updated))[0] if by_id else by_name
        if found is None:
            self._refuse_unreadable(flow)
            return None
        self._found[flow] = found
        return self._load_if_good(found)

    def unreadable(self) -> dict[str, BadFile]:
        """The files that cannot be read, by path."""
        found = {}
        for path in self.paths():
            try:
                self.load(path)
            except BadFile as error:
                found[path] = error
            except NotFound:
                continue
        return found

    def _refuse_unreadable(self, flow: str) -> None:
        for path, error in self.unreadable().items():
            head = self._disk.head(f"{FOLDER}/{path}", HEAD_BYTES).decode("utf-8", "replace")
            claims = {(key, text.strip("\"' \r")) for key, text in _CLAIM.findall(head)}
            is_nameless = all(key != "name" for key, _ in claims)
            if {("id", flow), ("name", flow)} & claims or (is_nameless and flow == DEFAULT_FLOW):
                raise error

    def get(self, flow: str) -> Loaded:
        found = self.find(flow)
        if found is None:
            raise NotFound("no flow {flow}", flow=repr(flow))
        return found

    def with_node(self, node_id: str) -> list[Loaded]:
        """The flows a node is in, in order of number. Files are searched for the id before they are read."""
        wanted = re.compile(re.escape(node_id.encode("utf-8")))
        found = []
        for path in self.paths():
            known = self._loaded.get(path)
            if known is None and not self._is_extended(path):
                data = self._disk.read(f"{FOLDER}/{path}", MAX_FLOW_BYTES)
                if data is None or not wanted.search(data):
                    continue
            loaded = self._load_if_good(path)
            if loaded and node_id in loaded.topology.index_of:
                found.append(loaded)
        return found

    def draft(self, flow: Flow, step: int, taken: Container[str] = ()) -> Loaded:
        """A new flow that is not written yet."""
        file = load_flow(dump_flow(flow).encode("utf-8"), flow.name)
        return Loaded(self.index_file.free_path(step, taken), files.ABSENT, file)

    def removal(self, loaded: Loaded) -> Remove:
        """Says how to remove a flow. Lock held."""
        if self._is_extended(loaded.path):
            self._disk.flush()
        return Remove(f"{FOLDER}/{loaded.path}", checksum(loaded.file.text.encode("utf-8")))

    def unindex(self, paths: Sequence[str]) -> None:
        """Takes flows that are gone out of the index."""
        data = self._disk.read(INDEX) if paths else None
        if data is not None:
            self._disk.replace(INDEX, tsv.without(data, set(paths)))

    def extension(
        self, loaded: Loaded, nodes: Sequence[str], connections: Sequence[Connection], moment: str
    ) -> Put | Extend | None:
        """Adds to a flow in memory and says how to make it last; None when everything was there already."""
        for connection in connections:
            refuse_surrogates(connection.branch or "", "the branch name")
        try:
            if not loaded.add(nodes, connections, moment) and not loaded.is_new:
                return None
        except CycleError:
            self.forget(loaded.path)
            raise
        if loaded.signature.size >= LONG or self._is_extended(loaded.path):
            return Extend(f"{FOLDER}/{loaded.path}", tuple(nodes), tuple(connections), moment)
        return self._rewritten(loaded, replace(loaded.flow, updated=moment))

    def replacement(self, loaded: Loaded, flow: Flow) -> Put:
        """Makes `loaded` say what `flow` says, in memory, and says how to make it last. Lock held."""
        if self._is_extended(loaded.path):
            # Additions recorded earlier must be in the file before it is replaced, or they would come back over it.
            self._disk.flush()
        put = self._rewritten(loaded, replace(flow, updated=now()))
        loaded.topology = Topology(loaded.file.flow)
        return put

    def _is_extended(self, path: str) -> bool:
        return f"{FOLDER}/{path}" in self._disk.journal.extended()

    def _rewritten(self, loaded: Loaded, flow: Flow) -> Put:
        refuse_bad_text(flow)
        before = -1 if loaded.is_new else checksum(loaded.file.text.encode("utf-8"))
        loaded.file = edit(loaded.file, flow)
        loaded.entries, loaded.edges = [], []
        return Put(f"{FOLDER}/{loaded.path}", loaded.file.text.encode("utf-8"), before)

    def written(self, loaded: Loaded, change: Put | Extend | None = None) -> None:
        """Remembers what a step has just written, and adds a new flow to the index."""
        if isinstance(change, Extend):
            loaded.applied += 1
            return
        if loaded.is_new:
            self.index(loaded)
        current = self._disk.signature(f"{FOLDER}/{loaded.path}")
        if current is None:
            self.forget(loaded.path)
            return
        loaded.signature, loaded.settled = current, False
        loaded.epoch, loaded.foreign = self._disk.journal.mark().epoch, self._disk.journal.foreign
        loaded.applied = len(self._disk.journal.extended().get(f"{FOLDER}/{loaded.path}", []))
        self._loaded[loaded.path] = loaded

    def index(self, loaded: Loaded) -> None:
        flow = loaded.file.flow
        self.index_file.append(loaded.path, flow.id, flow.created)

    def close(self) -> None:
        self.index_file.close()

    def _write_extended(self, paths: set[str]) -> None:
        """Writes what the journal adds into the flows' files; lock held. Raises BadFile: the additions then stay in
        the journal until somebody has repaired the file."""
        for path in paths:
            relative = path.removeprefix(f"{FOLDER}/")
            try:
                loaded = self.load(relative)
            except NotFound:
                continue
            if loaded.entries or loaded.edges:
                # Flushed before it replaces the old one: the journal holds what was added, but not the rest.
                self._disk.replace(path, self._rewritten(loaded, loaded.flow).data, durable=True)
                self.written(loaded)

    def problems(self) -> list[Problem]:
        """The flow files that cannot be read, and what in the others makes no sense."""
        bad = self.unreadable()
        found = [Problem("unreadable", f"{FOLDER}/{path}", error.reason) for path, error in bad.items()]
        for loaded in self.all():
            found += [Problem("edge", f"{FOLDER}/{loaded.path}", remark) for remark in loaded.file.remarks]
        return found
