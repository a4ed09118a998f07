"""One change on its way to the disk: what it does to which files, in one step, and what is reported afterwards."""

from __future__ import annotations

from typing import NamedTuple

from nebula.graph import events
from nebula.graph.disk.flow_files import Loaded
from nebula.graph.disk.step import Operation
from nebula.graph.errors import BadFile, BadRequest, ChangedSince
from nebula.graph.flows.change import FlowChange, GraphChange, NodeEdit, apply_edit, changed, difference, is_edited
from nebula.graph.flows.topology import without_nodes
from nebula.graph.formats.xml_text import refuse_surrogates
from nebula.graph.ids import now
from nebula.graph.store import GraphStore
from nebula.graph.values import Node
from nebula.value import replace


class _FlowEdit(NamedTuple):
    loaded: Loaded
    change: FlowChange


class Commit:
    """Run once, with the store's lock held."""

    def __init__(self, store: GraphStore, change: GraphChange) -> None:
        self._store = store
        self._change = change
        self._moment = now()
        self._recorded = store.recorded.inverses
        """Where whoever wants to take the change back later collects the inverses; None where nobody does."""
        self._operations: list[Operation] = []
        self._created: dict[str, Node] = {}
        self._edited: list[NodeEdit] = []
        self._removed: list[tuple[str, Node | None]] = []
        self._gone_paths: list[str] = []
        self._flows: list[_FlowEdit] = []
        self._inverse_flows: list[FlowChange] = []
        self._made_flows: list[Loaded] = []
        self._gone_flows: list[Loaded] = []

    def run(self) -> None:
        """Carry the change out and record its inverse; on an exception nothing has happened."""
        store, edits = self._store, self._flow_edits()
        try:
            self._create_nodes()
            self._edit_nodes()
            self._remove_nodes()
            for edit in edits:
                self._edit_flow(edit)
            self._create_flows()
            self._remove_flows()
            if not self._operations:
                return
            with store.disk.commit(self._operations):
                for path, node in self._created.items():
                    store.nodes.index_file.append(path, node.id, node.timestamp)
                if self._created or self._edited or self._removed:
                    store.mark_changed(self._gone_paths)
                for loaded in (*(edit.loaded for edit in self._flows), *self._made_flows):
                    store.flows.written(loaded)
                store.flows.index_file.remove([loaded.path for loaded in self._gone_flows])
        except BaseException:
            for loaded in (*(edit.loaded for edit in edits), *self._made_flows):  # what memory says was not written
                store.flows.forget(loaded.path)
            raise
        if store.events.has_subscribers:
            self._report()
        if self._recorded is not None:
            self._recorded.append(self._inverse())

    def _flow_edits(self) -> list[_FlowEdit]:
        """Return the flows to change, each once; those that a removed node is in are among them."""
        store, edits = self._store, dict[str, _FlowEdit]()
        for change in self._change.flows:
            loaded = store.flow_for_writing(change.flow)
            if loaded.path in edits:
                raise BadRequest("flow {flow} stands twice in one change", flow=repr(change.flow))
            edits[loaded.path] = _FlowEdit(loaded, change)
            self._require(loaded, change)
        for node_id in self._change.remove:
            for loaded in store.flows.with_node(node_id):
                known = edits.get(loaded.path) or _FlowEdit(loaded, FlowChange(loaded.flow.id))
                edits[loaded.path] = _FlowEdit(loaded, replace(known.change, drop=(*known.change.drop, node_id)))
        for node in self._change.take_back:
            for loaded in store.flows.with_node(node.id):
                if loaded.path not in edits or node.id not in edits[loaded.path].change.leave:
                    sentence = "node {node_id} is in flow {flow} by now; it stays as it is"
                    raise ChangedSince(sentence, node_id=node.id, flow=repr(loaded.flow.name))
        return list(edits.values())

    def _require(self, loaded: Loaded, change: FlowChange) -> None:
        new = {node.id for node in self._change.create}
        ends = (end for c in change.connect for end in (c.source, c.target))
        for connection in change.connect:
            refuse_surrogates(connection.branch or "", "the branch name")
        self._store.require((node for node in (*change.add, *ends) if node not in new), loaded)
        if change.name is not None:
            self._refuse_taken(change.name, loaded.path)

    def _refuse_taken(self, name: str, path: str = "") -> None:
        other = self._store.flows.find(name)
        if other and other.path != path:
            raise BadRequest("there is a flow {name} already", name=repr(name))

    def _create_nodes(self) -> None:
        nodes, step = self._store.nodes, self._store.step
        for node in self._change.create:
            path = nodes.index_file.free_path(step, self._created)
            self._operations.append(nodes.create(path, node))
            self._created[path] = node

    def _edit_nodes(self) -> None:
        for edit in self._change.edit:
            old = self._store.read(edit.after.id)
            node = apply_edit(old, edit)
            if old != node:
                self._operations.append(self._store.nodes.change(self._store.path_of(node.id), node))
                self._edited.append(NodeEdit(old, node))

    def _remove_nodes(self) -> None:
        for node in self._change.take_back:
            if is_edited(self._store.read(node.id), node):
                raise ChangedSince("node {node_id} was edited meanwhile; it stays as it is", node_id=node.id)
        for node_id in (*self._change.remove, *(node.id for node in self._change.take_back)):
            paths = self._store.paths_of(node_id)
            try:
                self._removed.append((node_id, self._store.read(node_id)))
            except BadFile:
                self._removed.append((node_id, None))  # it can go, but not come back
            self._operations += [self._store.nodes.remove(path) for path in paths]
            self._gone_paths += paths

    def _edit_flow(self, edit: _FlowEdit) -> None:
        before = edit.loaded.flow
        topology = edit.loaded.topology if edit.change.only_adds() else None
        after = changed(before, edit.change, topology)
        if after != before or edit.loaded.is_new:
            after = replace(after, updated=self._moment)
            self._operations.append(self._store.flows.replacement(edit.loaded, after, topology))
            self._flows.append(edit)
            if self._recorded is not None:
                self._inverse_flows.append(difference(after, before))

    def _create_flows(self) -> None:
        new = {node.id for node in self._change.create}
        for made in self._change.create_flows:
            self._refuse_taken(made.name)
            flow = without_nodes(made, self._gone(made.nodes, new))
            loaded = self._store.flows.draft(flow, self._store.step, [each.path for each in self._made_flows])
            self._operations.append(self._store.flows.replacement(loaded, flow))
            self._made_flows.append(loaded)

    def _gone(self, node_ids: list[str], new: set[str]) -> list[str]:
        """Return those that are no nodes by now: a flow that comes back does so without them."""
        index = self._store.node_index
        known = new.union(index.find_all(node_ids))
        return [node for node in node_ids if node not in known and not index.locate(node)]

    def _remove_flows(self) -> None:
        for flow in self._change.remove_flows:
            loaded = self._store.flows.get(flow.id)
            if replace(loaded.flow, updated=flow.updated) != flow:
                raise ChangedSince("flow {flow} was changed meanwhile; it stays as it is", flow=repr(loaded.flow.name))
            self._operations.append(self._store.flows.removal(loaded))
            self._gone_flows.append(loaded)

    # Afterwards

    def _report(self) -> None:
        note = self._store.events.note
        for node in self._created.values():
            note(events.NODE_CREATED, node_id=node.id, node=node, **self._place_of(node.id))
        for edit in self._edited:
            built = edit.after.last_built != edit.before.last_built
            name = events.SUMMARY_BUILT if built else events.NODE_UPDATED
            note(name, node_id=edit.after.id, node=edit.after)
        for node_id, _ in self._removed:
            note(events.NODE_DELETED, node_id=node_id)
        for loaded, change in self._flows:
            flow = loaded.flow
            note(events.FLOW_UPDATED, flow_id=flow.id, name=flow.name, change=change)
        for loaded in (*self._made_flows, *self._gone_flows):
            note(events.FLOW_UPDATED, flow_id=loaded.flow.id, name=loaded.flow.name)

    def _place_of(self, node_id: str) -> dict[str, object]:
        for loaded, change in self._flows:
            if node_id in change.add:
                parents = [connection for connection in change.connect if connection.target == node_id]
                return {"flow_id": loaded.flow.id, "parents": parents}
        return {"flow_id": "", "parents": []}

    def _inverse(self) -> GraphChange:
        return GraphChange(
            create=tuple(node for _, node in self._removed if node),
            edit=tuple(edit.inverse for edit in self._edited),
            take_back=tuple(self._created.values()),
            flows=tuple(self._inverse_flows),
            create_flows=tuple(loaded.flow for loaded in self._gone_flows),
            remove_flows=tuple(loaded.flow for loaded in self._made_flows),
        )
