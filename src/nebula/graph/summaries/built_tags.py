"""Remembers which tags a build made, so that building again replaces those and keeps the ones people set.

Kept in the user's home: it is nothing for git. Where it says nothing of a node (a clone, say), every tag counts as set
by hand, and none is lost.
"""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Sequence
from contextlib import suppress

from nebula.files.descriptors import naming
from nebula.files.home import derived_folder
from nebula.graph.values import Node, clean_tags

FILE = "built_tags.jsonl"


class BuiltTags:
    def __init__(self, data_dir: str) -> None:
        self._path = os.path.join(derived_folder(data_dir), FILE)
        self._lock = threading.Lock()
        self._known: dict[str, list[str]] | None = None

    def merged(self, node: Node, made: Sequence[str]) -> list[str]:
        """Return the node's tags after a build: those set by hand, then those made now. None made: all stay."""
        if not made:
            return list(node.tags)
        with self._lock:
            earlier = set(self._read().get(node.id, ()))
        return clean_tags([*(tag for tag in node.tags if tag not in earlier), *made])

    def record(self, node_id: str, made: Sequence[str]) -> None:
        line = json.dumps({"id": node_id, "tags": list(made)}, ensure_ascii=False) + "\n"
        with self._lock:
            self._read()[node_id] = list(made)
            with naming(self._path), open(self._path, "a", encoding="utf-8") as file:
                file.write(line)

    def _read(self) -> dict[str, list[str]]:
        if self._known is None:
            self._known = {}
            with suppress(FileNotFoundError), open(self._path, encoding="utf-8") as file:
                for line in file:
                    # Of one that a crash cut short the node's tags count as set by hand.
                    with suppress(ValueError, KeyError, TypeError, RecursionError):
                        entry = json.loads(line)
                        self._known[str(entry["id"])] = [str(tag) for tag in entry["tags"]]
        return self._known
