"""A value of any class of the events, with all its fields set, to see what it is as JSON."""

from __future__ import annotations

import typing
from collections.abc import Mapping
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from nebula.language import Sentence
from nebula.messages import AssistantMessage, ToolUseResult

_READY: dict[Any, Any] = {
    str: "x",
    int: 1,
    float: 1.5,
    bool: True,
    Sentence: Sentence("x"),
    AssistantMessage: AssistantMessage.new_response(None, "x"),
    ToolUseResult: ToolUseResult.cancelled("x"),
}


def sample(cls: Any, **given: Any) -> Any:
    """Return a value of a class whose fields are all set; `given` are those that it shall have."""
    hints = get_type_hints(cls)
    names = [name for name in cls.__match_args__ if name not in given]
    return cls(**given, **{name: _of_type(hints[name]) for name in names})


def _of_type(kind: Any) -> Any:
    if kind in _READY:
        return _READY[kind]
    if kind is Any:
        return {}
    origin = get_origin(kind)
    if origin in (UnionType, typing.Union):
        return _of_type(next(each for each in get_args(kind) if each is not NoneType))
    if origin is typing.Literal:
        return get_args(kind)[0]
    if origin is tuple:
        return (_of_type(get_args(kind)[0]),)
    if origin is Mapping:
        return {}
    return sample(kind)
