"""The graph as a library: every call a program or a front door may make.

    graph = Graph("project/.nebula/graph")
    first = graph.create_node("question", "answer")
    second = graph.create_node("and then?", "this", parents=[first.id])
    graph.get_history(second.id)        # [first, second]

Synchronous, safe to use from several threads and processes at once. What a call has returned is on the disk.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING, Any

from nebula.attachments import Attachment
from nebula.graph import events
from nebula.graph.commit import Commit
from nebula.graph.disk.settings import GraphSettings
from nebula.graph.errors import AmbiguousId, BadFile, BadRequest, NotFound
from nebula.graph.flows.chain_map import draw_map
from nebula.graph.flows.change import FlowChange, GraphChange, NodeEdit, difference
from nebula.graph.flows.topology import history, new_flow, rebuilt, rewired
from nebula.graph.ids import new_id, now, shortest_unique
from nebula.graph.store import GraphStore
from nebula.graph.text_figures import measured, with_text
from nebula.graph.values import (
    DEFAULT_FLOW,
    Connection,
    FileState,
    Flow,
    Node,
    NodeUsage,
    Problem,
    Utterance,
    clean_tags,
    several,
)
from nebula.value import replace

if TYPE_CHECKING:
    from typing import Self

    from nebula.graph.derived.search import Found
    from nebula.llm.choose import ChosenModel

DEFAULT_DIR = os.path.join(".nebula", "graph")


class Graph:
    """A data folder in the seed's layout. Opening one reads nothing; a folder that is not there is made by the
    first write."""

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

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Brings everything to rest, derived files included. The graph opens again when it is used after that."""
        self._store.close()

    def subscribe(self, subscriber: events.Subscriber) -> Callable[[], None]:
        """Calls `subscriber(event, data)` after each change made through this object, in order; returns the function
        that ends it. Events: node_created, node_updated, node_deleted, flow_updated, summary_built."""
        return self._store.events.subscribe(subscriber)

    def watch_nodes(self) -> Callable[[], list[str]]:
        """A function that says, each time it is called, which nodes' files are new or changed since the last time:
        by this process, another one, an editor or git. Raises BadFile where the folder cannot be looked at."""
        from nebula.graph.disk.watch import NodeWatch

        watch = NodeWatch(self._store.disk)

        def look() -> list[str]:
            with self._store.reading():
                return watch.look()

        return look

    # Changes

    def apply(self, change: GraphChange) -> GraphChange:
        """Carries out a change as one durable step: all of it, or none and an exception. Returns its inverse, which
        can be applied in turn."""
        with self._store.writing(), self.recording() as inverses:
            for node in change.create:
                self._refuse_taken(node.id)
            Commit(self._store, change).run()
        return inverses[0] if inverses else GraphChange()

    @contextmanager
    def recording(self) -> Iterator[list[GraphChange]]:
        """Collects the inverses of the changes that this thread makes inside, oldest first: to undo them, apply them
        in reverse order."""
        recorded = self._store.recorded
        outer = recorded.inverses
        recorded.inverses = inverses = list[GraphChange]()
        try:
            yield inverses
        finally:
            recorded.inverses = outer
            if outer is not None:
                outer += inverses

    def _change_flow(self, change: FlowChange) -> Flow:
        Commit(self._store, GraphChange(flows=(change,))).run()
        return self._store.flows.get(change.flow if change.name is None else change.name).flow

    def _refuse_taken(self, node_id: str) -> None:
        if self._store.node_index.is_taken(node_id):
            raise BadRequest("there is a node {node_id} already", node_id=node_id)

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
        """A new node in a flow (`main` is made when there is none), behind its parents if given."""
        _require_texts(prompt=prompt, response=response)
        texts = (Utterance("user", prompt), Utterance("assistant", response))
        return self.add_turn(
            texts=texts, tags=tags, model=model, summary=summary, flow=flow, parents=parents, branch=branch
        )

    def add_turn(
        self,
        *,
        texts: Sequence[Utterance],
        node_id: str | None = None,
        timestamp: str | None = None,
        parents: Iterable[str] = (),
        flow: str = DEFAULT_FLOW,
        branch: str | None = None,
        tags: Iterable[str] = (),
        model: str = "",
        summary: str = "",
        session: str = "",
        usage: NodeUsage | None = None,
        files: Iterable[FileState] = (),
        references: Iterable[str] = (),
        attachments: Iterable[Attachment] = (),
    ) -> Node:
        """One finished turn as a node, with its place in the flow, in one durable step."""
        tags, parents, references = several(tags), several(parents), several(references)
        said = {text.role: text.text for text in texts}
        _require_texts(tags=tags, parents=parents, references=references, model=model, summary=summary, **said)
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
            references=tuple(references),
            attachments=tuple(attachments),
        )
        connections = tuple(Connection(parent, node.id, branch) for parent in dict.fromkeys(parents))
        place = FlowChange(flow, add=(node.id,), connect=connections)
        with self._store.writing():
            if node_id is not None:
                self._refuse_taken(node_id)
            Commit(self._store, GraphChange(create=(node,), flows=(place,))).run()
        return node

    def get_node(self, node_id: str) -> Node:
        """The node as its file says now. Raises NotFound, or BadFile when the file cannot be read."""
        with self._store.reading():
            return self._store.read(node_id)

    def resolve_id(self, beginning: str) -> str:
        """The id that begins so. Raises NotFound for none, and AmbiguousId, with the candidates, for several."""
        wanted = beginning.strip().lower() if beginning.strip().isascii() else beginning.strip()
        with self._store.reading():
            found = self._store.node_index.ids_beginning(wanted) if wanted else []
        if not found:
            raise NotFound("no node {node_id}", node_id=beginning)
        if len(found) > 1:
            raise AmbiguousId(beginning, found)
        return found[0]

    def shortest_unique_ids(self, node_ids: Iterable[str]) -> dict[str, str]:
        """Each id with its shortest beginning that stands for it alone, for lists that people read."""
        wanted = list(node_ids)
        with self._store.reading():
            among = self._store.node_index.neighbours(wanted)
        return shortest_unique(wanted, among)

    def list_nodes(self, limit: int | None = None, offset: int = 0) -> list[Node]:
        """Nodes, newest first."""
        from nebula.graph.derived.search import latest

        with self._store.reading():
            return latest(self._store.node_index, limit, offset)

    def list_nodes_outside(self) -> list[Node]:
        """Nodes that are in no flow, newest first: taken out of theirs, or parted from another one after a merge."""
        from nebula.graph.derived.search import latest

        with self._store.reading():
            inside = {entry.id for loaded in self._store.flows.all() for entry in loaded.flow.entries}
            return latest(self._store.node_index, None, 0, without=inside)

    def count_nodes(self) -> int:
        """How many nodes there are, without reading them."""
        with self._store.reading():
            return self._store.node_index.count()

    def update_node(
        self,
        node_id: str,
        prompt: str | None = None,
        response: str | None = None,
        tags: Iterable[str] | None = None,
    ) -> Node:
        """Changes what is given. New text makes the summary due for building."""
        _require_texts(prompt=prompt or "", response=response or "", tags=several(tags))
        with self._store.writing():
            old = self._store.read(node_id)
            node = old
            if prompt is not None:
                node = with_text(node, "user", prompt)
            if response is not None:
                node = with_text(node, "assistant", response)
            if tags is not None:
                node = replace(node, tags=clean_tags(tags))
            if node.texts != old.texts:
                node = replace(node, updated=True)
            Commit(self._store, GraphChange(edit=(NodeEdit(old, node),))).run()
        return node

    def save_summary(
        self, node_id: str, summary: str, tags: Iterable[str] | None = None, *, built_from: Node | None = None
    ) -> Node:
        """Stores a freshly built summary; the node is no longer due, unless it was edited since `built_from`.

        `tags` replaces the node's tags when given.
        """
        with self._store.writing():
            old = self._store.read(node_id)
            edited = built_from is not None and built_from.texts != old.texts
            node = replace(old, summary=summary, updated=edited, last_built=now())
            if tags is not None:
                node = replace(node, tags=clean_tags(tags))
            Commit(self._store, GraphChange(edit=(NodeEdit(old, node),))).run()
        return node

    def build_summary(self, node_id: str, model: ChosenModel | str | None = None) -> Node:
        """Builds summary and tags of a node by the model given or configured; without one, as an extract."""
        from nebula.graph.summaries.build import build_node

        return build_node(self, node_id, model=model)

    def due_nodes(self) -> list[Node]:
        """Nodes whose summary has to be built, oldest first: edited since the last one, or without any."""
        from nebula.graph.derived.search import due

        with self._store.reading():
            return due(self._store.node_index)

    def delete_node(self, node_id: str) -> None:
        """Removes a node from every flow, with its connections, and its file; neighbours are not joined."""
        self.delete_nodes([node_id])

    def delete_nodes(self, node_ids: Iterable[str]) -> None:
        """Removes several nodes in one step: all of them, or none and an exception."""
        with self._store.writing():
            Commit(self._store, GraphChange(remove=tuple(dict.fromkeys(several(node_ids))))).run()

    def search_nodes(
        self,
        tags: Iterable[str] | None = None,
        keywords: Iterable[str] | None = None,
        text: str | None = None,
        limit: int | None = None,
        patience: float = 0.0,
        **filters: Any,
    ) -> Found:
        """Nodes that match everything asked, best first; asked nothing, all nodes, newest first. `filters` are those of
        `Query`: `model`, `since`, `until` (seconds of the epoch), `path` (a part of one that the turn changed).
        In a large graph seen for the first time the answer does not wait for the whole index: `unread` says how many
        nodes it left out. With `patience` it waits so many seconds, and nobody else has to meanwhile."""
        from nebula.graph.derived.search import Query, search

        query = Query.of(several(tags), several(keywords), text or "", **filters)
        until = time.monotonic() + patience
        if patience:
            with self._store.reading():
                self._store.node_index.refresh()
            self._store.node_index.read_all(until)
        with self._store.reading():
            found, late = search(self._store.node_index, query, limit)
        if late:
            self._store.want_scan()
        return found

    search = search_nodes

    def list_tags(self) -> dict[str, int]:
        """Every tag and how many nodes have it, in alphabetical order."""
        from nebula.graph.derived.search import tags

        with self._store.reading():
            return tags(self._store.node_index)

    def list_models(self) -> dict[str, int]:
        """Every model that answered and how often."""
        from nebula.graph.derived.search import models

        with self._store.reading():
            return models(self._store.node_index)

    # Flows

    def get_flow(self, flow: str = DEFAULT_FLOW) -> Flow:
        """A flow by id or name. Raises NotFound, or BadFile where its file cannot be read."""
        with self._store.reading():
            return self._store.flows.get(flow).flow

    def list_flows(self) -> list[Flow]:
        """All flows in full, in order of number."""
        with self._store.reading():
            return [loaded.flow for loaded in self._store.flows.all()]

    def unreadable_flows(self) -> list[Problem]:
        """The flow files that cannot be read; `list_flows` has only the others."""
        with self._store.reading():
            return [problem for problem in self._store.flows.problems() if problem.kind == "unreadable"]

    def create_flow(self, name: str, description: str = "") -> Flow:
        """A new, empty flow; one of that name that is there already is returned as it is."""
        with self._store.writing():
            found = self._store.flows.find(name)
            if found:
                return found.flow
            made = new_flow(name, description)
            Commit(self._store, GraphChange(create_flows=(made,))).run()
            return self._store.flows.get(made.id).flow

    def update_flow(
        self,
        flow: str,
        *,
        name: str | None = None,
        description: str | None = None,
        nodes: Sequence[str] | None = None,
        connections: Sequence[Connection] | None = None,
    ) -> Flow:
        """Changes what is given, in one step. With `connections` the flow holds exactly `nodes` (None: those it has)
        and these; `nodes` alone makes it the chain of these, in this order."""
        with self._store.writing():
            is_only_named = nodes is None and connections is None
            before = (self._store.flows.get if is_only_named else self._store.flow_for_writing)(flow).flow
            after = before
            if connections is not None:
                after = rewired(before, nodes, connections)
            elif nodes is not None:
                after = rebuilt(before, several(nodes))
            named = {"name": name, "description": description}
            after = replace(after, **{key: text for key, text in named.items() if text is not None})
            return self._change_flow(replace(difference(before, after), flow=flow))

    def add_node_to_flow(self, flow: str, node_id: str) -> Flow:
        """Puts a node into a flow, unconnected; one that is in it already stays as it is."""
        with self._store.writing():
            return self._change_flow(FlowChange(flow, add=(node_id,)))

    def remove_node_from_flow(self, flow: str, node_id: str) -> Flow:
        """Takes a node and its connections out of a flow; the node itself stays. Raises NotFound."""
        with self._store.writing():
            return self._change_flow(FlowChange(flow, drop=(node_id,)))

    def connect_nodes(
        self, source_id: str, target_id: str, branch_name: str | None = None, flow: str = DEFAULT_FLOW
    ) -> Flow:
        """Makes the target follow the source. Raises CycleError; a connection already there is left as it is."""
        with self._store.writing():
            return self._change_flow(FlowChange(flow, connect=(Connection(source_id, target_id, branch_name),)))

    def disconnect_nodes(self, source_id: str, target_id: str, flow: str = DEFAULT_FLOW) -> Flow:
        """Takes away that one connection. Raises NotFound when there is none."""
        with self._store.writing():
            return self._change_flow(FlowChange(flow, disconnect=(Connection(source_id, target_id),)))

    def rewire_flow(self, flow: str, nodes: Sequence[str] | None, connections: Sequence[Connection]) -> Flow:
        """Makes a flow hold exactly these nodes (None: those it has) and connections, in one step."""
        return self.update_flow(flow, nodes=nodes, connections=connections)

    def create_branch(
        self, node_id: str, branch_name: str, prompt: str = "", response: str = "", *, flow: str = DEFAULT_FLOW
    ) -> Node:
        """A new node that follows `node_id` under a branch name."""
        return Graph.create_node(self, prompt, response, flow=flow, parents=[node_id], branch=branch_name)

    def rebuild_flow(self, flow: str, node_ids: Sequence[str]) -> Flow:
        """Makes the flow the chain of exactly these nodes, in this order."""
        return self.update_flow(flow, nodes=several(node_ids))

    def history_ids(self, node_id: str, flow: str | None = None) -> list[str]:
        """Ids of the path to a node, oldest first, in the given flow or the one it is in."""
        with self._store.reading():
            loaded = self._store.flow_with(node_id, flow)
            return history(loaded.flow, node_id, loaded.topology) if loaded else [node_id]

    def get_history(self, node_id: str, flow: str | None = None) -> list[Node]:
        """The path to a node, oldest first, the node itself last; nodes that cannot be read are left out."""
        self.get_node(node_id)
        found = []
        for ancestor in self.history_ids(node_id, flow):
            try:
                found.append(self.get_node(ancestor))
            except (NotFound, BadFile):
                continue
        return found

    def draw_map(self, flow: str = DEFAULT_FLOW) -> str:
        """The chain map of a flow: `→` goes on, `<` branches, `>n` runs into node n."""
        return draw_map(self.get_flow(flow))

    # Health

    def check(self, *, repair: bool = False) -> list[Problem]:
        """Looks through everything: files that cannot be read, indexes out of step, ids used twice, conflicts of a
        merge, circles, connections to nowhere, old metadata. `repair` repairs what can be repaired."""
        from nebula.graph.health.check import Check

        if not os.path.isdir(self.data_dir):
            return []
        with self._store.writing() if repair else self._store.reading():
            return Check(self._store, repair=repair).run()

    def problems(self) -> list[Problem]:
        """What was met that makes no sense: unreadable files, ids claimed twice, connections to nowhere."""
        with self._store.reading():
            self._store.node_index.catch_up()
            found = self._store.node_index.problems() + self._store.flows.problems()
            return found + self._store.problems()

    def unreadable(self, last: int) -> list[Problem]:
        """Files that make no sense; of the node files so many are looked at, those that came last."""
        with self._store.reading():
            found = self._store.nodes.problems(last) + self._store.flows.problems() + self._store.problems()
            return [problem for problem in found if problem.kind == "unreadable"]


def _require_texts(**given: object) -> None:
    """Callers without a type checker get one clear sentence, before anything is written."""
    for name, held in given.items():
        for each in held if isinstance(held, (list, tuple)) else (held,):
            if not isinstance(each, str):
                kind = type(each).__name__
                raise BadRequest("{name} must be text, not {kind}", name=name, kind=kind)
