"""Flow files: found by name or id, kept in memory while unchanged, edited line by line."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

from . import files, layout, tsv
from .disk import Disk
from .errors import BadFile, NotFound
from .flow_edit import edit
from .flow_yaml import MAX_FLOW_BYTES, FlowFile, dump_flow, load_flow
from .flows import Topology
from .folders import Folders
from .journal import Put, Remove, checksum
from .stamps import new_id, now, sort_key
from .values import Flow, Problem

FOLDER = "flows"
INDEX = "flows/index.tsv"


@dataclass(slots=True)
class Loaded:
    """A flow as read at one moment. `path` is relative to `flows/`."""

    path: str
    signature: files.Signature
    file: FlowFile
    topology: Topology
    mark: object = None
    settled: bool = False

    @property
    def flow(self) -> Flow:
        return self.file.flow


class FlowStore:
    """Not thread-safe by itself: `Graph` calls it with its own lock held."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._folders = Folders(disk.path(FOLDER), "yaml")
        self._paths: list[str] = []
        self._loaded: dict[str, Loaded] = {}
        self._bad: dict[str, tuple[files.Signature, BadFile]] = {}
        self._found: dict[str, str] = {}

    def paths(self) -> list[str]:
        """Every flow file there is, in order of number."""
        if self._folders.look():
            self._paths = self._folders.paths()
            self._found.clear()
        return self._paths

    def load(self, path: str) -> Loaded:
        """The flow at a path as the file says now. Raises NotFound or BadFile."""
        full = self._disk.path(FOLDER, path)
        current = files.signature(full)
        known = self._loaded.get(path)
        if known and known.signature == current and (known.settled or known.mark == self._mark()):
            return known
        bad = self._bad.get(path)
        if bad and bad[0] == current:
            raise bad[1]
        self.forget(path)
        try:
            data, found = files.read_file(full, MAX_FLOW_BYTES)
        except FileNotFoundError:
            raise NotFound(f"no file {FOLDER}/{path}") from None
        try:
            file = load_flow(data, f"{FOLDER}/{path}")
        except BadFile as error:
            self._bad[path] = (found, error)
            raise
        loaded = Loaded(path, found, file, Topology(file.flow), self._mark(), files.is_settled(found.mtime_ns))
        self._loaded[path] = loaded
        return loaded

    def _mark(self) -> object:
        """Changes with every step of any process; None where there is no journal to ask."""
        return self._disk.mark()

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

    def problems(self) -> list[Problem]:
        """The flow files that cannot be read."""
        found = []
        for path in self.paths():
            try:
                self.load(path)
            except (BadFile, NotFound) as error:
                found.append(Problem("unreadable", f"{FOLDER}/{path}", str(error)))
        return found

    def find(self, flow: str) -> Loaded | None:
        """By id, else by name; of several flows with one id the one changed last, of one name the first made."""
        paths = self.paths()
        known = self._load_if_good(self._found[flow]) if flow in self._found else None
        if known and flow in (known.flow.id, known.flow.name):
            return known
        loaded = [item for path in paths if (item := self._load_if_good(path))]
        by_id = [item for item in loaded if item.flow.id == flow]
        by_name = [item for item in loaded if item.flow.name == flow]
        if not by_id and not by_name:
            return None
        found = max(by_id, key=lambda item: sort_key(item.flow.updated)) if by_id else by_name[0]
        self._found[flow] = found.path
        return found

    def get(self, flow: str) -> Loaded:
        found = self.find(flow)
        if found is None:
            raise NotFound(f"no flow {flow!r}")
        return found

    def free_path(self, step: int) -> str:
        last = tsv.last(self._disk.path(INDEX), "yaml")
        number = layout.number_of(last.path, step) + 1 if last else 0
        while os.path.lexists(self._disk.path(FOLDER, layout.path_of(number, step, "yaml"))):
            number += 1
        return layout.path_of(number, step, "yaml")

    def draft(self, name: str, description: str, step: int) -> Loaded:
        """A new flow that is not written yet."""
        moment = now()
        flow = Flow(new_id(), name, moment, moment, description)
        file = load_flow(dump_flow(flow).encode("utf-8"), name)
        return Loaded(self.free_path(step), files.Signature(0, -1, 0), file, Topology(flow))

    def change(self, loaded: Loaded, flow: Flow) -> tuple[Loaded, Put]:
        """The loaded flow changed to `flow` with a fresh `updated`, and the operation that writes it."""
        flow = replace(flow, updated=now())
        old = loaded.file.text.encode("utf-8")
        file = edit(loaded.file, flow)
        topology = loaded.topology if len(file.flow.edges) >= len(loaded.flow.edges) else Topology(file.flow)
        changed = Loaded(loaded.path, loaded.signature, file, topology)
        before = -1 if loaded.signature.size < 0 else checksum(old)
        return changed, Put(f"{FOLDER}/{loaded.path}", file.text.encode("utf-8"), before)

    def written(self, changed: Loaded) -> None:
        """Remembers what a step has just written, and adds a new flow to the index."""
        if changed.signature.size < 0:
            line = tsv.Line(changed.path, changed.flow.id, changed.flow.created)
            tsv.append(self._disk.path(INDEX), [line])
        current = files.signature(self._disk.path(FOLDER, changed.path))
        if current:
            changed.signature, changed.mark = current, self._mark()
            self._loaded[changed.path] = changed

    def remove(self, loaded: Loaded) -> Remove:
        return Remove(f"{FOLDER}/{loaded.path}", checksum(loaded.file.text.encode("utf-8")))
