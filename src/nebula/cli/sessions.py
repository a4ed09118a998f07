"""nebula sessions: the sessions of this directory, newest first."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from typing import Any

from nebula.cli.arguments import Parser, checked_root, root_option
from nebula.cli.terminal.picker import session_line
from nebula.cli.words import Words
from nebula.config import load_settings
from nebula.memory.sessions import SessionInfo, Sessions


def main(argv: Sequence[str]) -> int:
    parser = Parser("nebula sessions", "The sessions of this directory, newest first. `nebula --resume ID` goes on.")
    root_option(parser)
    parser.add_argument("--json", action="store_true", help="print them as one JSON list")
    options = parser.parse_args(argv)
    settings = load_settings(checked_root(options.root))
    with Sessions(settings.memory_path) as memory:
        found = memory.of_project(settings.root)
    if options.json:
        print(json.dumps([_as_json(info) for info in found], ensure_ascii=False))
        return 0
    words = Words(settings.lang)
    columns = shutil.get_terminal_size((120, 24)).columns
    for info in found:
        print(f"{info.id}  {session_line(info, words, columns - len(info.id) - 2)}")
    return 0


def _as_json(info: SessionInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "started_at": info.started_at.isoformat(timespec="milliseconds"),
        "ended_at": info.ended_at.isoformat(timespec="milliseconds") if info.ended_at else None,
        "status": info.status,
        "model": info.model,
        "project_path": info.project_path,
        "last_words": info.last_words,
        "messages": info.messages,
    }
