"""The parts of a data folder put together: what a change has to do, in which order, and what may wait."""

from __future__ import annotations

import atexit
import contextlib
import os
import threading
from collections.abc import Iterable, Iterator

from nebula.files.descriptors import naming
from nebula.graph import events
from nebula.graph.derived.metadata import Metadata
from nebula.graph.derived.node_cache import NodeCache
from nebula.graph.derived.node_index import NodeIndex
from nebula.graph.disk.data_folder import DataFolder
from nebula.graph.disk.flow_files import INDEX as FLOW_INDEX
from nebula.graph.disk.flow_files import FlowFiles, Loaded
from nebula.graph.disk.node_files import FOLDER as NODES
from nebula.graph.disk.node_files import INDEX as NODE_INDEX
from nebula.graph.disk.node_files import NodeFiles
from nebula.graph.disk.settings import SettingsFile
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.flows.change import GraphChange
from nebula.graph.flows.topology import new_flow
from nebula.graph.formats.config_yaml import FILE as SETTINGS
from nebula.graph.housekeeping import Housekeeper
from nebula.graph.values import DEFAULT_FLOW, Node, Problem

_TIDY_AFTER = 1.0


class Recorded(threading.local):
    """The inverses of the changes that a thread makes, while it collects them."""

    inverses: list[GraphChange] | None = None


class GraphStore:
    """Everything `Graph` needs to carry out its calls. A folder is opened by the first use, not before."""

    def __init__(self, root: str) -> None:
        self.disk = DataFolder(root)
        self.settings = SettingsFile(self.disk)
        self.nodes = NodeFiles(self.disk)
        self.flows = FlowFiles(self.disk)
        self.node_cache = NodeCache(self.disk, self.nodes, lambda: self._housekeeper.wake())
        self.node_index = NodeIndex(self.disk, self.nodes, self.node_cache)
        self.metadata = Metadata(self.disk, self.node_cache)
        self.events = events.Events()
        self.recorded = Recorded()
        self._housekeeper = Housekeeper(self._tidy, idle=_TIDY_AFTER)
        self.disk.finish_step = self._finish_step
        self._is_ready = False
        self._scan_wanted = False
        self._has_settings = False

    # Reading

    @contextlib.contextmanager
    def reading(self) -> Iterator[None]:
        """Keep other threads of this process off what is kept in memory."""
        with self.disk.lock.threads:
            if self.disk.look():
                self._is_ready = False
            self._make_ready()
            yield

    def _make_ready(self) -> None:
        """Finish what a crash left undone, before anything is read or written."""
        if self._is_ready:
            return
        self._is_ready = True
        if self.disk.step_file.is_there() and self.disk.can_write():
            with self.disk.exclusive():
                pass  # taking the lock finishes the step

    def _finish_step(self) -> None:
        """The files are as they should be then; their lines in the indexes and their place in the metadata may not
        be."""
        for path in self.disk.redo_step():
            kind, _, relative = path.partition("/")
            with contextlib.suppress(BadFile):  # it is among the problems
                (self._index_node if kind == NODES else self._index_flow)(relative)

    def _index_node(self, path: str) -> None:
        try:
            node = self.nodes.read(path)
        except NotFound:
            self.mark_changed([path])
            return
        self.nodes.index_file.ensure(path, node.id, node.timestamp)
        self.metadata.mark_old()

    def _index_flow(self, path: str) -> None:
        with contextlib.suppress(NotFound):
            flow = self.flows.load(path).flow
            self.flows.index_file.ensure(path, flow.id, flow.created)

    def mark_changed(self, gone: list[str]) -> None:
        """Say that metadata must be written anew, and take nodes that are gone out of the index."""
        self.nodes.index_file.remove(gone)
        self.metadata.mark_old()

    def path_of(self, node_id: str) -> str:
        return self.paths_of(node_id)[0]

    def paths_of(self, node_id: str) -> list[str]:
        """Return files with that id, the one that counts first (seed §4.4). Raises NotFound."""
        paths = self.node_index.locate(node_id)
        if not paths:
            raise NotFound("no node {node_id}", node_id=node_id)
        return paths

    def read(self, node_id: str, path: str = "") -> Node:
        """Return the node as its file says now; `path` is where that probably is. Raises NotFound, or BadFile when the
        file cannot be read."""
        for attempt in range(3):
            if attempt or not path:
                path = self.path_of(node_id)
            try:
                node = self.nodes.read(path)
            except NotFound:
                node = None
            if node is not None and node.id == node_id:
                return node
            # Moved, removed or renumbered by somebody else.
            self.node_cache.reread([path])
        raise NotFound("no node {node_id}", node_id=node_id)

    def require(self, node_ids: Iterable[str], loaded: Loaded | None = None) -> None:
        """Raise NotFound unless all are nodes; those in the flow at hand are known to be."""
        for node_id in node_ids:
            if loaded is None or node_id not in loaded.topology.index_of:
                self.path_of(node_id)

    def flow_with(self, node_id: str, flow: str | None) -> Loaded | None:
        """Return the flow asked for, else the one the node is in: `main` first, then by number."""
        if flow is not None:
            return self.flows.get(flow)
        try:
            main = self.flows.find(DEFAULT_FLOW)
        except BadFile:  # it is among the problems; the node may be in another one
            main = None
        if main and node_id in main.topology.index_of:
            return main
        return next(iter(self.flows.with_node(node_id)), None)

    # Writing

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Hold the lock; what happened inside is reported to the subscribers afterwards."""
        with naming(self.disk.root):
            self.disk.prepare()
            try:
                with self.disk.exclusive():
                    self._make_ready()
                    if not self._has_settings:
                        self.settings.ensure()
                        self._has_settings = True
                    yield
            finally:
                self.node_cache.look_soon()
                self._housekeeper.wake()
                _open_stores.add(self)
                self.events.publish()

    @property
    def step(self) -> int:
        return self.settings.read().max_files_per_folder

    def flow_for_writing(self, flow: str) -> Loaded:
        """Return the flow, or a draft of `main` where there is none yet."""
        found = self.flows.find(flow)
        if found:
            return found
        if flow == DEFAULT_FLOW:
            self.flows.refuse_nameless()
            return self.flows.draft(new_flow(flow), self.step)
        raise NotFound("no flow {flow}", flow=repr(flow))

    def problems(self) -> list[Problem]:
        """Return what is odd about the folder itself: settings that make no sense, something in the place of an
        index."""
        self.settings.read()
        found = [(SETTINGS, self.settings.problem)] if self.settings.problem else []
        for path, index_file in ((NODE_INDEX, self.nodes.index_file), (FLOW_INDEX, self.flows.index_file)):
            try:
                os.close(index_file.open())
            except FileNotFoundError:
                continue
            except BadFile as error:
                found.append((path, error.reason))
        return [Problem("unreadable", path, reason) for path, reason in found]

    # What may wait

    def want_reading(self) -> None:
        """Call for the reading of nodes that are not read yet; one that is under way goes on."""
        self._housekeeper.call()

    def want_scan(self) -> None:
        if not self._scan_wanted:
            self._scan_wanted = True
            self._housekeeper.wake()

    def _tidy(self) -> None:
        """Bring the derived files in step, a little at a time; what an odd file keeps from it is among `problems`, and
        what a full disk does is left for later."""
        with contextlib.suppress(BadFile, OSError):
            self.nodes.index_file.sync()
            self.flows.index_file.sync()
            self.node_cache.refresh(self._housekeeper.is_stopping)
            if self._scan_wanted:
                self._scan_wanted = False
                self.node_cache.scan()
            while not self._housekeeper.should_make_way() and self.node_cache.read_some():
                pass
            if self.disk.can_write() and not self._housekeeper.should_make_way():
                self._write_metadata()

    def close(self) -> None:
        """Bring everything to rest. The store opens again by itself when it is used after that."""
        try:
            self._housekeeper.stop()
            if self.disk.can_write():
                with contextlib.suppress(BadFile, OSError):  # as in `_tidy`: what was changed is on the disk
                    self._write_metadata()
        finally:
            self.node_cache.close()
            self.flows.close()
            self.disk.close()
            _open_stores.discard(self)
            self._is_ready = False

    def _write_metadata(self) -> None:
        if self.metadata.is_old() and self.metadata.is_worth_waiting_for():
            self.metadata.rewrite()


_open_stores: set[GraphStore] = set()
"""Kept until they are closed: one that nobody holds any more has descriptors and work to do all the same."""


@atexit.register
def _close_all() -> None:
    for store in list(_open_stores):
        # All that was acknowledged is on the disk, and nobody is left to report to, nor to be stopped by Ctrl-C.
        with contextlib.suppress(OSError, BadFile, KeyboardInterrupt):
            store.close()
