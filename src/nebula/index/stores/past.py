"""The past of files in tables: which commits there were, and which words they said of which file.

The commits are kept so that git need not tell of them again. They are read and written all at once, and packed: as a
row each they took a tenth of an index.

What a search needs are postings, as of a segment but of one level: a place is a file of the commit that is checked out,
and its text are the subjects of the commits that changed it.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from nebula.index.constants import LEVELS, SEGMENT_CHUNKS
from nebula.index.postings import encode, occurrence
from nebula.index.stores.lookups import Lookups
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


class Past(Lookups):
    def past_commits(self) -> dict[str, PastCommit]:
        """Id → commit, of those that are known."""
        row = self.db.execute("SELECT ids, commits FROM past").fetchone()
        return {each.id: each for each in _unpacked(*row)} if row else {}

    def set_past(self, mark: str, past: Sequence[PastCommit], paths: Collection[str]) -> None:
        """Keep the commits of the `past`, the newest first, and what they say of these paths. `mark` is the commit that
        this is the whole past of, or says that some of it is still to be read."""
        files, terms = _postings(_subjects(past, paths))
        with self.db.writing():
            self.db.execute("DELETE FROM past")
            self.db.execute("INSERT INTO past VALUES (?, ?)", _packed(past))
            self.db.execute("DELETE FROM changed")
            self.db.execute("DELETE FROM change_term")
            self.db.executemany("INSERT INTO changed VALUES (?, ?)", enumerate(files))
            self.db.executemany("INSERT INTO change_term VALUES (?, ?)", terms)
            self._set_meta("history", mark)
            self._next_generation()

    def changed_with(self, terms: Sequence[str]) -> dict[str, bytes]:
        """Return term → postings in the files that have a past."""
        rows = self.db.execute(
            "SELECT term, files FROM change_term WHERE term IN (SELECT value FROM json_each(?))", (json.dumps(terms),)
        )
        return dict(rows.fetchall())

    def changed_places(self, paths: Iterable[str]) -> dict[str, int]:
        """Return path → its place in those postings, of the files that have a past."""
        rows = self.db.execute(
            "SELECT path, place FROM changed WHERE path IN (SELECT value FROM json_each(?))", (json.dumps(list(paths)),)
        )
        return dict(rows.fetchall())


def _subjects(past: Iterable[PastCommit], paths: Collection[str]) -> dict[str, list[str]]:
    """Return path → subjects of the commits that changed the file, by whatever name it had then."""
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


def _packed(past: Sequence[PastCommit]) -> tuple[bytes, bytes]:
    """Return the ids, which say nothing that could be said shorter, and the rest of the commits."""
    ids = b"".join(bytes.fromhex(each.id) for each in past)
    return ids, zlib.compress(json.dumps([(each.subject, each.paths, each.moves) for each in past]).encode())


def _unpacked(ids: bytes, commits: bytes) -> Iterator[PastCommit]:
    rows = json.loads(zlib.decompress(commits))
    size = len(ids) // (len(rows) or 1)  # ids of SHA-1 and of SHA-256 differ in length
    for place, (subject, paths, moves) in enumerate(rows):
        id = ids[place * size : (place + 1) * size].hex()
        yield PastCommit(id, subject, tuple(paths), tuple((old, new) for old, new in moves))
