"""What the model sees of a large project before it has looked: an outline from the code index, where there is one.

It never waits for the index: what is there is used as it is, and without one nothing is opened or imported.
"""

from __future__ import annotations

from collections.abc import Sequence

from nebula.config import Settings
from nebula.tools.code_index import has_local_index, open_index
from nebula.value import replace

MAX_OUTLINE_BYTES = 4_000
"""About a thousand tokens: names enough to know where to look, and no more than a file read costs."""
MIN_FILES = 10
"""A project with fewer is seen whole in the listing of its top."""


def project_map(settings: Settings, prompt: str, recent: Sequence[str]) -> tuple[str, ...]:
    if not has_local_index(settings):
        return ()
    import sqlite3

    try:
        with open_index(replace(settings, embedder="")) as index:
            if index.store.shape().files < MIN_FILES:
                return ()
            return tuple(index.outline(prompt, recent, MAX_OUTLINE_BYTES))
    except (OSError, sqlite3.Error):
        return ()  # a help, not a need: searchCode says what is wrong with the index
