"""Finding nodes by tag, keyword, full text, model, time, file and pin; whatever is asked together must all match.

Keywords are a node's tags and the words of its summary. Text is looked for in prompt, response, summary, tags and
note: each word or quoted run must occur. Best matches come first, newer before older.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Container, Iterable, Sequence
from functools import cached_property, partial
from typing import Any

from nebula.graph.derived import search_terms
from nebula.graph.derived.bodies import decode
from nebula.graph.derived.node_cache import NodeCache
from nebula.graph.values import Node
from nebula.value import value

_POOL = 100
"""Of more hits than this only the newest are weighed against each other."""
_CHUNK = 500
_PATIENCE = 1.5
"""Seconds that a search waits for the index; then it answers from what is there."""


@value
class Query:
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    text: str = ""
    model: str = ""
    since: float | None = None
    """Seconds of the epoch, as for `until`; both moments count."""
    until: float | None = None
    path: str = ""
    """A part of the path of a file that the turn changed."""
    pinned: bool = False
    """Only those that a person has marked."""

    @classmethod
    def of(cls, tags: Iterable[str], keywords: Iterable[str], text: str, **filters: Any) -> Query:
        return cls(
            tuple(tag for tag in tags if tag.strip()),
            tuple(word for word in keywords if word.strip()),
            text if text.strip() else "",
            **filters,
        )


class Found(list[Node]):
    """Nodes, best first. `unread` nodes were not looked at: there are many, and the index is still being built. Nor
    were `unreadable` files: `check` says why."""

    unread = 0
    unreadable = 0
    count_all: Callable[[], int] | None = None

    @cached_property
    def total(self) -> int:
        """How many there are without the limit; counted when it is asked, for a common word has very many."""
        return len(self) if self.count_all is None else self.count_all()


def search(cache: NodeCache, query: Query, limit: int | None) -> tuple[Found, bool]:
    """Return the nodes, and whether a look at all files for edits is left to do in the background."""
    unread, late = cache.catch_up(_PATIENCE)
    hits = _hits(cache, query, limit)
    changed = cache.changed(row[1:5] for row in hits)
    if changed:
        cache.reread(changed)
        unread = cache.read_all(time.monotonic() + _PATIENCE)
        hits = _hits(cache, query, limit)
    found = Found(_nodes(cache, [row[0] for row in hits]))
    found.unread, found.unreadable = unread, cache.count_unreadable()
    if limit is not None and len(hits) >= limit:
        found.count_all = partial(_count, cache, query)
    return found, late


def _nodes(cache: NodeCache, docs: Sequence[int]) -> list[Node]:
    bodies: dict[int, str] = {}
    for start in range(0, len(docs), _CHUNK):
        part = docs[start : start + _CHUNK]
        marks = ",".join("?" * len(part))
        bodies.update(cache.ask(f"SELECT doc, body FROM bodies WHERE doc IN ({marks})", *part))  # noqa: S608
    return [decode(bodies[doc]) for doc in docs if doc in bodies]


def _hits(cache: NodeCache, query: Query, limit: int | None) -> list[Any]:
    """Return rows (doc, path, changed_ns, size, inode, moment) of the matching files in order.

    One condition leads: its table is walked from the newest entry down, so that a limit ends the walk early however
    many entries there are. The others are asked about each entry.
    """
    plan = _plan(query)
    if plan is None:
        return []
    conditions = _conditions(plan)
    sql = (
        f"SELECT files.doc, files.path, files.changed_ns, files.size, files.inode, files.moment FROM {plan.leading} "  # noqa: S608
        f"WHERE {conditions} ORDER BY {plan.order} DESC LIMIT ?"
    )
    found = cache.ask(sql, *(value for _, value in plan.conditions), -1 if limit is None else max(limit, _POOL))
    ranked = _ranked(cache, plan, found[:_POOL]) + found[_POOL:]
    return ranked if limit is None else ranked[:limit]


def _count(cache: NodeCache, query: Query) -> int:
    plan = _plan(query)
    if plan is None:
        return 0
    sql = f"SELECT count(*) FROM {plan.leading} WHERE {_conditions(plan)}"  # noqa: S608
    return int(cache.ask(sql, *(value for _, value in plan.conditions))[0][0])


def _conditions(plan: _Plan) -> str:
    return " AND ".join(["files.state = 1", "files.shadowed = 0", *(sql for sql, _ in plan.conditions)])


class _Plan:
    def __init__(self) -> None:
        self.leading = "files"
        self.order = "files.moment"
        self.conditions: list[tuple[str, object]] = []
        self.keywords = ""
        self.text = ""


def _plan(query: Query) -> _Plan | None:
    """Return how to answer a query; None when nothing can match."""
    plan = _Plan()
    _add_tags(plan, list(dict.fromkeys(search_terms.folded(" ".join(tag.split())) for tag in query.tags)))
    keywords = [search_terms.match_expression(keyword, prefix=False) for keyword in query.keywords]
    if None in keywords:
        return None  # nothing but signs: no node has that as a keyword
    plan.keywords = " AND ".join(f"({each})" for each in keywords)
    _add_match(plan, "keywords", plan.keywords)
    texts, signs = [], []
    for phrase in dict.fromkeys(search_terms.phrases(query.text)):
        expression = search_terms.match_expression(phrase, prefix=True)
        if expression:
            texts.append(f"({expression})")
        else:
            signs.append(phrase)
    plan.text = " AND ".join(texts)
    _add_match(plan, "texts", plan.text)
    _add_signs(plan, signs)
    _add_filters(plan, query)
    return plan


def _add_tags(plan: _Plan, tags: list[str]) -> None:
    """Ask for all of the tags, in two conditions at most: SQLite takes a thousand."""
    if not tags:
        return
    plan.leading, plan.order = "tags JOIN files ON files.doc = tags.doc", "tags.doc"
    plan.conditions.append(("tags.tag = ?", tags[0]))
    if len(tags) > 1:
        has_all = (
            "NOT EXISTS (SELECT 1 FROM json_each(?) AS wanted WHERE NOT EXISTS"
            " (SELECT 1 FROM tags AS t WHERE t.tag = wanted.value AND t.doc = files.doc))"
        )
        plan.conditions.append((has_all, json.dumps(tags[1:])))


def _add_signs(plan: _Plan, signs: list[str]) -> None:
    """Phrases without a word (`]]>`) are in no index: they are looked for in what the nodes say, the longest of them
    first in the row as it is stored, which is many times faster and finds a little too much."""
    if signs:
        body = "EXISTS (SELECT 1 FROM bodies WHERE bodies.doc = files.doc AND {})".format
        plan.conditions.append((body("instr(body, ?)"), json.dumps(max(signs, key=len), ensure_ascii=False)[1:-1]))
        plan.conditions.append((body("holds_all(body, ?)"), json.dumps(signs)))


def _add_filters(plan: _Plan, query: Query) -> None:
    """After what leads: these are asked about each entry."""
    if query.model:
        plan.conditions.append(("files.model = ?", query.model))
    if query.since is not None:
        plan.conditions.append(("files.moment >= ?", query.since))
    if query.until is not None:
        plan.conditions.append(("files.moment <= ?", query.until))
    if query.path:
        plan.conditions.append(("instr(files.touched, ?)", query.path))
    if query.pinned:
        plan.conditions.append(("files.pinned = ?", 1))


def _add_match(plan: _Plan, table: str, expression: str) -> None:
    if not expression:
        return
    if plan.leading == "files":
        plan.leading, plan.order = f"{table} CROSS JOIN files ON files.doc = {table}.rowid", f"{table}.rowid"
        plan.conditions.append((f"{table} MATCH ?", expression))
    else:
        sql = f"files.doc IN (SELECT rowid FROM {table} WHERE {table} MATCH ?)"  # noqa: S608
        plan.conditions.append((sql, expression))


def _ranked(cache: NodeCache, plan: _Plan, found: list[Any]) -> list[Any]:
    """Return rows by where they match: a tag counts most, then the summary, the prompt, the answer; then newest
    first."""
    scores: dict[int, int] = dict.fromkeys((row[0] for row in found), 0)
    order: dict[int, int] = {}
    if plan.keywords and found:
        _score(cache, scores, "keywords", "tags", plan.keywords, 4)
    if plan.text and found:
        _score(cache, scores, "texts", "brief", plan.text, 4)
        _score(cache, scores, "texts", "prompt", plan.text, 2)
        if len(found) < _POOL:
            # Few enough to weigh how often and in how long a text.
            sql = "SELECT rowid FROM texts WHERE texts MATCH ? AND rowid BETWEEN ? AND ? ORDER BY bm25(texts, 4, 2, 1)"
            rows = cache.ask(sql, plan.text, min(scores), max(scores))
            order = {row[0]: place for place, row in enumerate(rows)}
    return sorted(found, key=lambda row: (-scores[row[0]], order.get(row[0], 0), -row[5]))


def _score(cache: NodeCache, scores: dict[int, int], table: str, column: str, match: str, weight: int) -> None:
    sql = f"SELECT rowid FROM {table} WHERE {table} MATCH ? AND rowid BETWEEN ? AND ?"  # noqa: S608
    for (doc,) in cache.ask(sql, f"{{{column}}} : ({match})", min(scores), max(scores)):
        if doc in scores:
            scores[doc] += weight


def latest(cache: NodeCache, limit: int | None, offset: int, without: Container[str] = ()) -> list[Node]:
    """Return nodes, newest first, leaving some out."""
    cache.catch_up()
    rows = cache.ask(
        "SELECT doc, id FROM files WHERE state = 1 AND shadowed = 0 ORDER BY moment DESC, doc DESC LIMIT ? OFFSET ?",
        -1 if limit is None else limit,
        offset,
    )
    return _nodes(cache, [doc for doc, node_id in rows if node_id not in without])


def tries_of(cache: NodeCache, node: Node, *, wait: bool) -> list[str]:
    """Return the ids of the first prompts under the same beginning as this one, oldest first; it is among them."""
    if wait:
        cache.catch_up()
    elif not cache.take_in_new():
        return [node.id]
    rows = cache.ask(
        "SELECT id FROM files WHERE state = 1 AND shadowed = 0 AND (id = ? OR (beginning = ? AND beginning != ''))"
        " ORDER BY moment, doc",
        node.first_try,
        node.first_try,
    )
    return [row[0] for row in rows]


def due(cache: NodeCache) -> list[Node]:
    """Return nodes without a summary or edited since it was built, oldest first."""
    cache.catch_up()
    rows = cache.ask("SELECT doc FROM files WHERE due = 1 AND state = 1 AND shadowed = 0 ORDER BY moment, doc")
    return _nodes(cache, [row[0] for row in rows])


def models(cache: NodeCache) -> dict[str, int]:
    """Return every model that answered and how often, the most used first."""
    cache.catch_up()
    return dict(
        cache.ask(
            "SELECT model, count(*) FROM files WHERE state = 1 AND shadowed = 0 AND model != ''"
            " GROUP BY model ORDER BY count(*) DESC, model"
        )
    )


def tags(cache: NodeCache) -> dict[str, int]:
    cache.catch_up()
    return dict(
        cache.ask(
            "SELECT min(tags.label), count(*) FROM tags JOIN files ON files.doc = tags.doc WHERE files.shadowed = 0"
            " GROUP BY tags.tag ORDER BY tags.tag"
        )
    )
