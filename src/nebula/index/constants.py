"""Every number of the index, each with the reason it has. Measured by `bench/index.py`; quality by `docs/retrieval.md`.

What changes a term or a weight on disk also changes `FORMAT`, so that an older index is built anew.
"""

from __future__ import annotations

from typing import Final

FORMAT: Final = 1
"""Of the index on disk: terms, weights, spans. Another one is not read but rebuilt."""
APPLICATION_ID: Final = 0x4E_49_44_58
"""Marks the SQLite file as an index of ours ("NIDX")."""

# --- what is read -------------------------------------------------------------------------------------------------
MAX_FILE_BYTES: Final = 524_288
"""The limit of the workspace (EC_MAX_BYTES): what cannot be read there need not be found."""
BINARY_PROBE_BYTES: Final = 8_000
"""A NUL byte in so many first bytes means binary: git's own rule."""
MAX_CHUNK_BYTES: Final = 65_536
"""A single line longer than this is machine-made; one hit of it would fill a model's context."""
MINIFIED_LINE_BYTES: Final = 400
"""Lines longer than this on average are not written by hand: the file counts as generated."""

# --- chunks ---------------------------------------------------------------------------------------------------------
MAX_LINES: Final = 60
"""A definition up to this long stays whole. About one screen; nine of ten functions are shorter."""
WINDOW_LINES: Final = 40
"""Where there is no definition to follow: half a page is enough context to judge a hit by."""
WINDOW_BYTES: Final = 8_192
"""Long lines end a window sooner, so that hits stay of similar size."""
REST_LINES: Final = 6
"""A rest shorter than this is not worth a window of its own and stays with the one before."""
MAX_DEPTH: Final = 24
"""Definitions nested deeper than this are not looked for; machine-made data nests without end."""
