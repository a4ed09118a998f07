"""What the model sees of a large project before it has looked: an outline from the code index, where there is one.

It never waits for the index: what is there is used as it is, and without one nothing is opened or imported. Of an index
in a database or on another machine it is what was last heard of it (`nebula.tools.code.code_outline`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Notice, Reader, Stamped, Task
from nebula.tools.code.code_index import has_local_index, open_index
from nebula.tools.code.code_outline import fetch_outline, is_elsewhere, kept_outline
from nebula.value import replace

MAX_OUTLINE_BYTES = 4_000
"""About a thousand tokens: enough names to know where to look, and no dearer than reading a file."""
MIN_FILES = 10
"""A project with fewer is seen whole in the listing of its top."""


def project_map(settings: Settings, prompt: str, recent: Sequence[str]) -> tuple[str, ...]:
    if is_elsewhere(settings):
        return _kept_map(settings, prompt, recent)
    if not has_local_index(settings):
        return ()
    from nebula.index.ranking.outline import fitting

    try:
        with open_index(replace(settings, embedder="")) as index:
            if index.store.shape().files < MIN_FILES:
                return ()
            return tuple(fitting(index.outline(prompt, recent), MAX_OUTLINE_BYTES))
    except (OSError, NebulaError):
        return ()  # the outline only helps; searchCode reports what is wrong with the index


def _kept_map(settings: Settings, prompt: str, recent: Sequence[str]) -> tuple[str, ...]:
    kept = kept_outline(settings)
    if kept is None or len(kept.files) < MIN_FILES:
        return ()
    from nebula.index.ranking.outline import OutlinedFile, fitting, reordered

    files = reordered([OutlinedFile(*each) for each in kept.files], prompt, recent)
    if not settings.mcp_url:  # the files are here: what is not among them would be looked for in vain
        files = [each for each in files if os.path.lexists(os.path.join(settings.root, each.path))]
    return tuple(fitting(files, MAX_OUTLINE_BYTES))


def map_readers(settings: Settings) -> tuple[Reader, ...]:
    """Return the readers that prepare the next turn's map, where the index is in a database."""
    return (OutlineFetch(settings),) if is_elsewhere(settings) and not settings.rag_url else ()


class OutlineFetch:
    """A reader of turns that asks the database for an outline, in the background, for the turn after."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._asked = ""
        self.thread: threading.Thread | None = None

    def __call__(self, stamped: Stamped) -> None:
        """Ask for an outline once the model has its request, which must not wait for it."""
        if stamped.trace_id == self._asked or isinstance(stamped.event, Task | Notice):
            return
        self._asked = stamped.trace_id
        if self.thread is None or not self.thread.is_alive():
            self.thread = threading.Thread(target=fetch_outline, args=(self._settings,), name="outline", daemon=True)
            self.thread.start()
