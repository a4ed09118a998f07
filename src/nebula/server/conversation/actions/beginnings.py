"""Beginnings of ids in a request: where only one node's id begins so, they stand for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nebula.graph.errors import AmbiguousId, NotFound
from nebula.graph.reader import GraphReader

_ONE: Final = frozenset({"node_id", "source_id", "target_id", "source", "target", "near", "again"})
_SEVERAL: Final = frozenset({"node_ids", "nodes", "from", "parents", "without"})
_CONNECTIONS: Final = "connections"
_WHOLE: Final = 36
"""Characters of an id that we made; one of that length needs no search."""


def has_beginnings(data: Mapping[str, Any]) -> bool:
    """Say whether an id in it may be a beginning: only then it has to be looked up."""
    return _each(data, lambda found: "" if _is_beginning(found) else found) != data


def complete_ids(graph: GraphReader, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data with whole ids. What no id begins with stays as it is: each action says for itself what a missing
    node means. Raises AmbiguousId, with the candidates."""

    def complete(found: str) -> str:
        try:
            return graph.resolve_id(found) if _is_beginning(found) else found
        except AmbiguousId:
            raise
        except NotFound:
            return found

    return _each(data, complete)


def _is_beginning(found: str) -> bool:
    return 0 < len(found) < _WHOLE


def _each(data: Mapping[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    return {key: _changed(key, found, change) for key, found in data.items()}


def _changed(key: str, found: Any, change: Callable[[str], str]) -> Any:
    if key in _ONE | _SEVERAL and isinstance(found, str):
        return change(found)
    if key in _SEVERAL and isinstance(found, list):
        return [change(each) if isinstance(each, str) else each for each in found]
    if key == _CONNECTIONS and isinstance(found, list):
        return [_each(each, change) if isinstance(each, dict) else each for each in found]
    return found
