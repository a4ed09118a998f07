"""Records in the form of Agent Trace 0.1, for other tools."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from nebula import __version__
from nebula.blame.authors import AuthorKind
from nebula.blame.commits import content_at
from nebula.blame.line_record import ranges_of
from nebula.blame.runs import LineRun
from nebula.blame.text import split
from nebula.git import find_commit, place_in_repository
from nebula.graph.values import Node
from nebula.llm.catalog import known_provider

VERSION: Final = "0.1.0"
_CONTRIBUTORS: Final[Mapping[AuthorKind, str]] = {"turn": "ai", "other": "ai", "you": "human", "before": "unknown"}
_LONGEST_MODEL: Final = 250


def trace_file(root: str, path: str, content: bytes, runs: Sequence[LineRun], revision: str = "") -> dict[str, Any]:
    """Return one record of a file with this content, as it is or in a revision, with who wrote each of its lines.

    As it is it names the last commit only where that has these lines: a reader takes their numbers for those there."""
    by_source: dict[tuple[AuthorKind, str, str], list[LineRun]] = {}
    for run in runs:
        by_source.setdefault((run.by, run.node_id, run.model), []).append(run)
    conversations = [
        _conversation(by, node_id, model, [(run.start_line, run.end_line) for run in own])
        for (by, node_id, model), own in by_source.items()
    ]
    files = [{"path": _path_in_repository(root, path), "conversations": conversations}] if conversations else []
    then = content if revision else content_at(root, "HEAD", path)
    commit = find_commit(root, revision or "HEAD") if then is not None and split(then) == split(content) else ""
    return _record(str(uuid.uuid4()), datetime.now().astimezone(), files, commit)


def trace_turn(root: str, node: Node) -> dict[str, Any] | None:
    """Return one record of a turn, with the lines that it wrote as it left the files; None where it wrote none.

    It names no revision: the turn was before any commit of it."""
    ranges = {file.path: own for file in node.files if (own := ranges_of(file.wrote))}
    if not ranges:
        return None
    files = [
        {"path": _path_in_repository(root, path), "conversations": [_conversation("turn", node.id, node.model, own)]}
        for path, own in ranges.items()
    ]
    return _record(_uuid_of(node.id), datetime.fromisoformat(node.timestamp).astimezone(), files)


def _record(record_id: str, moment: datetime, files: list[dict[str, Any]], commit: str = "") -> dict[str, Any]:
    vcs = {"vcs": {"type": "git", "revision": commit}} if commit else {}
    tool = {"name": "nebula", "version": __version__}
    timestamp = moment.astimezone(UTC).isoformat().replace("+00:00", "Z")  # some readers take no other zone
    return {"version": VERSION, "id": record_id, "timestamp": timestamp, **vcs, "tool": tool, "files": files}


def _conversation(by: AuthorKind, node_id: str, model: str, ranges: Iterable[tuple[int, int]]) -> dict[str, Any]:
    contributor = {"type": _CONTRIBUTORS[by]}
    if model:
        provider = "" if "/" in model else known_provider(model)
        contributor["model_id"] = (f"{provider}/{model}" if provider else model)[:_LONGEST_MODEL]
    url = {"url": f"urn:uuid:{_uuid_of(node_id)}"} if node_id else {}
    return {**url, "contributor": contributor, "ranges": [{"start_line": a, "end_line": b} for a, b in ranges]}


def _uuid_of(node_id: str) -> str:
    """Return the id of a node where it is a UUID, else one that stands for it alone."""
    try:
        return str(uuid.UUID(node_id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_OID, node_id))


def _path_in_repository(root: str, path: str) -> str:
    above = place_in_repository(root)
    return f"{above}/{path}" if above else path
