"""The past of files in tables: which commits there were, and which words they said of which file.

What a search needs are postings, as of a segment but of one level: a place is a file of the commit that is checked out,
and its text are the subjects of the commits that changed it.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence

from nebula.index.constants import LEVELS, SEGMENT_CHUNKS
from nebula.index.postings import encode, occurrence
from nebula.index.stores.database import StoreDatabase
from nebula.index.terms.question import says_something
from nebula.index.terms.words import terms_of, words_of
from nebula.value import value


@value
class PastCommit:
    id: str
    subject: str = ""
    paths: tuple[str, ...] = ()
    """The files it changed, as they were called then; none where there were too many to be what it is about."""
    moves: tuple[tuple[str, str], ...] = ()
    """(from, to) of contents that it moved unchanged."""


class Past:
    db: StoreDatabase

    def past_commits(self) -> dict[str, PastCommit]:
        """Id → commit, of those that are known."""
        rows = self.db.execute("SELECT id, about FROM past_commit").fetchall()
        return {id: _read_commit(id, about) for id, about in rows}

    def set_past(
        self, mark: str, read: Sequence[PastCommit], past: Sequence[PastCommit], paths: Collection[str]
    ) -> None:
        """Keep the commits that were `read`, and of the `past`, the newest first, what it says of these paths. `mark`
        is the commit that this is the whole past of, or says that some of it is still to be read."""
        files, terms = _postings(_subjects(past, paths))
        kept = json.dumps([each.id for each in past])
        with self.db.writing():
            self.db.execute("DELETE FROM past_commit WHERE NOT id IN (SELECT value FROM json_each(?))", (kept,))
            self.db.executemany(
                "INSERT INTO past_commit VALUES (?, ?) ON CONFLICT DO NOTHING",
                [(each.id, _written(each)) for each in read],
            )
            self.db.execute("DELETE FROM changed")
            self.db.execute("DELETE FROM change_term")
            self.db.executemany("INSERT INTO changed VALUES (?, ?)", enumerate(files))
            self.db.executemany("INSERT INTO change_term VALUES (?, ?)", terms)
            self._set_meta("history", mark)
            self._next_generation()

    def _set_meta(self, key: str, text: str) -> None:
        raise NotImplementedError

    def _next_generation(self, changed: int = 0) -> None:
        raise NotImplementedError

    def changed_with(self, terms: Sequence[str]) -> dict[str, bytes]:
        """Term → postings in the files that have a past."""
        rows = self.db.execute(
            "SELECT term, files FROM change_term WHERE term IN (SELECT value FROM json_each(?))", (json.dumps(terms),)
        )
        return dict(rows.fetchall())

    def changed_places(self, paths: Iterable[str]) -> dict[str, int]:
        """Path → its place in those postings, of the files that have a past."""
        rows = self.db.execute(
            "SELECT path, place FROM changed WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(list(paths)),)
        )
        return dict(rows.fetchall())


def _subjects(past: Iterable[PastCommit], paths: Collection[str]) -> dict[str, list[str]]:
    """Path → subjects of the commits that changed the file, by whatever name it had then."""
    now: dict[str, str] = {}
    subjects: dict[str, list[str]] = {}
    for commit in past:
        for path in commit.paths:
            name = now.get(path, path)
            if name in paths:
                subjects.setdefault(name, []).append(commit.subject)
        now |= {old: now.get(new, new) for old, new in commit.moves}
    return subjects


def _postings(subjects: Mapping[str, Sequence[str]]) -> tuple[list[str], list[tuple[str, bytes]]]:
    """Return the paths by place, and (term, postings), both in order."""
    files = sorted(subjects)[: SEGMENT_CHUNKS + 1]
    found: dict[str, list[int]] = {}
    for place, path in enumerate(files):
        words = {word for subject in subjects[path] for word in words_of(subject) if says_something(word)}
        for term in {term for word in words for term in terms_of(word)}:
            found.setdefault(term, []).append(occurrence(LEVELS - 1, place))
    return files, [(term, encode(places)) for term, places in sorted(found.items())]


def _written(commit: PastCommit) -> str:
    return json.dumps([commit.subject, commit.paths, commit.moves]) if commit.paths or commit.moves else ""


def _read_commit(id: str, about: str) -> PastCommit:
    if not about:
        return PastCommit(id)
    subject, paths, moves = json.loads(about)
    return PastCommit(id, subject, tuple(paths), tuple((old, new) for old, new in moves))
