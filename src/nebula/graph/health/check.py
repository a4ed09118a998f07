"""Looking for everything that can be wrong in a data folder, and repairing it.

Nothing that holds somebody's words is deleted: of two versions in one file both are kept, of two files with one
id the lesser gets an id of its own, a file that cannot be read stays where it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from nebula.graph.disk.flow_files import FOLDER as FLOWS
from nebula.graph.disk.flow_files import NAMELESS
from nebula.graph.disk.index_file import IndexFile
from nebula.graph.disk.node_files import FOLDER as NODES
from nebula.graph.disk.numbered_paths import DEFAULT_STEP, KINDS, NumberedFolders
from nebula.graph.disk.step import Operation, Put
from nebula.graph.errors import BadFile
from nebula.graph.formats import git_conflicts, tsv
from nebula.graph.formats.config_yaml import FILE as SETTINGS
from nebula.graph.formats.config_yaml import MAX_BYTES
from nebula.graph.formats.flow_edit import edit
from nebula.graph.formats.flow_yaml import MAX_FLOW_BYTES, FlowFile, load_flow
from nebula.graph.formats.node_edit import reidentified
from nebula.graph.formats.node_xml import MAX_NODE_BYTES, dump_node, load_node
from nebula.graph.health.flow_repair import merge, repaired_flow
from nebula.graph.health.strays import find_strays, kind_of, may_be_taken_in, read_flow, read_node
from nebula.graph.ids import id_of_content, new_id, now, sort_key
from nebula.graph.store import GraphStore
from nebula.graph.values import Node, Problem
from nebula.language import Sentence
from nebula.value import replace

T = TypeVar("T")


class Check:
    """One pass. Later parts see what earlier ones repaired. With `repair` the store's lock must be held."""

    def __init__(self, store: GraphStore, *, repair: bool) -> None:
        self._store = store
        self._disk = store.disk
        self._repair = repair
        self._found: list[Problem] = []
        self._step = DEFAULT_STEP

    def run(self) -> list[Problem]:
        """Return what is wrong, and with `repair` what was done about it."""
        self._settings()
        # Before repairing: what that makes old is no problem of the folder's. Marked as old is known, and none either:
        # it is written anew once changes have stopped.
        old = [] if self._store.metadata.is_old() else self._store.metadata.stale()
        self._strays()
        self._conflicts(NODES, MAX_NODE_BYTES, load_node, self._part_nodes)
        self._conflicts(FLOWS, MAX_FLOW_BYTES, load_flow, self._part_flows)
        self._look()
        self._index(NODES, self._store.node_index.all_files())
        self._clashes()
        self._index(FLOWS, self._flow_ids())
        self._flow_clashes()
        self._flows()
        for path in old:
            self._note("metadata", path, Sentence("does not match the nodes"), Sentence("written anew"))
        if self._repair:
            self._put_in_step()
        return self._found

    def _put_in_step(self) -> None:
        """Bring the derived files into step with what was repaired."""
        noted = list(self._found)
        self._look()
        self._index(NODES, self._store.node_index.all_files())
        self._index(FLOWS, self._flow_ids())
        self._found = noted
        if self._disk.signature(f"{NODES}/index.tsv"):
            self._store.metadata.rewrite()

    def _note(self, kind: str, path: str, what: Sentence, done: Sentence | None = None) -> None:
        self._found.append(Problem(kind, path, what, done if self._repair else None))

    def _look(self) -> None:
        self._store.node_cache.refresh()
        self._store.node_cache.scan()
        self._store.node_cache.read_all()

    def _settings(self) -> None:
        self._step = self._store.step
        problem = self._store.settings.problem
        if not problem:
            return
        versions = git_conflicts.versions((self._disk.head(SETTINGS, MAX_BYTES)).decode("utf-8", "replace"))
        if len(versions) == 1:
            self._note("unreadable", SETTINGS, problem)
            return
        self._note(
            "conflict", SETTINGS, Sentence("holds two versions of the settings, from a merge"), Sentence("ours kept")
        )
        if self._repair:
            self._disk.replace(SETTINGS, versions[0].encode("utf-8"), durable=True)

    def _files(self, kind: str, limit: int) -> Iterator[tuple[str, bytes]]:
        """Yield every file of a kind that can be read as bytes."""
        for path in NumberedFolders(self._disk, kind, KINDS[kind]).paths():
            try:
                data = self._disk.read(f"{kind}/{path}", limit)
            except BadFile as error:
                self._note("unreadable", f"{kind}/{path}", error.reason)
                continue
            if data is not None:
                yield path, data

    # Files under names that nobody reads

    def _strays(self) -> None:
        for path in list(find_strays(self._disk)):
            if not may_be_taken_in(path):
                self._note("stray", path, Sentence("is ignored: it is not a file of the graph"))
                continue
            try:
                data, kind = self._disk.read(path, MAX_NODE_BYTES) or b"", kind_of(path)
                content = (read_node if kind == NODES else read_flow)(self._store, path, data)
            except BadFile as error:
                sentence = "is ignored: its name is not a number, and it cannot be read either: {reason}"
                self._note("stray", path, Sentence(sentence, reason=error.reason))
                continue
            what = Sentence("is ignored: its name is not a number")
            if content is None:
                self._note("stray", path, what, Sentence("removed: it says the same as the one that is read"))
            else:
                target = self._index_of(kind).free_path(self._step)
                self._note("stray", path, what, Sentence("moved to {path}", path=f"{kind}/{target}"))
                self._commit([Put(f"{kind}/{target}", content.data)])
                if self._repair:
                    self._index_of(kind).append(target, content.id, content.timestamp)
            if self._repair:
                self._disk.remove(path)

    # Conflicts of a merge

    def _conflicts(
        self, kind: str, limit: int, load: Callable[[bytes, str], T], part: Callable[[str, T, T], T]
    ) -> None:
        """Part the versions in every file of a kind that holds several. One with our markers in a text can be read all
        the same. `part` returns what is left in the file."""
        for path, data in list(self._files(kind, limit)):
            where, problem = f"{kind}/{path}", None
            try:
                load(data, where)
                if git_conflicts.OWN_MARK.encode("ascii") not in data:
                    continue
            except BadFile as error:
                problem = error.reason
            versions = _versions(data, where, load)
            for theirs in versions[1:]:
                versions[0] = part(path, versions[0], theirs)
            if problem and not versions:
                self._note("unreadable", where, problem)

    def _part_nodes(self, path: str, ours: Node, theirs: Node) -> Node:
        where = f"{NODES}/{path}"
        if ours == theirs:
            self._note("conflict", where, Sentence("holds one node twice, from a merge"), Sentence("kept once"))
            self._commit([Put(where, dump_node(ours))])
            return ours
        if ours.id == theirs.id:
            theirs = replace(theirs, id=id_of_content(dump_node(theirs)))
        what = Sentence("holds two nodes, {ours} and {theirs}, from a merge", ours=ours.id, theirs=theirs.id)
        target = self._part(NODES, where, what, dump_node(ours), dump_node(theirs))
        if self._repair:
            self._store.nodes.index_file.append(target, theirs.id, theirs.timestamp)
        return ours

    def _part_flows(self, path: str, ours: FlowFile, theirs: FlowFile) -> FlowFile:
        where = f"{FLOWS}/{path}"
        if ours.flow.id == theirs.flow.id or ours.flow.name == theirs.flow.name:
            merged = edit(ours, replace(merge(ours.flow, theirs.flow), updated=now()))
            self._note(
                "conflict", where, Sentence("holds two versions of a flow, from a merge"), Sentence("joined into one")
            )
            self._commit([Put(where, merged.text.encode("utf-8"))])
            return merged
        versions = (version.text.encode("utf-8") for version in (ours, theirs))
        self._part(FLOWS, where, Sentence("holds two flows, from a merge"), *versions)
        return ours

    def _part(self, kind: str, where: str, what: Sentence, ours: bytes, theirs: bytes) -> str:
        """Keep our version in the file, and theirs under the next number; return its path."""
        target = self._index_of(kind).free_path(self._step) if self._repair else ""
        self._note("conflict", where, what, Sentence("the second moved to {path}", path=f"{kind}/{target}"))
        self._commit([Put(where, ours), Put(f"{kind}/{target}", theirs)])
        return target

    def _index_of(self, kind: str) -> IndexFile:
        return self._store.nodes.index_file if kind == NODES else self._store.flows.index_file

    def _commit(self, operations: list[Operation]) -> None:
        if self._repair:
            with self._disk.commit(operations):
                pass  # the indexes are looked at later, as a whole

    # Ids

    def _clashes(self) -> None:
        for path, what in self._store.node_index.clashes():
            data = self._store.nodes.read_bytes(path)
            fresh = id_of_content(path.encode("ascii") + data)
            self._note("clash", f"{NODES}/{path}", what, Sentence("got the id {node_id}", node_id=fresh))
            if self._repair:
                self._commit([Put(f"{NODES}/{path}", reidentified(data, fresh, path))])

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
                self._note(
                    "clash",
                    f"{FLOWS}/{item.path}",
                    Sentence("has the id of {path}", path=f"{FLOWS}/{winner}"),
                    Sentence("got an id of its own"),
                )
                flow = replace(flow, id=new_id())
            if flow.name in names:
                name = next(name for n in range(2, 10**9) if (name := f"{flow.name} ({n})") not in names)
                self._note(
                    "clash",
                    f"{FLOWS}/{item.path}",
                    Sentence("a second flow named {name}", name=repr(flow.name)),
                    Sentence("named {name}", name=repr(name)),
                )
                flow = replace(flow, name=name)
            names.add(flow.name)
            if flow != item.flow:
                text = edit(item.file, replace(flow, updated=now())).text
                self._commit([Put(f"{FLOWS}/{item.path}", text.encode("utf-8"))])
                self._store.flows.forget(item.path)

    # Indexes

    def _flow_ids(self) -> dict[str, tuple[str, str] | None]:
        good = {loaded.path: (loaded.flow.id, loaded.flow.created) for loaded in self._store.flows.all()}
        return {path: good.get(path) for path in self._store.flows.paths()}

    def _index(self, kind: str, there: dict[str, tuple[str, str] | None]) -> None:
        """Compare an index with the files it should name, and write it anew where they differ."""
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
                self._note("index", where, Sentence("{path} is not there", path=line.path), Sentence("line removed"))
            elif line.path in named:
                self._note("index", where, Sentence("{path} is named twice", path=line.path), Sentence("line removed"))
            else:
                named.add(line.path)
                right = tsv.Line(line.path, *known) if known else line
                if right.id != line.id:
                    what = Sentence("{path} is {right}, not {wrong}", path=line.path, right=right.id, wrong=line.id)
                    self._note("index", where, what, Sentence("line corrected"))
                lines.append(right if right.id != line.id else line)
        for path in there:
            known = there[path]
            if path not in named and known:
                self._note("index", where, Sentence("{path} is missing", path=path), Sentence("line added"))
                lines.append(tsv.Line(path, *known))
        wrong = tsv.count_odd(text, KINDS[kind])
        if wrong:
            self._note("index", where, Sentence("{count} lines cannot be understood", count=wrong), Sentence("removed"))
        if self._repair and len(self._found) > noted:
            self._disk.replace(
                where, (tsv.HEADER + "".join(line.text() for line in lines)).encode("utf-8"), durable=True
            )

    # Flows and metadata

    def _flows(self) -> None:
        files = self._store.node_index.all_files().values()
        known = {found[0] for found in files if found} | self._unreadable_ids()
        for loaded in self._store.flows.all():
            if loaded.is_nameless:
                self._note("nameless", f"{FLOWS}/{loaded.path}", NAMELESS)
            fixed, findings = repaired_flow(loaded.file, known)
            for kind, what, done in findings:
                self._note(kind, f"{FLOWS}/{loaded.path}", what, done)
            if findings and self._repair:
                text = edit(fixed, replace(fixed.flow, updated=now())).text
                self._commit([Put(f"{FLOWS}/{loaded.path}", text.encode("utf-8"))])
                self._store.flows.forget(loaded.path)

    def _unreadable_ids(self) -> set[str]:
        """Return nodes whose files are there but cannot be read now: they keep their place in the flows until then."""
        there = self._store.node_index.all_files()
        return {line.id for line in self._store.nodes.index_file.lines() if there.get(line.path, ()) is None}


def _versions(data: bytes, path: str, load: Callable[[bytes, str], T]) -> list[T]:
    """Return the sides of a file that git could not merge, ours first; nothing where one of them makes no sense."""
    try:
        return [load(each.encode("utf-8"), path) for each in git_conflicts.versions(data.decode("utf-8", "replace"))]
    except BadFile:
        return []
