"""The graph as a library: every call a program or a front door may make.

    graph = Graph("project/.nebula/graph")
    first = graph.create_node("question", "answer")
    second = graph.create_node("and then?", "this", parents=[first.id])
    graph.get_history(second.id)        # [first, second]

Synchronous, safe to use from several threads and processes at once. What a call has returned is on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from nebula.attachments import Attachment
from nebula.graph.commit import Commit
from nebula.graph.errors import BadFile, BadRequest, NotFound
from nebula.graph.flows.change import FlowChange, GraphChange, NodeEdit, difference
from nebula.graph.flows.statistics import FlowStatistics, count_flow
from nebula.graph.flows.topology import branch_of, new_flow, rebuilt, rewired
from nebula.graph.ids import new_id, now
from nebula.graph.reader import GraphReader
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
    from nebula.llm.choose import ChosenModel


class Graph(GraphReader):
    """A data folder in the seed's layout. Opening one reads nothing; a folder that is not there is made by the
    first write."""

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
        verified: bool = False,
        beginning: str = "",
    ) -> Node:
        """Keep one finished turn as a node, with its place in the flow, in one durable step. `beginning` names the
        first try of a prompt that continues nothing and was asked before."""
        tags, parents, references = several(tags), several(parents), several(references)
        said = {text.role: text.text for text in texts}
        _require_texts(tags=tags, parents=parents, references=references, model=model, summary=summary, **said)
        _require_texts(beginning=beginning)
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
            verified=verified,
            beginning="" if parents else beginning,
        )
        connections = tuple(Connection(parent, node.id, branch) for parent in dict.fromkeys(parents))
        place = FlowChange(flow, add=(node.id,), connect=connections)
        with self._store.writing():
            if node_id is not None:
                self._refuse_taken(node_id)
            Commit(self._store, GraphChange(create=(node,), flows=(place,))).run()
        return node

    def update_node(
        self,
        node_id: str,
        prompt: str | None = None,
        response: str | None = None,
        tags: Iterable[str] | None = None,
        summary: str | None = None,
    ) -> Node:
        """Changes what is given. New text makes the summary due for building, unless one is given with it."""
        _require_texts(prompt=prompt or "", response=response or "", tags=several(tags), summary=summary or "")
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
            if summary is not None and summary != old.summary:
                node = replace(node, summary=summary, updated=not summary)
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

    def delete_node(self, node_id: str) -> None:
        """Removes a node from every flow, with its connections, and its file; neighbours are not joined."""
        self.delete_nodes([node_id])

    def delete_nodes(self, node_ids: Iterable[str]) -> None:
        """Removes several nodes in one step: all of them, or none and an exception."""
        with self._store.writing():
            Commit(self._store, GraphChange(remove=tuple(dict.fromkeys(several(node_ids))))).run()

    def delete_branch(self, node_id: str, flow: str = DEFAULT_FLOW) -> list[str]:
        """Removes a node and all that follows from it alone, in one step. Returns their ids; raises NotFound."""
        with self._store.writing():
            ids = branch_of(self._store.flows.get(flow).flow, node_id)
            self.delete_nodes(ids)
        return ids

    # Flows

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

    def delete_flow(self, flow: str) -> None:
        """Removes a flow; its nodes stay, and `list_nodes_outside` has those that are in no other. Raises NotFound."""
        with self._store.writing():
            Commit(self._store, GraphChange(remove_flows=(self._store.flows.get(flow).flow,))).run()

    def move_branch(self, node_id: str, to: str, flow: str = DEFAULT_FLOW, *, copy: bool = False) -> list[str]:
        """Puts a node and all that follows from it alone into another flow, with the connections between them, in one
        step; with `copy` they stay in this one, too. Returns their ids; raises NotFound and BadRequest."""
        with self._store.writing():
            source, goal = self._store.flows.get(flow).flow, self._store.flows.get(to).flow
            if source.id == goal.id:
                raise BadRequest("the branch is in flow {flow} already", flow=repr(goal.name))
            ids = branch_of(source, node_id)
            inner = tuple(c for c in source.connections if c.source in ids and c.target in ids)
            changes = [FlowChange(goal.id, add=tuple(ids), connect=inner)]
            changes += [] if copy else [FlowChange(source.id, drop=tuple(ids))]
            Commit(self._store, GraphChange(flows=tuple(changes))).run()
        return ids

    def name_branch(self, source_id: str, target_id: str, name: str, flow: str = DEFAULT_FLOW) -> Flow:
        """Names the connection between two nodes; an empty name takes it away. Raises NotFound when there is none."""
        _require_texts(name=name)
        with self._store.writing():
            connections = self._store.flows.get(flow).flow.connections
            if not any((c.source, c.target) == (source_id, target_id) for c in connections):
                raise NotFound(
                    "flow {flow} has no connection from {source} to {target}",
                    flow=repr(flow),
                    source=source_id,
                    target=target_id,
                )
            named = Connection(source_id, target_id, name or None)
            wanted = [named if (c.source, c.target) == (source_id, target_id) else c for c in connections]
            return self.update_flow(flow, connections=wanted)

    def count_flow(self, flow: str = DEFAULT_FLOW) -> FlowStatistics:
        """Return what a flow comes to: turns, conversations, tokens, cost, models and tags. Raises NotFound."""
        found = self.get_flow(flow)
        return count_flow(found, self._readable(found.nodes))

    def _readable(self, node_ids: Iterable[str]) -> Iterator[Node]:
        for node_id in node_ids:
            with suppress(BadFile, NotFound):
                yield self.get_node(node_id)

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

    def create_branch(
        self, node_id: str, branch_name: str, prompt: str = "", response: str = "", *, flow: str = DEFAULT_FLOW
    ) -> Node:
        """A new node that follows `node_id` under a branch name."""
        return Graph.create_node(self, prompt, response, flow=flow, parents=[node_id], branch=branch_name)

    def rebuild_flow(self, flow: str, node_ids: Sequence[str]) -> Flow:
        """Makes the flow the chain of exactly these nodes, in this order."""
        return self.update_flow(flow, nodes=several(node_ids))

    # Health

    def check(self, *, repair: bool = False) -> list[Problem]:
        """Looks through everything: files that cannot be read, indexes out of step, ids used twice, conflicts of a
        merge, circles, connections to nowhere, old metadata. `repair` repairs what can be repaired."""
        from nebula.graph.health.check import Check

        if not os.path.isdir(self.data_dir):
            return []
        with self._store.writing() if repair else self._store.reading():
            return Check(self._store, repair=repair).run()


def _require_texts(**given: object) -> None:
    """Callers without a type checker get one clear sentence, before anything is written."""
    for name, held in given.items():
        for each in held if isinstance(held, (list, tuple)) else (held,):
            if not isinstance(each, str):
                kind = type(each).__name__
                raise BadRequest("{name} must be text, not {kind}", name=name, kind=kind)
