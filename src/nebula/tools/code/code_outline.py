"""Keep an outline of the project on this machine when its index is elsewhere: a turn must not wait for a database or a
server.

Whoever talks to that index stores the outline: `nebula index sync`, a search, and each turn, which asks the database in
the background.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from nebula.errors import NebulaError
from nebula.files.digest import digest
from nebula.files.folder import Folder
from nebula.files.home import derived_folder
from nebula.files.reading import UnreadableFile
from nebula.files.untrusted_json import read_json
from nebula.value import replace, value

if TYPE_CHECKING:
    from nebula.config import Settings
    from nebula.index.index import Index
    from nebula.index.ranking.outline import OutlinedFile

NAME: Final = "outline.json"
MAX_KEPT_FILES: Final = 400
"""More files than are shown, so that a question can bring up one that few others refer to."""
_MAX_BYTES: Final = 1 << 20


@value
class KeptOutline:
    mark: str
    """Differs for every state of the index."""
    files: tuple[tuple[str, str], ...]
    """Path and symbols."""


def is_elsewhere(settings: Settings) -> bool:
    """Return whether the index of these files is in a database or behind EC_RAG_URL."""
    return bool(settings.rag_url or (settings.index_url and not settings.mcp_url))


def kept_outline(settings: Settings) -> KeptOutline | None:
    """Return the outline that was kept; None where there is none, or one of another index."""
    try:
        found: Any = read_json(derived_folder(settings.root, settings.home), NAME, _MAX_BYTES)
        if found["source"] != _source(settings):
            return None
        return KeptOutline(str(found["mark"]), tuple((str(path), str(symbols)) for path, symbols in found["files"]))
    except (UnreadableFile, OSError, ValueError, TypeError, KeyError):
        return None


def keep_outline(settings: Settings, mark: str, files: Callable[[], Sequence[OutlinedFile]]) -> None:
    """Keep the outline, unless this state of it is kept already."""
    kept = kept_outline(settings)
    if kept is not None and kept.mark == mark:
        return
    found = {"source": _source(settings), "mark": mark, "files": files()}
    with Folder.at(derived_folder(settings.root, settings.home)) as folder:
        folder.replace(NAME, json.dumps(found, ensure_ascii=False).encode("utf-8", "replace"), perm=0o600)


def leave_outline(settings: Settings, index: Index) -> None:
    """Keep an outline of the present index."""
    with suppress(OSError):  # the outline only helps
        keep_outline(settings, index.state(), lambda: index.outline(limit=MAX_KEPT_FILES))


def fetch_outline(settings: Settings) -> None:
    """Ask the database for the outline, for the next turn."""
    from nebula.tools.code.code_index import open_index

    with suppress(NebulaError), open_index(replace(settings, embedder="")) as index:
        leave_outline(settings, index)


def _source(settings: Settings) -> str:
    """Return the name of the index, without its password."""
    return digest(os.fsencode(settings.rag_url or settings.index_url))
