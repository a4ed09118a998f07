"""The face of the code index."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable, Sequence
from functools import cached_property, partial, wraps
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

from nebula.files.descriptors import ClosedByBlock
from nebula.files.home import derived_folder, project_id
from nebula.index.constants import FRESH_ROUNDS, OUTLINE_FILES, PART_WEIGHTS
from nebula.index.embedders.contract import Embedder
from nebula.index.embedders.fill import fill
from nebula.index.errors import IndexFailed
from nebula.index.in_step.queue import Change, Queue
from nebula.index.ranking.meaning import Meaning
from nebula.index.ranking.outline import OutlinedFile, outline
from nebula.index.ranking.search import measure, rank
from nebula.index.reading import Root
from nebula.index.stores.rows import Candidate, Scope, Segment
from nebula.index.stores.sqlite import is_damage, open_sqlite, renewed_sqlite, unusable
from nebula.index.stores.store import Store
from nebula.index.values import Hit, Progress, Report, Skipped, Status, joined
from nebula.llm.errors import ModelError

if TYPE_CHECKING:
    from nebula.index.in_step.follow import Follower

DATABASE_NAME = "index.db"

Hides = Callable[[str], bool]
"""Which files are not for the index, whatever git says: those that may hold secrets."""


def hides_nothing(_: str) -> bool:
    return False


P = ParamSpec("P")
R = TypeVar("R")


def repairing(method: Callable[Concatenate[Index, P], R]) -> Callable[Concatenate[Index, P], R]:
    """Make an index file anew that turns out to be damaged, and ask again what was asked; one that cannot be used for
    another reason is a sentence to the user."""

    @wraps(method)
    def repaired(index: Index, /, *args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(index, *args, **kwargs)
        except sqlite3.DatabaseError as error:
            if isinstance(error, sqlite3.OperationalError):
                folder = os.path.dirname(index.queue.folder)
                raise unusable(error, os.path.join(folder, DATABASE_NAME)) from None
            if not is_damage(error):
                raise
        index.make_anew()
        return method(index, *args, **kwargs)

    return repaired


class Index(ClosedByBlock):
    """Searches the files of a project, and keeps itself in step with them.

    Used by one thread at a time; several processes may have the same index open.
    """

    def __init__(
        self,
        root: str,
        store: Store,
        *,
        home: str | None = None,
        hides: Hides = hides_nothing,
        renew: Callable[[], Store] | None = None,
    ) -> None:
        """`renew`: an empty store in place of one that is damaged."""
        self.root = Root(root)
        self.store = store
        self.queue = Queue(root, home)
        self.embedders: Sequence[Embedder] = ()
        """The chosen one first, then those that may answer until it has seen everything."""
        self.hides = hides
        self.heard_renames: Callable[[int, int], None] | None = None
        """Hears how many files a commit moved, and how many of them the index followed."""
        self.heard_sync: Callable[[], None] | None = None
        """Hears that the index is in step."""
        self._renew = renew

    @classmethod
    def open(cls, root: str, *, home: str | None = None, url: str = "", hides: Hides = hides_nothing) -> Index:
        """Return the index of a project, made if there is none. One that is damaged, or from another version, is made
        anew.

        `url` of a PostgreSQL database keeps it there instead of in a file.
        """
        store: Store
        renew = None
        if url:
            from nebula.index.stores.postgres import PostgresDatabase, PostgresStore

            store = PostgresStore(PostgresDatabase(url, project_id(root)))
        else:
            path = os.path.join(derived_folder(root, home), DATABASE_NAME)
            store, renew = open_sqlite(path), partial(renewed_sqlite, path)
        return cls(root, store, home=home, hides=hides, renew=renew)

    def stop_by(self, stop: threading.Event) -> None:
        """Give up what is under way, from any thread, once `stop` is set: it raises IndexStopped."""
        self.root.stop = stop

    def make_anew(self) -> None:
        """Throw a damaged store away and read all files again."""
        if self._renew is not None:
            self.store.close()
            self.store = self._renew()
            self.__dict__.pop("_follower", None)
            self._follower.sync()

    def close(self) -> None:
        self.store.close()
        self.root.close()

    @cached_property
    def _follower(self) -> Follower:
        from nebula.index.in_step.follow import Follower  # parsers and git: 20 ms that a search need not pay

        return Follower(self.root, self.store, self.hides)

    @repairing
    def sync(self, progress: Progress | None = None) -> Report:
        """Bring the whole index in step with the files, whatever happened to them. Tell of files done and wanted."""
        waiting = self.queue.entries()
        moves = self._known_moves([change for entry in waiting for change in self.queue.read(entry)])
        report = self._follower.sync(progress)
        for entry in waiting:
            self.queue.remove(entry)
        self._check_renames(moves)
        if self.heard_sync is not None:
            self.heard_sync()
        return report

    @repairing
    def clear(self) -> None:
        """Forget every file, so that the next `sync` makes the index anew. Vectors stay: they are keyed by content."""
        gone = self.store.states().keys() | self.store.skipped().keys()
        self.store.add(Segment(), gone=sorted(gone))

    @repairing
    def drain(self) -> Report:
        """Take in what commits handed over, without a look at the other files."""
        report = Report()
        for entry in self.queue.entries():
            changes = self.queue.read(entry)
            moves = self._known_moves(changes)
            report = joined(report, self._take_in(changes))
            self.queue.remove(entry)
            self._check_renames(moves)
        return report

    def _known_moves(self, changes: Sequence[Change]) -> dict[str, str]:
        """New name → old name of the indexed files that were moved; of one that was moved twice, the way as a whole."""
        if self.heard_renames is None:
            return {}
        moves: dict[str, str] = {}
        for change in changes:
            if change.moved_from:
                moves[change.path] = moves.pop(change.moved_from, change.moved_from)
        known = self.store.states(list(moves.values()))
        return {new: old for new, old in moves.items() if old in known}

    def _check_renames(self, moves: dict[str, str]) -> None:
        """Report how many renames there were, and how many of them the index has under the new name alone."""
        moves = {new: old for new, old in moves.items() if self.root.stat(new) is not None}
        if moves and self.heard_renames is not None:
            known = self.store.states([*moves, *moves.values()])
            self.heard_renames(len(moves), sum(new in known and old not in known for new, old in moves.items()))

    def _take_in(self, changes: Sequence[Change]) -> Report:
        moves = [(change.moved_from, change.path) for change in changes if change.moved_from]
        return joined(self.rename(moves), self.ingest([change.path for change in changes if not change.moved_from]))

    @repairing
    def ingest(self, paths: Sequence[str]) -> Report:
        """Read files, and all files below folders, whatever their stamps say; take out what is no longer there."""
        return self._follower.ingest(paths)

    @repairing
    def prune(self, paths: Sequence[str]) -> Report:
        """Take files, and all files below folders, out of the index."""
        gone = self.store.states_below([self.root.inside(path) for path in paths])
        self.store.add(Segment(), gone=sorted(gone))
        return Report(deleted=len(gone))

    @repairing
    def rename(self, moves: Sequence[tuple[str, str]]) -> Report:
        """Rename files that were moved, each given as (from, to); those that also changed are read again."""
        return self._follower.rename(moves)

    @repairing
    def search(self, question: str, limit: int = 10, *, path_prefix: str = "", language: str = "") -> list[Hit]:
        """Return the best chunks, each as its file is now. A file that changed is read again first, or left out."""
        hits: list[Hit] = []
        meaning, scope = self._meaning(question), Scope.of(path_prefix, language)
        for _ in range(FRESH_ROUNDS):
            with self.store.db.reading():
                found = rank(self.store, question, limit, scope, meaning)
            hits, stale = self._read(found)
            if not stale:
                break
            self.ingest(stale)
        return hits

    @repairing
    def explain(self, question: str, *, path_prefix: str = "", language: str = "") -> dict[str, dict[str, float]]:
        """Return `path:span` of every chunk that may be meant → the parts of its score, each with what it adds."""
        with self.store.db.reading():
            found = measure(self.store, question, Scope.of(path_prefix, language), self._meaning(question))
        return {
            f"{c.path}:L{c.start}-L{c.end}": {name: PART_WEIGHTS[name] * amount for name, amount in parts.items()}
            for c, parts in found
        }

    @repairing
    def outline(self, question: str = "", recent: Sequence[str] = (), limit: int = OUTLINE_FILES) -> list[OutlinedFile]:
        """Return the files that count most, each with what it defines; as indexed, but for files that are gone."""
        with self.store.db.reading():
            return outline(self.store, question, recent, limit, lambda path: self.root.stat(path) is not None)

    def state(self) -> str:
        """Another one whenever something in the index changed."""
        return str(self.store.shape().generation)

    def answering(self) -> Embedder | None:
        """Return the embedder whose vectors are used: the chosen one once it has seen every chunk, until then the
        fullest."""
        seen = self.store.models()
        if self.embedders and seen.get(self.embedders[0].name, 0) >= self.store.shape().chunks:
            return self.embedders[0]
        fullest = max(self.embedders, key=lambda each: seen.get(each.name, 0), default=None)
        return fullest if fullest is not None and seen.get(fullest.name) else None

    def _meaning(self, question: str) -> Meaning | None:
        embedder = self.answering()
        if embedder is None or not question.strip():
            return None
        try:
            (vector,) = embedder.embed([question], is_question=True)
        except (ModelError, IndexFailed):  # not reachable, no quota, not to be loaded: words alone answer as well
            return None
        return Meaning(self.store, embedder.name, vector)

    @repairing
    def embed(self, stop: threading.Event | None = None, progress: Progress | None = None) -> int:
        """Give every chunk a vector of the chosen embedder; return how many texts that took.

        It takes as long as the embedder does: for a thread of its own, with an index of its own.
        """
        return fill(self.root, self.store, self.embedders[0], stop=stop, progress=progress) if self.embedders else 0

    def _read(self, found: list[tuple[float, Candidate]]) -> tuple[list[Hit], list[str]]:
        """Return the hits of what was found, and the paths that no longer have the content it was found in."""
        commit = self.store.meta("commit")
        files = self.root.lines_of([(each.path, each.blob, each.end) for _, each in found])
        hits = []
        for score, each in found:
            lines = files[each.path]
            if lines is not None:
                text = lines.text(each.start, each.end)
                about = (each.symbol, commit if each.committed else "", each.blob, each.language)
                hits.append(Hit(each.path, f"L{each.start}-L{each.end}", text, round(score, 4), *about))
        return hits, [path for path, lines in files.items() if lines is None]

    @repairing
    def status(self) -> Status:
        shape = self.store.shape()
        skipped = tuple(Skipped(path, reason) for path, (reason, _) in sorted(self.store.skipped().items()))
        chosen = self.embedders[0].name if self.embedders else ""
        embedded = self.store.models().get(chosen, 0)
        total = int(self.store.meta("embedded_total") or 0)
        queued = len(self.queue.entries())
        return Status(shape.files, shape.chunks, queued, embedded, total, skipped, self.store.meta("commit"), chosen)
