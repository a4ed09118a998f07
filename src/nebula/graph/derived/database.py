"""The SQLite file in the user's home: which file holds which node, and the terms to find it by.

Derived and disposable: deleting it loses nothing, a damaged one is made anew. Everything in it can be checked
against the size and time of the files it was read from. Rows are numbered by `doc`; a changed node gets a new
number, and terms under numbers no file has any more are passed over.
"""

from __future__ import annotations

import re
import sqlite3

from nebula.files.database import connect
from nebula.graph.derived.bodies import holds_all

APPLICATION = 0x4E476E6F  # "NGno"
VERSION = 8
_SCHEMA = """
CREATE TABLE state (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
CREATE TABLE folders (name TEXT PRIMARY KEY, changed_ns INTEGER) WITHOUT ROWID;
CREATE TABLE files (
    doc INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    id TEXT NOT NULL,
    timestamp TEXT NOT NULL,
    moment REAL NOT NULL,
    changed_ns INTEGER NOT NULL DEFAULT 0,
    size INTEGER NOT NULL DEFAULT -1,
    inode INTEGER NOT NULL DEFAULT 0,
    state INTEGER NOT NULL DEFAULT 0,
    shadowed INTEGER NOT NULL DEFAULT 0,
    due INTEGER NOT NULL DEFAULT 0,
    summary TEXT NOT NULL DEFAULT '',
    tags TEXT NOT NULL DEFAULT '',
    model TEXT NOT NULL DEFAULT '',
    touched TEXT NOT NULL DEFAULT '',
    beginning TEXT NOT NULL DEFAULT '',
    pinned INTEGER NOT NULL DEFAULT 0,
    problem TEXT
);
CREATE INDEX files_by_id ON files (id);
CREATE INDEX files_by_moment ON files (moment);
CREATE INDEX files_by_beginning ON files (beginning) WHERE beginning != '';
CREATE INDEX files_unread ON files (state) WHERE state = 0;
CREATE INDEX files_bad ON files (state) WHERE state = 2;
CREATE INDEX files_pinned ON files (pinned) WHERE pinned = 1;
CREATE INDEX files_due ON files (due) WHERE due = 1;
CREATE INDEX files_shadowed ON files (shadowed) WHERE shadowed = 1;
CREATE TABLE bodies (doc INTEGER PRIMARY KEY, body TEXT NOT NULL);
CREATE TABLE tags (tag TEXT NOT NULL, doc INTEGER NOT NULL, label TEXT NOT NULL, PRIMARY KEY (tag, doc)) WITHOUT ROWID;
CREATE VIRTUAL TABLE keywords USING fts5 (tags, summary, content='', tokenize='ascii');
CREATE VIRTUAL TABLE texts USING fts5 (brief, prompt, response, content='', tokenize='ascii');
-- From pages of the usual 4,050 bytes a search reads twice as much.
INSERT INTO keywords (keywords, rank) VALUES ('pgsz', 1000);
INSERT INTO texts (texts, rank) VALUES ('pgsz', 1000);
-- Fewer, larger pieces while terms come in: half the work.
INSERT INTO texts (texts, rank) VALUES ('hashsize', 16777216);
"""

_TABLES = frozenset({"state", "folders", "files", "bodies", "tags", "keywords", "texts"})
_FTS_PARTS = re.compile("(keywords|texts)_(data|idx|docsize|config)")


def open_database(path: str) -> sqlite3.Connection:
    """Return a connection to the database at a path, made if there is none. Several processes wait for each other."""
    schema = [statement for statement in _SCHEMA.split(";\n") if statement.strip()]
    connection = connect(path, application_id=APPLICATION, version=VERSION, schema=schema, timeout_s=30)
    try:
        connection.create_function("holds_all", 2, holds_all, deterministic=True)
        connection.execute("PRAGMA cache_size = -32768")
        _require_schema(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def _require_schema(connection: sqlite3.Connection) -> None:
    """Our tables and nothing else: no view or trigger that would run with them."""
    found = connection.execute("SELECT type, name FROM sqlite_schema WHERE type != 'index'").fetchall()
    names = {name for kind, name in found if kind == "table" and not _FTS_PARTS.fullmatch(name)}
    if names != _TABLES or any(kind != "table" for kind, _ in found):
        raise sqlite3.DatabaseError("not the schema of this version")
