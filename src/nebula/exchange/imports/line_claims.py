"""Lines that other agents say they wrote: Agent Trace records and git-ai notes, brought in for `nebula blame`.

Both name a commit, a path and lines in it; there are no words of a conversation in them to make a turn of. Of each
record only that is kept, as an Agent Trace record of its own in a file of the project that blame reads.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from nebula.blame.exchange import IMPORTED, TRACES
from nebula.blame.exchange.other_agents import Claim, list_notes, read_note, read_trace
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.exchange.imports.contract import BAD_LINE, NO_PLACE, SkipCounts
from nebula.exchange.imports.reading import files_below, read_document, read_lines
from nebula.files.folder import Folder
from nebula.files.untrusted_json import parse_json
from nebula.git import find_repository
from nebula.value import field, record

LINE_SOURCES: Final = ("agent-trace", "git-ai")
MOST_OF_FILE: Final = 32 << 20


class NothingToImport(NebulaError):
    exit_code = EXIT_USAGE


@record
class LinesReport:
    """Counts what came of an import of lines."""

    added: int = 0
    known: int = 0
    skipped: SkipCounts = field(default_factory=SkipCounts)


def import_lines(root: str, source: str, path: str | None, *, dry_run: bool = False) -> LinesReport:
    """Keep what the records at `path`, or those of the project's own repository, say of lines."""
    report = LinesReport()
    records = _read_notes(path or root) if source == "git-ai" else _read_traces(root, path, report.skipped)
    with Folder.at(root) as folder:
        kept = folder.read(IMPORTED, MOST_OF_FILE) or b""
        known = {_id_of(line) for line in kept.split(b"\n")}
        fresh: dict[str, bytes] = {}
        for name, claims in records:
            if name in known or name in fresh:
                report.known += 1
            else:
                fresh[name] = _write_record(name, claims)
        report.added = len(fresh)
        if fresh and not dry_run:
            folder.make_folder(os.path.dirname(IMPORTED))
            folder.replace(IMPORTED, kept + b"".join(fresh.values()), perm=0o644)
    return report


def _read_traces(root: str, path: str | None, skipped: SkipCounts) -> Iterator[tuple[str, list[Claim]]]:
    for place in _trace_files(root, path):
        for line in _records_in(place, skipped):
            claims = list(read_trace(line))
            if claims:
                yield _id_of(line), claims
            elif line.strip():
                skipped[NO_PLACE if _is_object(line) else BAD_LINE] += 1


def _records_in(place: str, skipped: SkipCounts) -> Iterable[bytes]:
    """Return the records of a file, one a line; of a file that is one JSON value, that value or its items."""
    if not place.endswith(".json"):
        return read_lines(place, skipped)
    data = read_document(place, skipped) or b""
    try:
        found = parse_json(data)
    except ValueError:
        return data.splitlines()
    return [json.dumps(each).encode() for each in (found if isinstance(found, list) else [found])]


def _is_object(line: bytes) -> bool:
    try:
        return isinstance(parse_json(line), dict)
    except ValueError:
        return False


def _trace_files(root: str, path: str | None) -> Iterable[str]:
    if path is None:
        repository = find_repository(root)
        place = os.path.join(repository[0] if repository else root, TRACES)
    else:
        place = path
    if not os.path.exists(place):
        raise NothingToImport("{path}: there is no such file or folder", path=place)
    return files_below(place, ".jsonl", ".json") if os.path.isdir(place) else [place]


def _read_notes(root: str) -> Iterator[tuple[str, list[Claim]]]:
    if not os.path.isdir(root) or find_repository(root) is None:
        raise NothingToImport("{path}: there is no repository with notes of git-ai", path=root)
    for commit, note in list_notes(root):
        by_tool: dict[str, list[Claim]] = {}
        for claim in read_note(note):
            by_tool.setdefault(claim[2].tool, []).append((commit, *claim))
        for tool, claims in by_tool.items():
            yield hashlib.sha256(f"{commit}\n{tool}\n{note}".encode()).hexdigest()[:32], claims


def _id_of(line: bytes) -> str:
    """Return the name of a record: its own where it has one, else what it holds."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    name = found.get("id") if isinstance(found, dict) else None
    return name if isinstance(name, str) and 0 < len(name) <= 100 else hashlib.sha256(line.strip()).hexdigest()[:32]


def _write_record(name: str, claims: Sequence[Claim]) -> bytes:
    """Return the line of a record; all of its claims are of one commit and one tool."""
    files: list[dict[str, Any]] = []
    for _, path, ranges, agent in claims:
        by = {"type": "ai", **({"model_id": agent.model} if agent.model else {})}
        lines = [{"start_line": first, "end_line": last} for first, last in ranges]
        conversation = {"contributor": by, "ranges": lines, **({"url": agent.id} if agent.id else {})}
        files.append({"path": path, "conversations": [conversation]})
    told = {
        "version": "0.1.0",
        "id": name,
        "vcs": {"type": "git", "revision": claims[0][0]},
        "tool": {"name": claims[0][3].tool},
        "files": files,
    }
    return json.dumps(told, ensure_ascii=False).encode() + b"\n"
