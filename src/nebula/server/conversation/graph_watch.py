"""Turn changes of the graph into events for the hub: our own changes, and those that others make to the files.

Changes of this process are reported by the graph itself, at once. Those of another process, an editor or git are found
by looking at the files regularly. Both are compared in the same way with what was reported before, so nothing is
reported twice and no change of a flow is missed, whoever was faster.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from nebula.graph import events
from nebula.graph.errors import BadFile, NotFound
from nebula.graph.graph import Graph
from nebula.graph.values import Flow, Node
from nebula.server.conversation.briefs import brief_flow, brief_node, difference, only_grew, parents_of
from nebula.server.conversation.hub import Hub

LOOK_EVERY_S: Final = 0.5

_log = logging.getLogger(__name__)
_Event = tuple[str, dict[str, Any], tuple[str, ...]]


class GraphWatch:
    """Reads in any thread, and publishes on the loop on which `run` was started."""

    def __init__(self, graph: Graph, hub: Hub) -> None:
        self._graph = graph
        self._hub = hub
        self._lock = threading.RLock()
        self._told: dict[str, Flow] = {}
        """Each flow as of its last event."""
        self._members: dict[str, set[str]] = {}
        """The nodes of each of these flows."""
        self._heard: deque[tuple[str, dict[str, Any]]] = deque()
        """Changes that the graph reported and that are not published yet."""
        self._broken: dict[str, str] = {}
        """Flows that were reported as unreadable, with the reason."""
        self._missed: deque[frozenset[str]] = deque()
        """Flows that a client was shown while others could not be read, until the next look."""
        self._gone: set[str] = set()
        self._fresh: dict[str, Node] = {}
        """Nodes that were just made here, until their flow is compared: they need not be read again."""
        self._content: dict[str, int] = {}
        """A hash of each node's content when it was reported."""
        self._changed_nodes = graph.watch_nodes()
        self._waiting: deque[_Event] = deque()
        self._loop: asyncio.AbstractEventLoop | None = None
        self.started = asyncio.Event()
        """Set once every further change will be noticed."""

    async def run(self) -> None:
        self._loop = asyncio.get_running_loop()
        await asyncio.to_thread(self._begin)
        unsubscribe = self._graph.subscribe(self._hear)
        self.started.set()
        problem = ""
        try:
            while True:
                await asyncio.sleep(LOOK_EVERY_S)
                try:
                    await asyncio.to_thread(self.look)
                except (OSError, BadFile) as error:
                    # A folder that is being moved: the next look may succeed. Logged once, not twice a second.
                    if str(error) != problem:
                        _log.warning("the files cannot be looked at now: %s", error)
                    problem = str(error)
        finally:
            unsubscribe()

    def drain(self) -> None:
        """Publish what is waiting; called on the loop before anything else is published, to keep the order."""
        while self._waiting:
            name, data, flows = self._waiting.popleft()
            self._hub.publish(name, data, flows=flows)

    def _begin(self) -> None:
        with self._lock:
            for flow in self._graph.list_flows():
                self._remember(flow, flow.nodes, ())
            self._changed_nodes()

    # Reported by the graph

    def _hear(self, name: str, data: dict[str, Any]) -> None:
        """Take a change from whoever made it, such as an agent at the end of its turn. That caller does not wait for a
        look under way, which publishes the change when it has finished."""
        self._heard.append((name, data))
        self._tell_heard()

    def _tell_heard(self) -> None:
        while self._heard and self._lock.acquire(blocking=False):
            try:
                while self._heard:
                    self._tell(*self._heard.popleft())
            finally:
                self._lock.release()

    def _tell(self, name: str, data: dict[str, Any]) -> None:
        node_id = data.get("node_id", "")
        if name == events.NODE_DELETED:
            self._tell_deleted(node_id)
        elif name == events.FLOW_UPDATED:
            self._compare_by_id(data["flow_id"])
        elif name == events.NODE_CREATED:
            # Published with whatever else is new in its flow, whose own event comes next.
            self._fresh[node_id] = data["node"]
        else:
            self._tell_updated(name, data["node"])

    def _compare_by_id(self, flow_id: str) -> None:
        known = self._told.get(flow_id)
        # A broken file may still name its flow in one of the two.
        for name in (flow_id, known.name) if known else (flow_id,):
            try:
                flow = self._graph.get_flow(name)
            except NotFound:
                continue
            except BadFile as problem:
                self._tell_broken(flow_id, str(problem))
                return
            if flow.id == flow_id:
                self._compare(flow)
                return
        self._forget(flow_id)

    # Found by looking

    def note_shown(self, flows: Iterable[Flow]) -> None:
        """Note that a client was shown these flows while others could not be read: those may be repaired before the
        next look, which would find no change."""
        self._missed.append(frozenset(flow.id for flow in flows))

    def look(self) -> None:
        """Compare the files with what was reported. This is cheap where nothing changed: the graph keeps unchanged
        flows."""
        with self._lock:
            changed = self._changed_nodes()  # before the flows: a node that is new in one was made, not changed
            while self._missed:
                for flow_id in self._told.keys() - self._missed.popleft():
                    self._broken.setdefault(flow_id, "")
            flows = self._graph.list_flows()
            for flow in flows:
                self._compare(flow)
            for flow_id in self._told.keys() - {flow.id for flow in flows}:
                self._compare_by_id(flow_id)
            for node_id in changed:
                node = self._read(node_id)
                if node is not None:
                    self._tell_updated(events.NODE_UPDATED, node)
        self._tell_heard()

    def _remember(self, flow: Flow, added: Iterable[str], removed: Iterable[str]) -> None:
        self._told[flow.id] = flow
        members = self._members.setdefault(flow.id, set())
        members.difference_update(removed)
        members.update(added)

    def _compare(self, flow: Flow) -> None:
        old = self._told.get(flow.id)
        readable_again = self._broken.pop(flow.id, None) is not None
        if (old is flow or old == flow) and not readable_again:
            return
        added, removed = difference(old, flow)
        self._remember(flow, added, removed)
        for node_id in removed:
            if not self._exists(node_id):
                self._tell_deleted(node_id)
        for node_id, parents in parents_of(flow, added).items():
            self._tell_created(flow, node_id, parents)
        brief = {key: value for key, value in brief_flow(flow).items() if key != "id"}
        data = {"flow_id": flow.id} | brief | {"only_grew": only_grew(old, flow)}
        self._put(events.FLOW_UPDATED, data, (flow.id, flow.name))

    def _forget(self, flow_id: str) -> None:
        flow = self._told.pop(flow_id, None)
        self._members.pop(flow_id, None)
        self._broken.pop(flow_id, None)
        if flow is not None:
            data = {"flow_id": flow_id, "name": flow.name, "deleted": True}
            self._put(events.FLOW_UPDATED, data, (flow_id, flow.name))

    def _tell_broken(self, flow_id: str, problem: str) -> None:
        """Report a flow that cannot be read; it is not a flow that was deleted."""
        flow = self._told.get(flow_id)
        if flow is not None and self._broken.get(flow_id) != problem:
            self._broken[flow_id] = problem
            data = {"flow_id": flow_id, "name": flow.name, "problem": problem}
            self._put(events.FLOW_UPDATED, data, (flow_id, flow.name))

    def _exists(self, node_id: str) -> bool:
        try:
            self._graph.get_node(node_id)
        except NotFound:
            return False
        except BadFile:
            pass
        return True

    def _read(self, node_id: str) -> Node | None:
        try:
            return self._graph.get_node(node_id)
        except (NotFound, BadFile):
            return None

    # Telling

    def _tell_created(self, flow: Flow, node_id: str, parents: list[dict[str, Any]]) -> None:
        node = self._fresh.pop(node_id, None) or self._read(node_id)
        if node is None:
            return  # an entry of a flow without a node: `check` reports it
        self._gone.discard(node_id)
        self._content[node_id] = _content(node)
        data = {"node_id": node_id, "flow_id": flow.id, "parents": parents, "node": brief_node(node)}
        data |= {"beginning": node.beginning} if node.beginning else {}
        self._put(events.NODE_CREATED, data, (flow.id, flow.name))

    def _tell_updated(self, name: str, node: Node) -> None:
        node_id = node.id
        content = _content(node)
        if name == events.NODE_UPDATED and self._content.get(node_id) == content:
            return
        self._content[node_id] = content
        aliases = self._flows_with(node_id)
        data: dict[str, Any] = {"node_id": node_id, "node": brief_node(node)}
        if name == events.SUMMARY_BUILT:
            data |= {"summary": node.summary, "tags": list(node.tags)}
        if aliases:
            data["flow_id"] = aliases[0]
        self._put(name, data, aliases)

    def _tell_deleted(self, node_id: str) -> None:
        if node_id in self._gone:
            return
        self._gone.add(node_id)
        self._put(events.NODE_DELETED, {"node_id": node_id}, self._flows_with(node_id))

    def _flows_with(self, node_id: str) -> list[str]:
        """Return ids and names of the flows that contain this node."""
        flows = [flow for flow in self._told.values() if node_id in self._members[flow.id]]
        return [alias for flow in flows for alias in (flow.id, flow.name)]

    def _put(self, name: str, data: dict[str, Any], flows: Iterable[str]) -> None:
        self._waiting.append((name, data, tuple(flows)))
        if self._loop is not None and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self.drain)


def _content(node: Node) -> int:
    marks = node.pinned, node.note
    return hash((node.texts, node.summary, tuple(node.tags), node.model, node.updated, marks))
