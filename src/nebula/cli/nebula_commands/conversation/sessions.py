"""nebula sessions: the sessions of this directory, newest first."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from typing import Any

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_json, print_line
from nebula.cli.settings import open_project
from nebula.cli.terminal.dialogs.session_choice import listed_session, session_line, spoken_sessions
from nebula.memory.sessions import SessionInfo
from nebula.value import replace

_UNCUT = 10_000


def main(argv: Sequence[str]) -> None:
    parser = Parser("nebula sessions", "The sessions of this directory, newest first. `nebula --resume ID` goes on.")
    parser.add_root()
    parser.add_flag("--json", "print them as one JSON list")
    options = parser.parse_args(argv)
    settings = open_project("nebula", options)
    found = spoken_sessions(settings)
    if options.json:
        print_json([_as_json(info) for info in found])
        return
    for info in found:
        if sys.stdout.isatty():
            print_line(listed_session(info, shutil.get_terminal_size().columns - 1))
        else:
            # Scripts read this line: the last words stand where they always stood, and --json has all of it.
            print_line(f"{info.id}  {session_line(replace(info, first_prompt='', name=''), _UNCUT)}")


def _as_json(info: SessionInfo) -> dict[str, Any]:
    return {
        "id": info.id,
        "started_at": info.started_at.isoformat(timespec="milliseconds"),
        "ended_at": info.ended_at.isoformat(timespec="milliseconds") if info.ended_at else None,
        "status": info.status,
        "model": info.model,
        "project_path": info.project_path,
        "name": info.name,
        "first_prompt": info.first_prompt,
        "last_words": info.last_words,
        "messages": info.messages,
    }
