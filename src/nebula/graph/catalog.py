"""Which file holds which node."""

from __future__ import annotations

from . import files, tsv
from .disk import Disk
from .node_store import INDEX
from .values import Node


class Catalog:
    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._signature: files.Signature | None = None
        self._paths: dict[str, list[str]] = {}

    def locate(self, node_id: str) -> list[str]:
        current = files.signature(self._disk.path(INDEX))
        if current != self._signature:
            self._paths = {}
            for line in tsv.read(self._disk.path(INDEX), "xml")[0]:
                self._paths.setdefault(line.id, []).insert(0, line.path)
            self._signature = current
        return self._paths.get(node_id, [])

    def add(self, path: str, node: Node) -> None:
        self._paths.setdefault(node.id, []).insert(0, path)
        self._signature = files.signature(self._disk.path(INDEX))
