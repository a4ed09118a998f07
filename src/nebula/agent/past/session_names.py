"""The names that users give their sessions, one small file each; also which sessions are open, and which one a name
means."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nebula.files.folder import Folder
from nebula.files.home import derived_folder
from nebula.files.reading import read_or_empty
from nebula.memory.errors import UnknownSession
from nebula.memory.session_lock import is_open
from nebula.memory.sessions import SessionInfo, Sessions
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.config import Settings

LONGEST = 100
"""Characters of a name."""
_MAX_BYTES = 4 * LONGEST


def name_session(settings: Settings, session_id: str, name: str) -> str:
    """Name a session of the project, and return the name; an empty name removes it. Raises OSError where it cannot be
    kept."""
    name = " ".join(name.split())[:LONGEST]
    folder = _folder(settings)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    with Folder.at(folder) as here:
        here.replace(f"{session_id}.name", name.encode("utf-8", "replace"), perm=0o600)
    return name


def as_listed(sessions: Iterable[SessionInfo], settings: Settings) -> list[SessionInfo]:
    """Return the sessions of a project, each with its name, and with whether a session that has not ended is still
    open."""
    folder, listed = _folder(settings), []
    for each in sessions:
        is_abandoned = each.ended_at is None and not is_open(folder, each.id)
        listed.append(replace(each, name=_read(folder, each.id), is_abandoned=is_abandoned))
    return listed


def find_by_name(sessions: Iterable[SessionInfo], name: str, settings: Settings) -> SessionInfo | None:
    """Return the newest session named `name`; upper and lower case are the same."""
    wanted = " ".join(name.split()).casefold()
    return next((each for each in as_listed(sessions, settings) if each.name.casefold() == wanted != ""), None)


def begin_session(memory: Sessions, place: str, model: str, resume: str | None, settings: Settings) -> str:
    """Return the id of a new session, or of the one that is resumed: by its id or name, or the newest where that is
    empty."""
    if resume is None:
        return memory.start(place, model)
    found: SessionInfo | None
    if not resume:
        found = memory.latest(place)
    else:
        found = find_by_name(memory.of_project(place), resume, settings) or memory.find(resume, place)
        if found.project_path != os.path.realpath(place):
            raise UnknownSession(
                "session {id} belongs to {path}; go there to resume it", id=found.id, path=found.project_path
            )
    if found is None:
        return memory.start(place, model)
    resumed = memory.resume(found.id)
    if resumed.model != model:
        memory.switch_model(resumed.id, model)
    return resumed.id


def _folder(settings: Settings) -> str:
    return os.path.join(derived_folder(settings.root, settings.home), "sessions")


def _read(folder: str, session_id: str) -> str:
    return read_or_empty(folder, f"{session_id}.name", _MAX_BYTES).decode("utf-8", "replace")
