"""What the node index knows of files that make no sense: for the check, and for lists of problems."""

from __future__ import annotations

from collections.abc import Iterator

from nebula.graph.derived.node_cache import NodeCache
from nebula.graph.disk.node_files import FOLDER
from nebula.graph.values import Problem
from nebula.language import Sentence


def all_files(cache: NodeCache) -> dict[str, tuple[str, str] | None]:
    """Return path to (id, timestamp) of every node file; None for one that cannot be read."""
    rows = cache.ask("SELECT path, id, timestamp, state FROM files")
    return {path: (node_id, timestamp) if state == 1 else None for path, node_id, timestamp, state in rows}


def clashes(cache: NodeCache) -> Iterator[tuple[str, Sentence]]:
    """Yield the files that lost their id to another, each with what is to be said of it."""
    sentence = "has the same id ({node_id}) as {path}, which is the one that counts"
    for path, node_id in cache.ask("SELECT path, id FROM files WHERE shadowed = 1 ORDER BY path"):
        yield path, Sentence(sentence, node_id=node_id, path=f"{FOLDER}/{cache.paths_of(node_id)[0]}")


def problems(cache: NodeCache) -> list[Problem]:
    """Return files that cannot be read, and ids that more than one file claims."""
    from nebula.graph.derived.fill import load_sentence

    rows = cache.ask("SELECT path, problem FROM files WHERE state = 2 ORDER BY path")
    found = [Problem("unreadable", f"{FOLDER}/{path}", load_sentence(message)) for path, message in rows]
    return found + [Problem("clash", f"{FOLDER}/{path}", what) for path, what in clashes(cache)]
