"""The graph as a library: every call a program or a front door may make.

    graph = Graph("project/.nebula/graph")
    first = graph.create_node("question", "answer")
    second = graph.create_node("and then?", "this", parents=[first.id])
    graph.get_history(second.id)        # [first, second]

Synchronous, safe to use from several threads and processes at once. What a call has returned is on the disk.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nebula.attachments import Attachment
from nebula.graph.commit import Commit
from nebula.graph.derived.search_terms import folded
from nebula.graph.errors import BadRequest, require_texts
from nebula.graph.flow_editor import FlowEditor
from nebula.graph.flows.change import FlowChange, GraphChange, NodeEdit
from nebula.graph.flows.topology import branch_of
from nebula.graph.ids import new_id, now
from nebula.graph.text_figures import measured, with_text
from nebula.graph.values import (
    DEFAULT_FLOW,
    Connection,
    FileState,
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


class Graph(FlowEditor):
    """A data folder in the seed's layout. Opening one reads nothing; a folder that is not there is made by the
    first write."""

    # Changes

    def apply(self, change: GraphChange) -> GraphChange:
        """Carry out a change as one durable step: all of it, or none and an exception. Return its inverse, which
        can be applied in turn."""
        with self._store.writing(), self.recording() as inverses:
            for node in change.create:
                self._refuse_taken(node.id)
            Commit(self._store, change).run()
        return inverses[0] if inverses else GraphChange()

    @contextmanager
    def recording(self) -> Iterator[list[GraphChange]]:
        """Collect the inverses of the changes that this thread makes inside, oldest first: to undo them, apply them
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
        """Make a new node in a flow (`main` is made when there is none), behind its parents if given."""
        require_texts(prompt=prompt, response=response)
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
        require_texts(tags=tags, parents=parents, references=references, model=model, summary=summary, **said)
        require_texts(beginning=beginning)
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
        *,
        pinned: bool | None = None,
        note: str | None = None,
    ) -> Node:
        """Change what is given. New text makes the summary due for building, unless one is given with it; a pin and a
        note are a person's, and change nothing for a model."""
        require_texts(prompt=prompt or "", response=response or "", tags=several(tags), summary=summary or "")
        require_texts(note=note or "")
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
            marks = {"pinned": pinned, "note": note}
            node = replace(node, **{name: mark for name, mark in marks.items() if mark is not None})
            Commit(self._store, GraphChange(edit=(NodeEdit(old, node),))).run()
        return node

    def rename_tag(self, tag: str, name: str) -> list[str]:
        """Give a tag another name in every node that has it, in one step: where that is one already, the two become
        one; an empty name takes the tag away. Return the ids of the nodes, after reading all there are."""
        require_texts(tag=tag, name=name)
        wanted = folded(" ".join(tag.split()))
        self.search_nodes(tags=[tag], patience=math.inf)  # waits for the index with nothing locked
        with self._store.writing():
            edits = []
            for known in self.search_nodes(tags=[tag]):
                old = self._store.read(known.id)
                tags = clean_tags(name if folded(each) == wanted else each for each in old.tags)
                edits.append(NodeEdit(old, replace(old, tags=tags)))
            Commit(self._store, GraphChange(edit=tuple(edits))).run()
        return [edit.after.id for edit in edits if edit.before != edit.after]

    def save_summary(
        self, node_id: str, summary: str, tags: Iterable[str] | None = None, *, built_from: Node | None = None
    ) -> Node:
        """Store a freshly built summary; the node is no longer due, unless it was edited since `built_from`.

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
        """Build summary and tags of a node by the model given or configured; without one, as an extract."""
        from nebula.graph.summaries.build import build_node

        return build_node(self, node_id, model=model)

    def delete_node(self, node_id: str) -> None:
        """Remove a node from every flow, with its connections, and its file; neighbours are not joined."""
        self.delete_nodes([node_id])

    def delete_nodes(self, node_ids: Iterable[str]) -> None:
        """Remove several nodes in one step: all of them, or none and an exception."""
        with self._store.writing():
            Commit(self._store, GraphChange(remove=tuple(dict.fromkeys(several(node_ids))))).run()

    def delete_branch(self, node_id: str, flow: str = DEFAULT_FLOW) -> list[str]:
        """Remove a node and all that follows from it alone, in one step. Return their ids; raises NotFound."""
        with self._store.writing():
            ids = branch_of(self._store.flows.get(flow).flow, node_id)
            self.delete_nodes(ids)
        return ids

    def create_branch(
        self, node_id: str, branch_name: str, prompt: str = "", response: str = "", *, flow: str = DEFAULT_FLOW
    ) -> Node:
        """Make a new node that follows `node_id` under a branch name."""
        return Graph.create_node(self, prompt, response, flow=flow, parents=[node_id], branch=branch_name)

    # Health

    def check(self, *, repair: bool = False) -> list[Problem]:
        """Look through everything: files that cannot be read, indexes out of step, ids used twice, conflicts of a
        merge, circles, connections to nowhere, old metadata. `repair` repairs what can be repaired."""
        from nebula.graph.health.check import Check

        if not os.path.isdir(self.data_dir):
            return []
        with self._store.writing() if repair else self._store.reading():
            return Check(self._store, repair=repair).run()
