"""The graph as a library: every call a program or a front door may make.

    graph = Graph("project/.nebula/graph")
    first = graph.create_node("question", "answer")
    second = graph.create_node("and then?", "this", parents=[first.id])
    graph.get_history(second.id)        # [first, second]

Synchronous, safe to use from several threads and processes at once. What a call has returned is on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from types import TracebackType

from . import events
from .catalog import Catalog
from .chain_map import draw_map
from .disk import Disk
from .errors import BadFile, NotFound
from .flow_store import FlowStore, Loaded
from .flows import extend, history, rebuilt, without_connection, without_node
from .journal import Operation
from .node_store import NodeStore
from .settings import Settings, SettingsFile
from .stamps import new_id, now
from .tally import measured, with_text
from .values import DEFAULT_FLOW, Connection, FileState, Flow, Node, Text, Usage, clean_tags

DEFAULT_DIR = os.path.join(".nebula", "graph")


class Graph:
    """A data folder in the seed's layout. Opening one reads nothing; a folder that is not there is made by the
    first write."""

    def __init__(self, data_dir: str | os.PathLike[str] = DEFAULT_DIR) -> None:
        self._disk = Disk(os.fspath(data_dir))
        self._settings = SettingsFile(self._disk)
        self._nodes = NodeStore(self._disk)
        self._flows = FlowStore(self._disk)
        self._catalog = Catalog(self._disk)
        self._events = events.Events()
        self._recovered = False

    @property
    def data_dir(self) -> str:
        return self._disk.root

    @property
    def settings(self) -> Settings:
        return self._settings.read()

    def __enter__(self) -> Graph:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Brings everything to rest. The graph opens again by itself when it is used after that."""
        if os.path.exists(self._disk.state_path("journal")):
            self._disk.checkpoint()
        self._disk.close()

    def subscribe(self, subscriber: events.Subscriber) -> Callable[[], None]:
        """Calls `subscriber(event, data)` after each change; returns the function that ends it."""
        return self._events.subscribe(subscriber)

    # Nodes

    def create_node(
        self,
        prompt: str,
        response: str = "",
        *,
        tags: Iterable[str] = (),
        model: str = "",
        summary: str = "",
        flow: str = DEFAULT_FLOW,
        parents: Iterable[str] = (),
        branch: str | None = None,
    ) -> Node:
        """A new node in a flow (made when there is none of that name), behind its parents if given."""
        texts = (Text("user", prompt), Text("assistant", response))
        return self.add_turn(
            texts=texts, tags=tags, model=model, summary=summary, flow=flow, parents=parents, branch=branch
        )

    def add_turn(
        self,
        *,
        texts: Sequence[Text],
        node_id: str | None = None,
        timestamp: str | None = None,
        parents: Iterable[str] = (),
        flow: str = DEFAULT_FLOW,
        branch: str | None = None,
        tags: Iterable[str] = (),
        model: str = "",
        summary: str = "",
        session: str = "",
        usage: Usage | None = None,
        files: Iterable[FileState] = (),
    ) -> Node:
        """One finished turn as a node, with its place in the flow, in one durable step."""
        moment = timestamp or now()
        node = Node(
            id=node_id or new_id(),
            timestamp=moment,
            texts=tuple(map(measured, texts)),
            summary=summary,
            tags=clean_tags(tags),
            model=model,
            last_built=moment,
            session=session,
            usage=usage,
            files=tuple(files),
        )
        with self._writing():
            step = self.settings.max_files_per_folder
            parents = list(parents)
            self._require_known(parents)
            path = self._nodes.free_path(step)
            put = self._nodes.create(path, node)
            connections = [Connection(parent, node.id, branch) for parent in parents]
            loaded = self._flow_for_writing(flow)
            self._change_flow(loaded, _extended(loaded, [node.id], connections), before=[put], new_node=(path, node))
        return node

    def get_node(self, node_id: str) -> Node:
        """The node as its file says now. Raises NotFound, or BadFile when the file cannot be read."""
        with self._disk.lock.threads:
            self._ready()
            return self._nodes.read(self._path_of(node_id))

    def update_node(
        self,
        node_id: str,
        prompt: str | None = None,
        response: str | None = None,
        tags: Iterable[str] | None = None,
    ) -> Node:
        """Changes what is given. New text makes the summary due for building."""
        with self._writing():
            old = self._nodes.read(self._path_of(node_id))
            node = old
            if prompt is not None:
                node = with_text(node, "user", prompt)
            if response is not None:
                node = with_text(node, "assistant", response)
            if tags is not None:
                node = replace(node, tags=clean_tags(tags))
            if node.texts != old.texts:
                node = replace(node, updated=True)
            return self._save(old, node, events.NODE_UPDATED)

    def save_summary(
        self, node_id: str, summary: str, tags: Iterable[str] | None = None, *, built_from: Node | None = None
    ) -> Node:
        """Stores a freshly built summary; the node is no longer due, unless it was edited since `built_from`.

        `tags` replaces the node's tags when given.
        """
        with self._writing():
            old = self._nodes.read(self._path_of(node_id))
            edited = built_from is not None and built_from.texts != old.texts
            node = replace(old, summary=summary, updated=edited, last_built=now())
            if tags is not None:
                node = replace(node, tags=clean_tags(tags))
            return self._save(old, node, events.SUMMARY_BUILT)

    def delete_node(self, node_id: str) -> None:
        """Removes a node from every flow, with its connections, and then its file; neighbours are not joined."""
        with self._writing():
            paths = self._paths_of(node_id)
            changes = [
                self._flows.change(loaded, without_node(loaded.flow, node_id))
                for loaded in self._flows.all()
                if node_id in loaded.topology.index_of
            ]
            self._disk.commit([*(put for _, put in changes), *map(self._nodes.remove, paths)])
            self._nodes.unindex(paths)
            self._events.note(events.NODE_DELETED, node_id=node_id)
            for changed, _ in changes:
                self._flow_written(changed)

    # Flows

    def get_flow(self, flow: str = DEFAULT_FLOW) -> Flow:
        with self._disk.lock.threads:
            self._ready()
            return self._flows.get(flow).flow

    def list_flows(self) -> list[Flow]:
        with self._disk.lock.threads:
            self._ready()
            return [loaded.flow for loaded in self._flows.all()]

    def create_flow(self, name: str, description: str = "") -> Flow:
        """A new, empty flow; one of that name that is there already is returned as it is."""
        with self._writing():
            found = self._flows.find(name)
            if found:
                return found.flow
            loaded = self._flows.draft(name, description, self.settings.max_files_per_folder)
            return self._change_flow(loaded, loaded.flow)

    def add_node_to_flow(self, flow: str, node_id: str) -> Flow:
        with self._writing():
            self._require_known([node_id])
            loaded = self._flow_for_writing(flow)
            return self._change_flow(loaded, _extended(loaded, [node_id], ()))

    def connect_nodes(
        self, source_id: str, target_id: str, branch_name: str | None = None, flow: str = DEFAULT_FLOW
    ) -> Flow:
        """Makes the target follow the source. Raises CycleError; a connection already there is left as it is."""
        with self._writing():
            self._require_known([source_id, target_id])
            loaded = self._flow_for_writing(flow)
            changed = _extended(loaded, (), [Connection(source_id, target_id, branch_name)])
            return self._change_flow(loaded, changed)

    def disconnect_nodes(self, source_id: str, target_id: str, flow: str = DEFAULT_FLOW) -> Flow:
        with self._writing():
            loaded = self._flows.get(flow)
            return self._change_flow(loaded, without_connection(loaded.flow, source_id, target_id))

    def remove_node_from_flow(self, flow: str, node_id: str) -> Flow:
        """Takes a node out of a flow; the node itself stays."""
        with self._writing():
            loaded = self._flows.get(flow)
            return self._change_flow(loaded, without_node(loaded.flow, node_id))

    def rebuild_flow(self, flow: str, node_ids: Sequence[str]) -> Flow:
        """Makes the flow the chain of exactly these nodes, in this order."""
        with self._writing():
            self._require_known(node_ids)
            loaded = self._flow_for_writing(flow)
            return self._change_flow(loaded, rebuilt(loaded.flow, list(node_ids)))

    def history_ids(self, node_id: str, flow: str | None = None) -> list[str]:
        """Ids of the path to a node, oldest first."""
        with self._disk.lock.threads:
            self._ready()
            loaded = self._flow_with(node_id, flow)
            return history(loaded.flow, node_id, loaded.topology) if loaded else [node_id]

    def get_history(self, node_id: str, flow: str | None = None) -> list[Node]:
        """The path to a node, oldest first, the node itself last; nodes whose files are gone are left out."""
        self.get_node(node_id)
        found = []
        for ancestor in self.history_ids(node_id, flow):
            try:
                found.append(self.get_node(ancestor))
            except (NotFound, BadFile):
                continue
        return found

    def draw_map(self, flow: str = DEFAULT_FLOW) -> str:
        return draw_map(self.get_flow(flow))

    # Inside

    def _ready(self) -> None:
        """Finishes what a crash left undone, before anything is read or written."""
        if not self._recovered:
            self._recovered = True
            self._disk.recover()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        self._disk.prepare()
        try:
            with self._disk.lock:
                self._ready()
                self._settings.ensure()
                yield
        finally:
            self._events.publish()

    def _path_of(self, node_id: str) -> str:
        return self._paths_of(node_id)[0]

    def _paths_of(self, node_id: str) -> list[str]:
        """Files with that id, the one that counts first (seed §4.4)."""
        paths = self._catalog.locate(node_id)
        if not paths:
            raise NotFound(f"no node {node_id}")
        return paths

    def _save(self, old: Node, node: Node, event: str) -> Node:
        if node != old:
            path = self._path_of(node.id)
            self._disk.commit([self._nodes.change(path, node)])
            self._events.note(event, node_id=node.id)
        return node

    def _require_known(self, node_ids: Iterable[str]) -> None:
        for node_id in node_ids:
            self._path_of(node_id)

    def _flow_for_writing(self, flow: str) -> Loaded:
        found = self._flows.find(flow)
        if found:
            return found
        if flow == DEFAULT_FLOW:
            return self._flows.draft(flow, "", self.settings.max_files_per_folder)
        raise NotFound(f"no flow {flow!r}")

    def _flow_with(self, node_id: str, flow: str | None) -> Loaded | None:
        if flow is not None:
            return self._flows.get(flow)
        main = self._flows.find(DEFAULT_FLOW)
        for loaded in [main, *self._flows.all()] if main else self._flows.all():
            if node_id in loaded.topology.index_of:
                return loaded
        return None

    def _change_flow(
        self,
        loaded: Loaded,
        flow: Flow,
        *,
        before: Sequence[Operation] = (),
        new_node: tuple[str, Node] | None = None,
    ) -> Flow:
        """Writes a flow, and a new node with it, as one step; notes the events."""
        is_new = loaded.signature.size < 0
        if flow is loaded.flow and not is_new and not before:
            return flow
        changed, put = self._flows.change(loaded, flow)
        self._disk.commit([*before, put])
        if new_node:
            self._nodes.index(*new_node)
            self._catalog.add(*new_node)
            node = new_node[1]
            self._events.note(events.NODE_CREATED, node_id=node.id, flow_id=changed.flow.id)
        self._flow_written(changed)
        return changed.flow

    def _flow_written(self, changed: Loaded) -> None:
        self._flows.written(changed)
        self._events.note(events.FLOW_UPDATED, flow_id=changed.flow.id, name=changed.flow.name)


def _extended(loaded: Loaded, nodes: Iterable[str], connections: Iterable[Connection]) -> Flow:
    return extend(loaded.flow, loaded.topology, nodes, connections)
