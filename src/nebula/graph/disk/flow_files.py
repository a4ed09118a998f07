"""Flow files: found by name or id, kept in memory while unchanged, edited line by line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from typing import Final

from nebula.graph.disk import files
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.index_file import IndexFile
from nebula.graph.disk.numbered_paths import NumberedFolders
from nebula.graph.disk.step import Put, Remove
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.flows.topology import Topology
from nebula.graph.formats.flow_edit import edit
from nebula.graph.formats.flow_yaml import MAX_FLOW_BYTES, FlowFile, dump_flow, load_flow, read_claims, refuse_bad_text
from nebula.graph.ids import sort_key
from nebula.graph.values import DEFAULT_FLOW, Flow, Problem
from nebula.language import Sentence

FOLDER = "flows"
INDEX = "flows/index.tsv"
_HELD = 8
_HEAD_BYTES = 4096
NAMELESS: Final = Sentence("the flow has no name")
_ID = re.compile(r"[0-9a-fA-F-]{36}")


class Loaded:
    """A flow as of one moment. `path` is relative to `flows/`."""

    def __init__(self, path: str, signature: files.Signature, file: FlowFile) -> None:
        self.path = path
        self.signature = signature
        self.settled = files.is_settled(signature.changed_ns)
        self.file = file
        self._topology: Topology | None = None

    @property
    def flow(self) -> Flow:
        return self.file.flow

    @property
    def topology(self) -> Topology:
        if self._topology is None:
            self._topology = Topology(self.flow)
        return self._topology

    @property
    def is_nameless(self) -> bool:
        return not self.flow.name.strip()

    @property
    def is_new(self) -> bool:
        return self.signature == files.ABSENT

    def rewrite(self, flow: Flow, topology: Topology | None) -> None:
        """Make it say what `flow` says, in memory. What git brought with the line ends of Windows gets those of the
        repository back, rather than both."""
        file = self.file
        if "\r" in file.text and "\r\n" in file.text:  # one letter is found in a twentieth of the time
            file = load_flow(file.text.replace("\r\n", "\n").encode("utf-8"), self.path)
        self.file = edit(file, flow)
        self._topology = topology


class FlowFiles:
    """Called with the thread part of the store's lock held."""

    def __init__(self, disk: DataFolder) -> None:
        self._disk = disk
        self._folders = NumberedFolders(disk, FOLDER, "yaml")
        self._paths: list[str] = []
        self._loaded: dict[str, Loaded] = {}
        self._bad: dict[str, tuple[files.Signature, BadFile]] = {}
        self._found: dict[str, str] = {}
        """By name or id, where the last ones were: a look at a hundred flows costs as much as the rest of a turn."""
        self._held: dict[str, int] = {}
        self.index_file = IndexFile(disk, INDEX, "yaml")

    def paths(self) -> list[str]:
        """Return every flow file there is, in order of number."""
        found = self._folders.paths()
        if found != self._paths:
            self._paths = found
            self._found.clear()
        return found

    def load(self, path: str) -> Loaded:
        """Return the flow at a path as of now. Raises NotFound or BadFile."""
        current = self._disk.signature(f"{FOLDER}/{path}")
        known = self._loaded.get(path)
        if known and known.signature == current and (known.settled or path in self._held):
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
            if files.is_settled(found.changed_ns):
                self._bad[path] = (found, error)
            raise
        loaded = Loaded(path, found, file)
        self._loaded[path] = loaded
        return loaded

    def forget(self, path: str) -> None:
        self._loaded.pop(path, None)
        self._bad.pop(path, None)

    def all(self) -> list[Loaded]:
        """Return every readable flow in order of number."""
        return list(self._readable())

    def _readable(self) -> Iterator[Loaded]:
        return filter(None, map(self._load_if_good, self.paths()))

    def _load_if_good(self, path: str) -> Loaded | None:
        try:
            return self.load(path)
        except (BadFile, NotFound):
            return None

    def find(self, flow: str) -> Loaded | None:
        """By id, else by name; of several flows with one id the one changed last, of one name the first made. Raises
        BadFile where it may be in a file that cannot be read: that is not the same as having no such flow."""
        if flow in self._found:
            known = self._load_if_good(self._found[flow])
            if known and flow in (known.flow.id, known.flow.name):
                return known
        by_id: list[Loaded] = []
        by_name: Loaded | None = None
        for loaded in self._readable():
            if loaded.flow.id == flow:
                by_id.append(loaded)
            elif loaded.flow.name == flow and by_name is None:
                by_name = loaded
                if not _ID.fullmatch(flow):
                    break
        found = max(by_id, key=lambda loaded: sort_key(loaded.flow.updated)) if by_id else by_name
        if found is None:
            self._refuse_unreadable(flow)
            return None
        self._found[flow] = found.path
        return found

    def unreadable(self) -> dict[str, BadFile]:
        """Return the files that cannot be read, by path."""
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
            head = self._disk.head(f"{FOLDER}/{path}", _HEAD_BYTES).decode("utf-8", "replace")
            claims = read_claims(head)
            is_nameless = all(key != "name" for key, _ in claims)
            if {("id", flow), ("name", flow)} & claims or (is_nameless and flow == DEFAULT_FLOW):
                raise error

    def refuse_nameless(self) -> None:
        """Raise BadFile where a flow has no name: it may be the one that is looked for."""
        for loaded in self._readable():
            if loaded.is_nameless:
                path = f"{FOLDER}/{loaded.path}"
                raise BadFile(path, NAMELESS)

    def get(self, flow: str) -> Loaded:
        found = self.find(flow)
        if found is None:
            raise NotFound("no flow {flow}", flow=repr(flow))
        return found

    def with_node(self, node_id: str) -> list[Loaded]:
        """Return the flows a node is in, in order of number. Files are searched for the id before they are read."""
        wanted = re.compile(re.escape(node_id.encode("utf-8", "replace")))
        found = []
        for path in self.paths():
            known = self._loaded.get(path)
            if known is None:
                data = self._disk.read(f"{FOLDER}/{path}", MAX_FLOW_BYTES)
                if data is None or not wanted.search(data):
                    continue
            loaded = self._load_if_good(path)
            if loaded and node_id in loaded.topology.index_of:
                found.append(loaded)
        return found

    def draft(self, flow: Flow, step: int, taken: Sequence[str] = ()) -> Loaded:
        """Return a new flow that is not written yet."""
        file = load_flow(dump_flow(flow).encode("utf-8"), flow.name)
        return Loaded(self.index_file.free_path(step, taken), files.ABSENT, file)

    def removal(self, loaded: Loaded) -> Remove:
        """Return how to remove a flow."""
        return Remove(f"{FOLDER}/{loaded.path}")

    def replacement(self, loaded: Loaded, flow: Flow, topology: Topology | None = None) -> Put:
        """Make `loaded` say what `flow` says, in memory, and return how to make it last."""
        refuse_bad_text(flow)
        loaded.rewrite(flow, topology)
        return Put(f"{FOLDER}/{loaded.path}", loaded.file.text.encode("utf-8"))

    def written(self, loaded: Loaded) -> None:
        """Remember what a step has just written, and add a new flow to the index."""
        if loaded.is_new:
            self.index_file.append(loaded.path, loaded.flow.id, loaded.flow.created)
        current = self._disk.signature(f"{FOLDER}/{loaded.path}")
        if current is None:
            self.forget(loaded.path)
            return
        loaded.signature, loaded.settled = current, False
        self._loaded[loaded.path] = loaded
        self._hold(loaded.path)

    def _hold(self, path: str) -> None:
        """Hold the files open that were written last. While one is, no other file can have its inode: whoever replaces
        it shows, even within one tick of the clock, and it need not be read again for the next turn."""
        self._let_go(path)
        self._held[path] = self._disk.open(f"{FOLDER}/{path}")
        if len(self._held) > _HELD:
            self._let_go(next(iter(self._held)))

    def _let_go(self, path: str) -> None:
        handle = self._held.pop(path, -1)
        if handle >= 0:
            os.close(handle)

    def close(self) -> None:
        for path in list(self._held):
            self._let_go(path)

    def problems(self) -> list[Problem]:
        """Return the flow files that cannot be read, and what in the others makes no sense."""
        bad = self.unreadable()
        found = [Problem("unreadable", f"{FOLDER}/{path}", error.reason) for path, error in bad.items()]
        for loaded in self.all():
            found += [Problem("edge", f"{FOLDER}/{loaded.path}", remark) for remark in loaded.file.remarks]
            if loaded.is_nameless:
                found.append(Problem("nameless", f"{FOLDER}/{loaded.path}", NAMELESS))
        return found
