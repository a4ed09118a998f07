"""Replace beginnings of ids in a request by whole ids: a beginning stands for a node if no other id begins with it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from nebula.graph.errors import AmbiguousId, NotFound
from nebula.graph.reader import GraphReader

_ONE: Final = frozenset({"node_id", "source_id", "target_id", "source", "target", "near", "again"})
_SEVERAL: Final = frozenset({"node_ids", "nodes", "from", "parents", "without"})
_CONNECTIONS: Final = "connections"
_WHOLE: Final = 36
"""The length of the ids that we make; an id of that length needs no search."""


def has_beginnings(data: Mapping[str, Any]) -> bool:
    """Return whether an id in the data may be a beginning: only then the graph is searched."""
    return _each(data, lambda found: "" if _is_beginning(found) else found) != data


def complete_ids(graph: GraphReader, data: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the data with whole ids. A beginning of no id stays as it is, since each action decides what a missing
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
