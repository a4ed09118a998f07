"""What the index server can do: plain functions from an index and a checked request to a reply.

A reply to `/ingest` says what is so now, not what had to be done for it: asked twice, or after a hook was quicker, it
is the same.
"""

from __future__ import annotations

import os
from typing import Any

from nebula.index.index import Index
from nebula.server.rag.bodies import ChunkSearchBody, IngestBody, OutlineBody, PruneBody


def ingest(index: Index, asked: IngestBody) -> dict[str, Any]:
    diff, inside = asked.diff, index.root.inside
    moves = [(inside(move.old), inside(move.new)) for move in diff.renamed] if diff else []
    wanted = [inside(path) for path in (asked.paths if diff is None else (*diff.added, *diff.modified)) or ()]
    deleted = [inside(path) for path in diff.deleted] if diff else []
    gone = [path for path in deleted if not _is_there(index, path)]
    index.rename(moves)
    report = index.ingest([*wanted, *gone])
    skipped = _skipped(index, [*wanted, *(new for _, new in moves)])
    skipped |= {path: "it is still there" for path in deleted if path not in gone}
    known = index.store.states([*gone, *(path for move in moves for path in move)])
    return {
        "ingested": len(index.store.states_below(wanted)),
        "skipped": [{"path": path, "reason": reason} for path, reason in sorted(skipped.items())],
        "deleted": sum(path not in known for path in gone) if diff else report.deleted,
        "renamed": sum(new in known and old not in known for old, new in moves),
    }


def _is_there(index: Index, path: str) -> bool:
    """Return whether there is a file, or a directory, that could be indexed."""
    full = os.path.join(index.root.path, path)
    return index.root.stat(path) is not None or (os.path.isdir(full) and not os.path.islink(full))


def _skipped(index: Index, asked: list[str]) -> dict[str, str]:
    """Return the requested files that are not in the index, each with the reason."""
    reasons = {path: reason for path, (reason, _) in index.store.skipped().items()}
    named = {path: why for path, why in reasons.items() if any(_is_below(path, folder) for folder in asked)}
    known = index.store.states(asked)
    for path in asked:
        full = os.path.join(index.root.path, path)
        if path in known or path in named or (os.path.isdir(full) and not os.path.islink(full)):
            continue
        if not os.path.lexists(full):
            named[path] = "it is not there"
        else:
            named[path] = "it may hold secrets" if index.hides(path) else "it is ignored, or not a plain file"
    return named


def _is_below(path: str, folder: str) -> bool:
    return not folder or path == folder or path.startswith(f"{folder}/")


def prune(index: Index, asked: PruneBody) -> dict[str, Any]:
    return {"deleted": index.prune(asked.paths).deleted}


def search(index: Index, asked: ChunkSearchBody) -> dict[str, Any]:
    filters = asked.filters
    hits = index.search(asked.query, asked.top_k, path_prefix=filters.path_prefix, language=filters.language)
    return {"chunks": [hit.to_json() for hit in hits]}


def outline(index: Index, asked: OutlineBody) -> dict[str, Any]:
    return {"files": [each._asdict() for each in index.outline(asked.query, asked.recent, asked.limit)]}


def status(index: Index, is_ready: bool, problem: str) -> dict[str, Any]:
    return {"ready": is_ready, "problem": problem, **index.status().to_json()}
