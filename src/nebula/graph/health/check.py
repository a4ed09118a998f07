"""Looking for everything that can be wrong in a data folder, and mending it.

Nothing that holds somebody's words is deleted: of two versions in one file both are kept, of two files with one
id the lesser gets an id of its own, a file that cannot be read stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterator

from nebula.graph.disk.flow_files import FOLDER as FLOWS
from nebula.graph.disk.journal import Operation, Put, checksum
from nebula.graph.disk.node_files import FOLDER as NODES
from nebula.graph.disk.numbered_folders import NumberedFolders
from nebula.graph.disk.numbered_paths import DEFAULT_STEP, KINDS
from nebula.graph.disk.settings import FILE as SETTINGS
from nebula.graph.errors import BadFile
from nebula.graph.formats import tsv
from nebula.graph.formats.flow_edit import edit
from nebula.graph.formats.flow_yaml import MAX_FLOW_BYTES, FlowFile, load_flow
from nebula.graph.formats.node_edit import reidentified
from nebula.graph.formats.node_xml import MAX_NODE_BYTES, dump_node, load_node
from nebula.graph.health import git_conflicts
from nebula.graph.health.flow_repair import mend, merge
from nebula.graph.ids import new_id, now, sort_key
from nebula.graph.store import Store
from nebula.graph.values import Node, Problem
from nebula.value import replace


class Check:
    """One pass. Later parts see what earlier ones mended. With `repair` the store's lock must be held."""

    def __init__(self, store: Store, *, repair: bool) -> None:
        self._store = store
        self._disk = store.disk
        self._repair = repair
        self._found: list[Problem] = []
        self._step = DEFAULT_STEP

    def run(self) -> list[Problem]:
        self._settings()
        if self._repair:
            self._disk.flush()
        # Before mending: what mending makes old is no problem of the folder's.
        old = self._old_metadata()
        self._node_conflicts()
        self._flow_conflicts()
        self._look()
        self._index(NODES, self._store.node_index.all_files())
        self._clashes()
        self._index(FLOWS, self._flow_ids())
        self._flow_clashes()
        self._flows()
        for path in old:
            self._note("metadata", path, "does not say what the nodes say", "written anew")
        if self._repair:
            self._put_in_step()
        return self._found

    def _put_in_step(self) -> None:
        """Brings the derived files after what was mended."""
        noted = list(self._found)
        self._look()
        self._index(NODES, self._store.node_index.all_files())
        self._index(FLOWS, self._flow_ids())
        self._found = noted
        if self._disk.signature(f"{NODES}/index.tsv"):
            self._store.metadata.rewrite()

    def _note(self, kind: str, path: str, message: str, repaired: str = "") -> None:
        self._found.append(Problem(kind, path, message, repaired if self._repair else ""))

    def _look(self) -> None:
        self._store.node_index.refresh()
        self._store.node_index.scan()
        self._store.node_index.read_all()

    def _settings(self) -> None:
        self._step = self._store.step
        problem = self._store.settings.problem
        if not problem:
            return
        versions = self._sides_of(SETTINGS)
        if versions is None:
            self._note("unreadable", SETTINGS, problem)
            return
        self._note("conflict", SETTINGS, "holds two versions of the settings, from a merge", "ours kept")
        if self._repair:
            self._disk.replace(SETTINGS, versions[0].encode("utf-8"), durable=True)

    def _sides_of(self, path: str) -> tuple[str, str] | None:
        try:
            data = self._disk.read(path) or b""
        except BadFile:
            return None
        return git_conflicts.sides(data.decode("utf-8", "replace"))

    def _files(self, kind: str, limit: int) -> Iterator[tuple[str, bytes]]:
        """Every file of a kind that can be read as bytes."""
        for path in NumberedFolders(self._disk, kind, KINDS[kind]).paths():
            try:
                data = self._disk.read(f"{kind}/{path}", limit)
            except BadFile as error:
                self._note("unreadable", f"{kind}/{path}", error.reason)
                continue
            if data is not None:
                yield path, data

    # Conflicts of a merge

    def _node_conflicts(self) -> None:
        for path, data in list(self._files(NODES, MAX_NODE_BYTES)):
            where = f"{NODES}/{path}"
            try:
                load_node(data, where)
                if not git_conflicts.has_own_markers(data):
                    continue
                problem = ""
            except BadFile as error:
                problem = error.reason
            versions = _node_versions(data, where)
            if versions:
                self._part_nodes(path, data, *versions)
            elif problem:
                self._note("unreadable", where, problem)

    def _part_nodes(self, path: str, data: bytes, ours: Node, theirs: Node) -> None:
        where = f"{NODES}/{path}"
        if ours == theirs:
            self._note("conflict", where, "holds one node twice, from a merge", "kept once")
            self._commit([Put(where, dump_node(ours), checksum(data))])
            return
        if ours.id == theirs.id:
            theirs = replace(theirs, id=new_id())
        target = self._store.nodes.free_path(self._step) if self._repair else ""
        message = f"holds two nodes, {ours.id} and {theirs.id}, from a merge"
        self._note("conflict", where, message, f"the second moved to {NODES}/{target}")
        self._commit([Put(where, dump_node(ours), checksum(data)), Put(f"{NODES}/{target}", dump_node(theirs), -1)])
        if self._repair:
            self._store.nodes.index(target, theirs)

    def _flow_conflicts(self) -> None:
        for path, data in list(self._files(FLOWS, MAX_FLOW_BYTES)):
            where = f"{FLOWS}/{path}"
            try:
                load_flow(data, where)
            except BadFile as error:
                versions = _flow_versions(data, where)
                if versions:
                    self._part_flows(path, data, *versions)
                else:
                    self._note("unreadable", where, error.reason)

    def _part_flows(self, path: str, data: bytes, ours: FlowFile, theirs: FlowFile) -> None:
        where = f"{FLOWS}/{path}"
        if ours.flow.id == theirs.flow.id or ours.flow.name == theirs.flow.name:
            merged = replace(merge(ours.flow, theirs.flow), updated=now())
            self._note("conflict", where, "holds two versions of a flow, from a merge", "joined into one")
            self._commit([Put(where, edit(ours, merged).text.encode("utf-8"), checksum(data))])
            return
        target = self._store.flows.free_path(self._step) if self._repair else ""
        self._note("conflict", where, "holds two flows, from a merge", f"the second moved to {FLOWS}/{target}")
        self._commit(
            [
                Put(where, ours.text.encode("utf-8"), checksum(data)),
                Put(f"{FLOWS}/{target}", theirs.text.encode("utf-8"), -1),
            ]
        )

    def _commit(self, operations: list[Operation]) -> None:
        if self._repair:
            self._disk.commit(operations)

    # Ids

    def _clashes(self) -> None:
        for path, node_id, winner in self._store.node_index.clashes():
            fresh = new_id()
            self._note(
                "clash",
                f"{NODES}/{path}",
                f"has the id {node_id} of {NODES}/{winner}, which counts",
                f"got the id {fresh}",
            )
            if self._repair:
                data = self._store.nodes.read_bytes(path)
                self._commit([Put(f"{NODES}/{path}", reidentified(data, fresh, path), checksum(data))])

    def _flow_clashes(self) -> None:
        loaded = self._store.flows.all()
        by_id: dict[str, list[str]] = {}
        for item in sorted(loaded, key=lambda item: sort_key(item.flow.updated), reverse=True):
            by_id.setdefault(item.flow.id, []).append(item.path)
        names: set[str] = set()
        for item in loaded:
            flow = item.flow
            winner = by_id[flow.id][0]
            if item.path != winner:
                self._note("clash", f"{FLOWS}/{item.path}", f"has the id of {FLOWS}/{winner}", "got an id of its own")
                flow = replace(flow, id=new_id())
            if flow.name in names:
                name = next(name for n in range(2, 10**9) if (name := f"{flow.name} ({n})") not in names)
                self._note("clash", f"{FLOWS}/{item.path}", f"a second flow named {flow.name!r}", f"named {name!r}")
                flow = replace(flow, name=name)
            names.add(flow.name)
            if flow != item.flow and self._repair:
                self._store.put_flow(item, flow)

    # Indexes

    def _flow_ids(self) -> dict[str, tuple[str, str] | None]:
        good = {loaded.path: (loaded.flow.id, loaded.flow.created) for loaded in self._store.flows.all()}
        return {path: good.get(path) for path in self._store.flows.paths()}

    def _index(self, kind: str, there: dict[str, tuple[str, str] | None]) -> None:
        """Compares an index with the files it should name, and writes it anew where they differ."""
        where = f"{kind}/index.tsv"
        try:
            data = self._disk.read(where) or b""
        except BadFile as error:
            self._note("unreadable", where, error.reason)
            return
        text = data.decode("utf-8", "replace")
        lines: list[tsv.Line] = []
        named: set[str] = set()
        noted = len(self._found)
        for line in tsv.parse(text, KINDS[kind]):
            known = there.get(line.path, ("", ""))
            if line.path not in there:
                self._note("index", where, f"{line.path} is not there", "line removed")
            elif line.path in named:
                self._note("index", where, f"{line.path} is named twice", "line removed")
            else:
                named.add(line.path)
                right = tsv.Line(line.path, *known) if known else line
                if right.id != line.id:
                    self._note("index", where, f"{line.path} is {right.id}, not {line.id}", "line corrected")
                lines.append(right if right.id != line.id else line)
        for path in there:
            known = there[path]
            if path not in named and known:
                self._note("index", where, f"{path} is missing", "line added")
                lines.append(tsv.Line(path, *known))
        wrong = tsv.count_odd(text, KINDS[kind])
        if wrong:
            self._note("index", where, f"{wrong} lines make no sense", "removed")
        if self._repair and len(self._found) > noted:
            self._disk.replace(
                where, (tsv.HEADER + "".join(line.text() for line in lines)).encode("utf-8"), durable=True
            )

    # Flows and metadata

    def _flows(self) -> None:
        files = self._store.node_index.all_files().values()
        known = {found[0] for found in files if found} | self._unreadable_ids()
        for loaded in self._store.flows.all():
            file = edit(loaded.file, loaded.flow)
            mended, findings = mend(file, known)
            for kind, message, repaired in findings:
                self._note(kind, f"{FLOWS}/{loaded.path}", message, repaired)
            if findings and self._repair:
                old = loaded.file.text.encode("utf-8")
                text = edit(mended, replace(mended.flow, updated=now())).text
                self._commit([Put(f"{FLOWS}/{loaded.path}", text.encode("utf-8"), checksum(old))])
                self._store.flows.forget(loaded.path)

    def _unreadable_ids(self) -> set[str]:
        """Nodes whose files are there but cannot be read now: they keep their place in the flows until mended."""
        there = self._store.node_index.all_files()
        lines = (line for piece, _ in self._store.nodes.index_file.chunks(0) for line in piece)
        return {line.id for line in lines if there.get(line.path, ()) is None}

    def _old_metadata(self) -> list[str]:
        # Marked as old is known, and not a problem: it is written anew once changes have stopped.
        return [] if self._store.metadata.is_old() else self._store.metadata.stale()


def _node_versions(data: bytes, path: str) -> tuple[Node, Node] | None:
    versions = git_conflicts.sides(data.decode("utf-8", "replace"))
    if versions is None:
        return None
    try:
        ours, theirs = (load_node(version.encode("utf-8"), path) for version in versions)
    except BadFile:
        return None
    return ours, theirs


def _flow_versions(data: bytes, path: str) -> tuple[FlowFile, FlowFile] | None:
    versions = git_conflicts.sides(data.decode("utf-8", "replace"))
    if versions is None:
        return None
    try:
        ours, theirs = (load_flow(version.encode("utf-8"), path) for version in versions)
    except BadFile:
        return None
    return ours, theirs


def check(store: Store, *, repair: bool) -> list[Problem]:
    """What is wrong, and with `repair` what was done about it."""
    return Check(store, repair=repair).run()
