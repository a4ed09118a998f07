"""Gives the chunks of an index their vectors, a batch at a time, while it already answers by words.

What is embedded is the symbol and the text, never the path: a rename needs no new vector, and neither does any part of
an edited file that stayed the same.
"""

from __future__ import annotations

import threading

from nebula.index.constants import EMBED_BATCH
from nebula.index.embedders.contract import Embedder
from nebula.index.reading import Root
from nebula.index.stores.rows import Unembedded
from nebula.index.stores.store import Store
from nebula.index.values import Progress
from nebula.index.vectors import pack


def fill(
    root: Root,
    store: Store,
    embedder: Embedder,
    *,
    stop: threading.Event | None = None,
    progress: Progress | None = None,
) -> int:
    """Embed what has no vector yet, until all have one or `stop` is set. Return how many texts were embedded.

    A file that changed meanwhile is left for later.
    """
    embedded = 0
    passed: set[str] = set()
    while stop is None or not stop.is_set():
        rows = [row for row in store.unembedded(embedder.name, EMBED_BATCH + len(passed)) if row.digest not in passed]
        texts = _texts(root, rows[:EMBED_BATCH])
        passed |= {row.digest for row in rows[:EMBED_BATCH]} - texts.keys()
        if texts:
            vectors = embedder.embed(list(texts.values()))
            store.add_vectors(embedder.name, list(zip(texts, map(pack, vectors), strict=True)))
            embedded += len(texts)
            if progress is not None:
                progress(store.models().get(embedder.name, 0), store.shape().chunks)
        elif not rows:
            break
    return embedded


def _texts(root: Root, rows: list[Unembedded]) -> dict[str, str]:
    """Digest → what to embed, of files that are as they were indexed."""
    files = root.lines_of([(row.path, row.blob, row.end) for row in rows])
    texts = {}
    for row in rows:
        lines = files[row.path]
        if lines is not None:
            texts[row.digest] = f"{row.symbol}\n{lines.text(row.start, row.end)}"
    return texts
