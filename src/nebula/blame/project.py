"""Who wrote the lines of a project's files: the journal, the graph and git asked together. Nothing is written but
what helps to answer the same question again (`kept`), and nodes are parted that git put into one file."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Self

from nebula.blame import text
from nebula.blame.authors import BEFORE, YOU, Author, pack_authors, unpack_authors
from nebula.blame.journal_history import MOST_OF_FILE, JournalHistory
from nebula.blame.kept.basis import Basis, own_address, own_email
from nebula.blame.kept.cache import BlameCache
from nebula.blame.reflog import changed_files, find_state
from nebula.blame.runs import LineRun, checked_runs, join_runs
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.files.digest import digest
from nebula.git import find_commit, place_in_repository
from nebula.graph.errors import GraphError
from nebula.workspace.journal.reader import JournalReader
from nebula.workspace.local import open_workspace

# What works an answer out is imported where that is done: most answers are known from before, and those modules would
# be a quarter of the time that such a question takes.
if TYPE_CHECKING:
    from nebula.blame.commits import LineCommit, LineOrigin
    from nebula.blame.fold import Fold
    from nebula.blame.node_lines import TurnLines
    from nebula.graph.graph import Graph
    from nebula.graph.values import Node


_LOOK_AT: Final = 50
"""Node files, of those that came last, of which one that cannot be read may hold two nodes."""


class BlameRefused(NebulaError):
    """Raised for what has no lines: a missing or a binary file."""


class BadTarget(BlameRefused):
    """Raised for a folder, a revision that is none, or a bad range."""

    exit_code = EXIT_USAGE


class ProjectBlame:
    """Open for as long as questions about one state of a project are asked.

    `current` is a turn that is still running: it has no node yet, and its lines are its own all the same."""

    def __init__(self, root: str, current: str = "") -> None:
        self._root = root
        self._current = current
        self._workspace = open_workspace(root, read_only=True)
        self._journal = JournalReader(root)
        self._basis = Basis()
        """Of the authors, as the journal tells them."""
        self._more_basis = Basis()
        """Of what is told of them: the graph and git."""
        self._cache = BlameCache(root, self._journal)
        self._history = JournalHistory(self._workspace, self._journal, self._basis)
        self._nodes: dict[str, Node | None] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._cache.close()
        self._journal.close()
        self._workspace.close()
        if "_graph" in self.__dict__ and self._graph is not None:
            self._graph.close()

    def read(self, path: str, revision: str = "") -> tuple[str, bytes]:
        """Return a file's own path, once links are followed, and its content, as it is now or in a revision.

        Raises BlameRefused, and WorkspaceError for what the guard refuses."""
        real = self._workspace.resolve(path)
        if revision:
            from nebula.blame.commits import content_at

            if not find_commit(self._root, revision):
                raise BadTarget("There is no revision {revision} here.", revision=revision)
            content = content_at(self._root, revision, real)
            if content is None:
                raise BlameRefused("{path}: is not in {revision}.", path=real, revision=revision)
        else:
            kind = self._workspace.probe(real).kind
            if kind == "directory":
                raise BadTarget("{path}: is a directory; name a file in it.", path=real)
            if kind == "missing":
                raise BlameRefused("{path}: there is no such file.", path=real)
            content = self._workspace.read_bytes(real, MOST_OF_FILE)
        if text.is_binary(content):
            raise BlameRefused("{path}: is not a text file, so it has no lines.", path=real)
        return real, content

    def runs(self, path: str, content: bytes, revision: str = "") -> list[LineRun]:
        """Return who wrote each line of a content that a file has, or had."""
        return [LineRun(**run) for run in self.told(path, content, revision)]

    def told(self, path: str, content: bytes, revision: str = "") -> Sequence[dict[str, Any]]:
        """Return the same as JSON tells it, which is how it is kept."""
        if revision or self._current:
            return [run.to_json() for run in self._work_out(path, content, revision)]
        lines = text.count_lines(content)
        kept = self._cache.find(path, "runs", digest(content), lambda packed: checked_runs(packed, lines))
        if kept is not None:
            return kept[1]
        told = [run.to_json() for run in self._work_out(path, content)]
        if self._graph is not None:
            self._more_basis.look_at(*self._graph.find_files({run["node_id"] for run in told if "node_id" in run}))
        self._more_basis.rest_on(self._basis)
        self._cache.keep(path, "runs", self._more_basis, told)
        return told

    def _work_out(self, path: str, content: bytes, revision: str = "") -> list[LineRun]:
        authors = self.authors(path, content, is_in_git=bool(revision))
        open_lines = [number for number, author in enumerate(authors) if author.kind in ("you", "before")]
        yours = {number for number in open_lines if authors[number] == YOU}
        origins = self._find_origins(path, content, open_lines, revision, yours) if open_lines else {}
        authors = self._with_carried_here(path, content, authors, origins, revision)
        self._ask_where_they_stood(path, authors, origins)
        self._ask_others(authors, origins)
        told, number = [], 0
        commits = {line: origin.commit for line, origin in origins.items()}
        for (author, commit), own in groupby((each, commits.get(place)) for place, each in enumerate(authors)):
            end = number + sum(1 for _ in own)
            told.append(self._tell(number + 1, end, author, commit))
            number = end
        return join_runs(told)

    def _find_origins(
        self, path: str, content: bytes, lines: list[int], revision: str, yours: Collection[int]
    ) -> dict[int, LineOrigin]:
        from nebula.blame.commits import find_origins

        self._more_basis.look_at(*find_state(self._root))
        self._more_basis.email = own_address()
        changed = self._changed_files if not revision else tuple
        return find_origins(
            self._root,
            path,
            content,
            lines,
            revision or "HEAD",
            mine=self._own_email,
            yours=yours,
            changed=changed,
            now=self._history.now,
        )

    def _with_carried_here(
        self, path: str, content: bytes, authors: list[Author], origins: Mapping[int, LineOrigin], revision: str
    ) -> list[Author]:
        """Return the authors, with lines of turns that a person moved here before a turn first changed this file.

        The journal does not say since when the lines of such a file stand there. Git does, where they are committed:
        what came before the turn, or with a commit of somebody else, is only like the turn's."""
        since = [0.0 if revision else self._history.changed_at(path)] * len(authors)
        for line, origin in origins.items():
            since[line] = _seconds(origin.commit.at) if origin.commit.email == self._own_email else 0.0
        known = [None if author == BEFORE and at else author for author, at in zip(authors, since, strict=True)]
        if None not in known:
            return authors
        carried = self._fold.find_carried_here(path, content, known)
        nodes = [self.node(each.of) if each is not None and each.kind == "turn" else None for each in carried]
        return [
            each if author == BEFORE and each and node and int(_seconds(node.timestamp)) <= at else author
            for author, each, node, at in zip(authors, carried, nodes, since, strict=True)
        ]

    def _ask_where_they_stood(self, path: str, authors: list[Author], origins: Mapping[int, LineOrigin]) -> None:
        """Give lines that git knows from another file the author that they had there. A person may move what git
        brought before any turn has seen it, and to a file that no turn has changed."""
        above = place_in_repository(self._root)
        above += "/" if above else ""
        stood: dict[tuple[str, str], list[Author]] = {}
        for line, origin in origins.items():
            there = origin.path.removeprefix(above)
            if there == path or not origin.path.startswith(above):
                continue
            if authors[line] != YOU and not (authors[line] == BEFORE and self._history.changes(there)):
                continue
            place = origin.commit.id, there
            if place not in stood:
                content = origin.read_file(self._root, there)
                stood[place] = self._fold.authors(there, content, is_in_git=True) if content is not None else []
            then = stood[place][origin.line - 1 : origin.line]
            if then and then[0] != YOU:
                authors[line] = self._with_node(then[0])

    def _changed_files(self) -> Sequence[str]:
        return self._more_basis.changed.setdefault(self._root, changed_files(self._root))

    def _ask_others(self, authors: list[Author], origins: Mapping[int, LineOrigin]) -> None:
        """Give lines that another agent says it wrote to that one; to a turn, where it was one of this project."""
        if not origins:
            return
        from nebula.blame.exchange.other_agents import OtherAgents

        for line, agent in OtherAgents(self._root).find(origins).items():
            is_turn = agent.tool == "nebula" and self.node(agent.id) is not None
            authors[line] = Author(
                "turn" if is_turn else "other", agent.id if is_turn else f"{agent.tool}\n{agent.model}"
            )

    def authors(self, path: str, content: bytes, *, is_in_git: bool = False) -> list[Author]:
        """Return the author of each line of a file as it is now, or as git has it, as far as turns are concerned; git
        is not asked."""
        folded = self._fold.authors(path, content, is_in_git=True) if is_in_git else self._folded(path, content)
        authors = self._with_records(path, content, folded)
        return [self._with_node(author) for author in authors]

    def _folded(self, path: str, content: bytes) -> list[Author]:
        """Return the author of each line, as far as the journal knows it."""
        lines = text.count_lines(content)
        kept = self._cache.find(path, "authors", digest(content), lambda packed: unpack_authors(packed, lines))
        if kept is not None:
            self._basis.rest_on(kept[0])
            return kept[1]
        authors = self._fold.authors(path, content)
        self._cache.keep(path, "authors", self._basis, pack_authors(authors))
        return authors

    def nodes(self) -> list[Node]:
        """Return all nodes of the project's graph, oldest first."""
        listed = self._graph.list_nodes() if self._graph is not None else []
        found = sorted(listed, key=lambda node: (_seconds(node.timestamp), node.id))  # ids begin with a finer moment
        self._nodes |= {node.id: node for node in found}
        return found

    def node(self, node_id: str) -> Node | None:
        """Return the node of a turn; None where it left none that can be read."""
        if node_id not in self._nodes:
            try:
                self._nodes[node_id] = self._graph.get_node(node_id) if self._graph is not None else None
            except GraphError:
                self._nodes[node_id] = None
        return self._nodes[node_id]

    def short_ids(self, node_ids: Iterable[str]) -> dict[str, str]:
        """Return each id with the shortest beginning that stands for it alone."""
        wanted = dict.fromkeys(node_ids)
        return self._graph.shortest_unique_ids(wanted) if self._graph is not None and wanted else {}

    @cached_property
    def _fold(self) -> Fold:
        from nebula.blame.fold import Fold

        return Fold(self._history)

    @cached_property
    def _graph(self) -> Graph | None:
        folder = os.path.join(self._root, ".nebula", "graph")
        graph = None
        if os.path.isdir(folder):
            from nebula.graph.graph import Graph

            graph = Graph(folder)
            self._part_merged(graph)
        self._more_basis.look_into(os.path.join(folder, "nodes"))
        return graph

    def _part_merged(self, graph: Graph) -> None:
        """Part nodes of which a merge, also one of somebody else's, left two in one file: the second would count as
        none, and its lines as the user's."""
        with suppress(GraphError, OSError):  # another one is at it, or nothing may be written: its time comes
            if os.path.exists(os.path.join(graph.data_dir, ".state/merged")) or graph.unreadable(_LOOK_AT):
                from nebula.graph.merging import settle_merge

                settle_merge(graph)

    @cached_property
    def _own_email(self) -> str | None:
        return own_email(self._root)

    def _with_records(self, path: str, content: bytes, authors: list[Author]) -> list[Author]:
        """Return the authors, with turns of which only the node's own record is known: in a clone, or of others."""
        if all(author.kind == "turn" for author in authors) or not self._records:
            return authors
        from nebula.blame.node_lines import find_writers

        writers = find_writers(path, content, self._records, self._history.now)
        return [
            Author("turn", writer) if writer is not None and author.kind in ("you", "before") else author
            for author, writer in zip(authors, writers, strict=True)
        ]

    @cached_property
    def _records(self) -> list[TurnLines]:
        """Return what nodes record whose turns are not in the journal, oldest first."""
        from nebula.blame.node_lines import TurnLines

        return [
            TurnLines(node.id, file.path, file.wrote, file.removed, file.before, file.after)
            for node in self.nodes()
            if not self._history.has_turn(node.id)
            for file in node.files
        ]

    def _with_node(self, author: Author) -> Author:
        """Return the author, or the user in place of a turn that left no node."""
        if author.kind != "turn" or author.of == self._current:
            return author
        return author if self.node(author.of) is not None else YOU

    def _tell(self, first: int, last: int, author: Author, commit: LineCommit | None) -> LineRun:
        if author.kind == "turn" and (node := self.node(author.of)) is not None:
            if node.agent:  # imported: another agent's turn
                prompt = first_line(node.prompt)
                return LineRun(first, last, "other", node.id, prompt, node.model, node.timestamp, tool=node.agent)
            return LineRun(
                first, last, "turn", node.id, first_line(node.prompt), node.model, node.timestamp, node.verified
            )
        if author.kind == "turn":
            return LineRun(first, last, "turn", author.of)
        if author.kind == "other":
            tool, _, model = author.of.partition("\n")
            return LineRun(first, last, "other", model=model, tool=tool)
        if author == YOU and commit is not None and self._is_older(commit):
            author = BEFORE
        if author == BEFORE and commit is not None:
            return LineRun(first, last, "before", at=commit.at, commit=commit.id, author=commit.author)
        return LineRun(first, last, author.kind)

    def _is_older(self, commit: LineCommit) -> bool:
        """Return True for a commit of somebody else, and for one from before the first turn."""
        return self._own_email not in (None, commit.email) or commit.made + 1 < self._history.began


def _seconds(moment: str) -> float:
    """Return an ISO time in seconds; 0 for what is none."""
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return 0.0


def first_line(prompt: str) -> str:
    """Return the first line of a prompt that says anything."""
    return next((line.strip() for line in prompt.splitlines() if line.strip()), "")
