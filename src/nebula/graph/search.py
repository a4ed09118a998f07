"""Finding nodes by tag, keyword and full text; whatever is asked together must all match.

Keywords are a node's tags and the words of its summary. Text is looked for in prompt, response, summary and tags:
each word or quoted run must occur. Best matches come first, newer before older.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from . import words
from .catalog import Catalog
from .contents import decode
from .values import Node

_RANKED = 2000
"""More hits than this are not worth weighing: they come newest first."""
_COLUMNS = "doc, path, mtime_ns, size, inode"
_CHUNK = 500


@dataclass(frozen=True, slots=True)
class Query:
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    text: str = ""

    @classmethod
    def of(cls, tags: Iterable[str], keywords: Iterable[str], text: str) -> Query:
        return cls(
            tuple(tag for tag in tags if tag.strip()),
            tuple(word for word in keywords if word.strip()),
            text if text.strip() else "",
        )

    def is_empty(self) -> bool:
        return not (self.tags or self.keywords or self.text)


def search(catalog: Catalog, query: Query, limit: int | None) -> tuple[list[Node], bool]:
    """The nodes, best first, and whether the files should be scanned in the background."""
    late = catalog.catch_up()
    hits = _hits(catalog, query, limit)
    changed = catalog.changed(row[1:5] for row in hits)
    if changed:
        catalog.reread(changed)
        catalog.read_all()
        hits = _hits(catalog, query, limit)
    return _nodes(catalog, [row[0] for row in hits]), late


def _nodes(catalog: Catalog, docs: Sequence[int]) -> list[Node]:
    bodies: dict[int, str] = {}
    for start in range(0, len(docs), _CHUNK):
        part = docs[start : start + _CHUNK]
        marks = ",".join("?" * len(part))
        bodies.update(catalog.ask(f"SELECT doc, body FROM bodies WHERE doc IN ({marks})", *part))  # noqa: S608
    return [decode(bodies[doc]) for doc in docs if doc in bodies]


def _hits(catalog: Catalog, query: Query, limit: int | None) -> list[Any]:
    """Rows of the matching files in order."""
    conditions = ["state = 1", "shadowed = 0"]
    values: list[object] = []
    for tag in query.tags:
        conditions.append("doc IN (SELECT doc FROM tags WHERE tag = ?)")
        values.append(words.folded(" ".join(tag.split())))
    expressions = [words.match_expression(keyword, prefix=False) for keyword in query.keywords]
    if None in expressions:
        return []  # nothing but signs: no node has that as a keyword
    if expressions:
        conditions.append("doc IN (SELECT rowid FROM keywords WHERE keywords MATCH ?)")
        values.append(" AND ".join(f"({expression})" for expression in expressions))
    text = _text_conditions(query.text, conditions, values)
    where = " AND ".join(conditions)
    sql = f"SELECT {_COLUMNS} FROM files WHERE {where} ORDER BY moment DESC, doc DESC LIMIT ?"  # noqa: S608
    found = catalog.ask(sql, *values, -1 if limit is None else max(limit, _RANKED + 1))
    if len(found) <= _RANKED:
        found = _ranked(catalog, expressions, text, found)
    return found if limit is None else found[:limit]


def _text_conditions(text: str, conditions: list[str], values: list[object]) -> str:
    """Adds what the text asks for; returns the expression its rank is taken from."""
    expressions = []
    for phrase in words.phrases(text):
        expression = words.match_expression(phrase, prefix=True)
        if expression:
            expressions.append(f"({expression})")
        else:
            # Signs only (`]]>`): not indexed, looked for in the stored text itself.
            conditions.append("doc IN (SELECT doc FROM bodies WHERE instr(body, ?))")
            values.append(_as_in_body(phrase))
    if expressions:
        conditions.append("doc IN (SELECT rowid FROM texts WHERE texts MATCH ?)")
        values.append(" AND ".join(expressions))
    return " AND ".join(expressions)


def _as_in_body(text: str) -> str:
    import json

    return json.dumps(text, ensure_ascii=False)[1:-1]


def _ranked(catalog: Catalog, keywords: Sequence[str | None], text: str, found: list[Any]) -> list[Any]:
    """Rows by how well they match; equal ones keep their order, newest first."""
    if not found or not (text or keywords):
        return found
    scores: dict[int, float] = dict.fromkeys((row[0] for row in found), 0.0)
    if keywords:
        match = " OR ".join(f"({expression})" for expression in keywords)
        _add_scores(catalog, scores, "keywords", "bm25(keywords, 4.0, 1.0)", match)
    if text:
        _add_scores(catalog, scores, "texts", "bm25(texts, 4.0, 2.0, 1.0)", text)
    return sorted(found, key=lambda row: scores[row[0]])


def _add_scores(catalog: Catalog, scores: dict[int, float], table: str, rank: str, match: str) -> None:
    """bm25 is lower for better matches; only the rows at hand are weighed."""
    low, high = min(scores), max(scores)
    sql = f"SELECT rowid, {rank} FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"  # noqa: S608
    for doc, score in catalog.ask(sql, match, low, high):
        if doc in scores:
            scores[doc] += score


def latest(catalog: Catalog, limit: int | None, offset: int) -> list[Node]:
    """Nodes, newest first."""
    catalog.catch_up()
    rows = catalog.ask(
        "SELECT doc FROM files WHERE state = 1 AND shadowed = 0 ORDER BY moment DESC, doc DESC LIMIT ? OFFSET ?",
        -1 if limit is None else limit,
        offset,
    )
    return _nodes(catalog, [row[0] for row in rows])


def due(catalog: Catalog) -> list[Node]:
    """Nodes without a summary or edited since it was built, oldest first."""
    catalog.catch_up()
    rows = catalog.ask("SELECT doc FROM files WHERE due = 1 AND state = 1 AND shadowed = 0 ORDER BY moment, doc")
    return _nodes(catalog, [row[0] for row in rows])


def tags(catalog: Catalog) -> dict[str, int]:
    catalog.catch_up()
    return dict(
        catalog.ask(
            "SELECT min(tags.label), count(*) FROM tags JOIN files ON files.doc = tags.doc WHERE files.shadowed = 0"
            " GROUP BY tags.tag ORDER BY tags.tag"
        )
    )
