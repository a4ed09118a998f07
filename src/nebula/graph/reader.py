"""What can be asked of a graph: nodes and flows, their history, searches, and what makes no sense in the files."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from nebula.files.descriptors import ClosedByBlock
from nebula.graph import events
from nebula.graph.derived.node_cache import NodeCache
from nebula.graph.derived.search import Found, Query, due, latest, models, search, tags, tries_of
from nebula.graph.disk.node_files import FOLDER as NODES
from nebula.graph.disk.watch import NodeWatch
from nebula.graph.errors import AmbiguousId, BadFile, NotFound
from nebula.graph.flows.chain_map import draw_map
from nebula.graph.flows.topology import history
from nebula.graph.formats.config_yaml import GraphSettings
from nebula.graph.ids import shortest_unique
from nebula.graph.store import GraphStore
from nebula.graph.values import DEFAULT_FLOW, Beginning, Flow, Node, Problem, several

DEFAULT_DIR = os.path.join(".nebula", "graph")


class GraphReader(ClosedByBlock):
    """A data folder in the seed's layout, as far as it is read. Opening one reads nothing."""

    def __init__(self, data_dir: str | os.PathLike[str] = DEFAULT_DIR) -> None:
        self._store = GraphStore(os.fspath(data_dir))

    @property
    def data_dir(self) -> str:
        return self._store.disk.root

    @property
    def settings(self) -> GraphSettings:
        """`config.yaml` as it stands now; what makes no sense in it is among `problems`."""
        with self._store.reading():
            return self._store.settings.read()

    def close(self) -> None:
        """Bring everything to rest, derived files included. The graph opens again when it is used after that."""
        self._store.close()

    def subscribe(self, subscriber: events.Subscriber) -> Callable[[], None]:
        """Call `subscriber(event, data)` after each change made through this object, in order; return the function
        that ends it. Events: node_created, node_updated, node_deleted, flow_updated, summary_built."""
        return self._store.events.subscribe(subscriber)

    def watch_nodes(self) -> Callable[[], list[str]]:
        """Return a function that says, each time it is called, which nodes' files are new or changed since the last
        time: by this process, another one, an editor or git. Raises BadFile where the folder cannot be looked at."""
        return NodeWatch(self._store.disk, self._store.reading).look

    def get_node(self, node_id: str) -> Node:
        """Return the node as its file says now. Raises NotFound, or BadFile when the file cannot be read."""
        with self._store.reading():
            return self._store.read(node_id)

    def get_nodes(self, node_ids: Sequence[str]) -> dict[str, Node | BadFile]:
        """Return many nodes as their files say now, by id. Those that are not there are left out; in the place of one
        whose file cannot be read stands the error that says why."""
        found: dict[str, Node | BadFile] = {}
        with self._store.reading():
            rows = self._store.node_index.find_all(node_ids)
            for node_id in node_ids:
                try:
                    found[node_id] = self._store.read(node_id, rows[node_id][0].path if node_id in rows else "")
                except BadFile as problem:
                    found[node_id] = problem
                except NotFound:
                    continue
        return found

    def find_files(self, node_ids: Iterable[str]) -> list[str]:
        """Return the absolute paths of the files that hold these nodes; of those that are none, none."""
        with self._store.reading():
            found = [path for node_id in node_ids for path in self._store.node_index.locate(node_id)]
        return [os.path.join(self.data_dir, NODES, path) for path in found]

    def list_candidates(self, node_id: str) -> list[Node]:
        """Return every node whose file has that id, the one that counts first; unreadable files are
        left out. Raises NotFound where there is none."""
        with self._store.reading():
            found = []
            for path in self._store.paths_of(node_id):
                with contextlib.suppress(NotFound, BadFile):
                    found.append(self._store.nodes.read(path))
            return found

    def resolve_id(self, beginning: str) -> str:
        """Return the id that begins so. Raises NotFound for none, and AmbiguousId, with the candidates, for several."""
        wanted = beginning.strip().lower() if beginning.strip().isascii() else beginning.strip()
        with self._store.reading():
            found = self._store.node_index.ids_beginning(wanted) if wanted else []
        if not found:
            raise NotFound("no node {node_id}", node_id=beginning)
        if len(found) > 1:
            raise AmbiguousId(beginning, found)
        return found[0]

    def shortest_unique_ids(self, node_ids: Iterable[str]) -> dict[str, str]:
        """Return each id with its shortest beginning that stands for it alone, for lists that people read."""
        wanted = list(node_ids)
        with self._store.reading():
            among = self._store.node_index.neighbours(wanted)
        return shortest_unique(wanted, among)

    def list_nodes(self, limit: int | None = None, offset: int = 0) -> list[Node]:
        """Return nodes, newest first."""
        return latest(self._cache(), limit, offset)

    def list_tries(self, node: Node, *, wait: bool = True) -> list[str]:
        """Return the ids of all tries of a first prompt, oldest first; `node` is one of them. Without `wait`, those
        that were read by now."""
        return tries_of(self._cache(), node, wait=wait)

    def list_beginnings(self, node_ids: Sequence[str]) -> dict[str, Beginning]:
        """Return how the conversations began whose first turns these are, without waiting for anything."""
        with self._store.reading():
            return self._store.node_index.find_beginnings(node_ids)

    def list_nodes_outside(self) -> list[Node]:
        """Return nodes that are in no flow, newest first: taken out of theirs, or parted from another one after a
        merge."""
        with self._store.reading():
            inside = {entry.id for loaded in self._store.flows.all() for entry in loaded.flow.entries}
        return latest(self._cache(), None, 0, without=inside)

    def count_nodes(self) -> int:
        """How many nodes there are, without reading them."""
        with self._store.reading():
            return self._store.node_cache.count()

    def due_nodes(self) -> list[Node]:
        """Return the nodes whose summary has to be built, oldest first: edited since the last one, or without any."""
        return due(self._cache())

    def search_nodes(
        self,
        tags: Iterable[str] | None = None,
        keywords: Iterable[str] | None = None,
        text: str | None = None,
        limit: int | None = None,
        patience: float = 0.0,
        **filters: Any,
    ) -> Found:
        """Return nodes that match everything asked, best first; asked nothing, all nodes, newest first. `filters` are
        those of `Query`: `model`, `since`, `until` (seconds of the epoch), `path` (a part of one that the turn
        changed), `pinned`. In a large graph seen for the first time the answer does not wait for the whole index:
        `unread` says how many nodes it left out. With `patience` it waits so many seconds, and nobody else has to
        meanwhile."""
        query = Query.of(several(tags), several(keywords), text or "", **filters)
        cache = self._cache()
        if patience:
            until = time.monotonic() + patience
            cache.refresh()
            cache.read_all(until)
        found, late = search(cache, query, limit)
        if found.unread:
            self._store.want_reading()
        elif late:
            self._store.want_scan()
        return found

    search = search_nodes

    def _cache(self) -> NodeCache:
        """Return what the node files say, ready to be asked. It has locks of its own: whoever waits until it has read
        everything keeps nobody else from reading."""
        with self._store.reading():
            return self._store.node_cache

    def list_tags(self) -> dict[str, int]:
        """Return every tag and how many nodes have it, in alphabetical order."""
        return tags(self._cache())

    def list_models(self) -> dict[str, int]:
        """Return every model that answered and how often."""
        return models(self._cache())

    def get_flow(self, flow: str = DEFAULT_FLOW) -> Flow:
        """Return a flow by id or name. Raises NotFound, or BadFile where its file cannot be read."""
        with self._store.reading():
            return self._store.flows.get(flow).flow

    def list_flows(self) -> list[Flow]:
        """Return all flows in full, in order of number."""
        with self._store.reading():
            return [loaded.flow for loaded in self._store.flows.all()]

    def unreadable_flows(self) -> list[Problem]:
        """Return the flow files that cannot be read; `list_flows` has only the others."""
        with self._store.reading():
            return [problem for problem in self._store.flows.problems() if problem.kind == "unreadable"]

    def history_ids(self, node_id: str, flow: str | None = None) -> list[str]:
        """Return ids of the path to a node, oldest first, in the given flow or the one it is in. Raises NotFound."""
        with self._store.reading():
            loaded = self._store.flow_with(node_id, flow)
            self._store.require([node_id], loaded)
            return history(loaded.flow, node_id, loaded.topology) if loaded else [node_id]

    def get_history(self, node_id: str, flow: str | None = None) -> list[Node]:
        """Return the path to a node, oldest first, the node itself last; nodes that cannot be read are left out."""
        self.get_node(node_id)
        return self._readable(self.history_ids(node_id, flow))

    def _readable(self, node_ids: Iterable[str]) -> list[Node]:
        """Return those of the nodes that can be read; whoever else asks for one need not wait for all."""
        found = []
        for node_id in node_ids:
            with contextlib.suppress(NotFound, BadFile):
                found.append(self.get_node(node_id))
        return found

    def draw_map(self, flow: str = DEFAULT_FLOW) -> str:
        """Return the chain map of a flow: `→` goes on, `<` branches, `>n` runs into node n."""
        return draw_map(self.get_flow(flow))

    def problems(self) -> list[Problem]:
        """Return what was met that makes no sense: unreadable files, ids claimed twice, connections to nowhere."""
        cache = self._cache()
        cache.catch_up()
        with self._store.reading():
            return self._store.node_index.problems() + self._store.flows.problems() + self._store.problems()

    def unreadable(self, last: int) -> list[Problem]:
        """Return files that make no sense; of the node files so many are looked at, those that came last."""
        with self._store.reading():
            found = self._store.nodes.problems(last) + self._store.flows.problems() + self._store.problems()
            return [problem for problem in found if problem.kind == "unreadable"]
