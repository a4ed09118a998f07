"""Answers from before, in the user's home (`~/.nebula/projects/<id>/blame.db`): who wrote a file's lines.

Derived and disposable: a damaged file is thrown away, one that is locked or cannot be written is done without. It holds
ids of turns, first lines of prompts and digests, never what a file says. Of the journal only the place of each path's
newest record is kept, and only what was appended since the last look is read, so a turn in another file costs nothing.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, Literal, TypeVar

from nebula.blame.kept.basis import Basis
from nebula.files.database import ForeignDatabase, connect, remove_database, transaction
from nebula.files.home import derived_folder
from nebula.workspace.journal.reader import JournalReader

FILE: Final = "blame.db"
_APPLICATION: Final = 0x4E47626C  # "NGbl"
_VERSION: Final = 4
_PATIENCE_S: Final = 1.0
"""Seconds to wait for another process: working it out takes about as long."""
_MOST_ANSWERS: Final = 1_000
_AT_ONCE: Final = 500
"""Names that one query asks for."""
_SCHEMA: Final = (
    "CREATE TABLE journal (place INTEGER NOT NULL, anchor TEXT NOT NULL)",
    "CREATE TABLE touched (name BLOB PRIMARY KEY, place INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE answers (number INTEGER PRIMARY KEY, path BLOB NOT NULL, part TEXT NOT NULL, key TEXT NOT NULL,"
    " basis TEXT NOT NULL, answer TEXT NOT NULL, UNIQUE (path, part))",
)
_INSERT: Final = "INSERT OR REPLACE INTO answers (path, part, key, basis, answer) VALUES (?, ?, ?, ?, ?)"
_FORGET: Final = "DELETE FROM answers WHERE number <= (SELECT max(number) FROM answers) - ?"

Part = Literal["authors", "runs"]
Answer = TypeVar("Answer")


class BlameCache:
    """The answers of the project at `root`. Every call does without the file where it cannot be used."""

    def __init__(self, root: str, journal: JournalReader) -> None:
        self._root = root
        self._journal = journal
        self._database: sqlite3.Connection | None = None
        self._is_usable = True
        self._place = -1
        """How far the journal was looked at, once it was."""
        self._keys: dict[str, str] = {}
        """What each path's answer is for, as of that look: what is worked out after it is at least as new."""

    def close(self) -> None:
        if self._database is not None:
            self._database.close()
        self._database = None

    def find(self, path: str, part: Part, content: str, read: Callable[[Any], Answer]) -> tuple[Basis, Answer] | None:
        """Return what was kept of a path whose content has this digest, as `read` makes it of JSON; None where it does
        not hold any more."""
        try:
            db = self._open()
            key = self._key(db, path, content) if db is not None else None
            if db is None or key is None:
                return None
            query = "SELECT basis, answer FROM answers WHERE path = ? AND part = ? AND key = ?"
            row = db.execute(query, (_encode(path), part, key)).fetchone()
            basis = Basis(*json.loads(row[0])) if row is not None else None
            if basis is None or not self._holds(db, basis):
                return None
            return basis, read(json.loads(row[1]))
        except (sqlite3.Error, OSError, ValueError, TypeError, AttributeError) as problem:
            self._give_up(problem)
            return None

    def keep(self, path: str, part: Part, basis: Basis, answer: Sequence[Any]) -> None:
        """Keep an answer for the next time, one that was looked for here before it was worked out.

        One that rests on what has just changed is not kept."""
        key = self._keys.get(path)
        if key is None or not basis.is_settled:
            return
        row = (_encode(path), part, key, json.dumps(basis.to_json()), json.dumps(answer))
        try:
            if (db := self._open()) is not None:
                with transaction(db):
                    db.execute(_INSERT, row)
                    db.execute(_FORGET, (_MOST_ANSWERS,))
        except (sqlite3.Error, OSError) as problem:
            self._give_up(problem)

    def _holds(self, db: sqlite3.Connection, basis: Basis) -> bool:
        wanted = {_encode(name): place for name, place in basis.touched.items()}
        names = list(wanted)
        for start in range(0, len(names), _AT_ONCE):
            some = names[start : start + _AT_ONCE]
            marks = ",".join("?" * len(some))
            found = dict(db.execute(f"SELECT name, place FROM touched WHERE name IN ({marks})", some))  # noqa: S608
            if any(found.get(name, -1) != wanted[name] for name in some):
                return False
        return basis.holds(self._journal.end())

    def _key(self, db: sqlite3.Connection, path: str, content: str) -> str | None:
        """Return what an answer is for: a content, after the newest record of the journal that is about its path.

        None where another process has seen newer ones by now, which this one may not know."""
        if self._place < 0:
            self._place = self._catch_up(db)
        row = db.execute("SELECT place FROM touched WHERE name = ?", (_encode(path),)).fetchone()
        touched = int(row[0]) if row is not None else -1
        if touched >= self._place:
            return None
        self._keys[path] = f"{content} {touched}"
        return self._keys[path]

    def _catch_up(self, db: sqlite3.Connection) -> int:
        """Take in what was appended to the journal, and return how far that goes; everything is forgotten where it is
        another journal by now."""
        row = db.execute("SELECT place, anchor FROM journal").fetchone()
        if row is not None and row[0] == self._journal.end() and self._journal.anchor(row[0]) == row[1]:
            return int(row[0])
        with transaction(db):
            row = db.execute("SELECT place, anchor FROM journal").fetchone()
            place, anchor = row or (0, "")
            if row is not None and (place > self._journal.end() or self._journal.anchor(place) != anchor):
                for table in ("journal", "touched", "answers"):
                    db.execute(f"DELETE FROM {table}")  # noqa: S608 - names of ours
                place = 0
            touched, place = self._journal.touched_since(place)
            rows = [(_encode(name), last) for name, last in touched.items()]
            db.executemany("INSERT OR REPLACE INTO touched VALUES (?, ?)", rows)
            db.execute("DELETE FROM journal")
            db.execute("INSERT INTO journal VALUES (?, ?)", (place, self._journal.anchor(place)))
        return int(place)

    def _open(self) -> sqlite3.Connection | None:
        if self._database is None and self._is_usable:
            try:
                self._database = _connect(self._path)
            except (sqlite3.Error, OSError, ForeignDatabase) as problem:
                self._give_up(problem)
        return self._database

    @property
    def _path(self) -> str:
        return os.path.join(derived_folder(self._root), FILE)

    def _give_up(self, problem: Exception) -> None:
        """Do without the file from now on; one that is damaged, or that another version made,
        is removed, so that the next process starts anew."""
        self._is_usable = False
        self.close()
        if not isinstance(problem, (OSError, ForeignDatabase, sqlite3.OperationalError)):
            with suppress(OSError):
                remove_database(self._path)


def _encode(path: str) -> bytes:
    """Return a path as the file holds it; not every name is text."""
    return path.encode(errors="surrogatepass")


def _connect(path: str) -> sqlite3.Connection:
    db = connect(path, application_id=_APPLICATION, version=_VERSION, schema=_SCHEMA, timeout_s=_PATIENCE_S)
    found = [row[0] for row in db.execute("SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY rowid")]
    if found != list(_SCHEMA):
        db.close()
        raise sqlite3.DatabaseError("not the schema of this version")
    return db
