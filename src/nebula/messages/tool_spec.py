"""A tool as it is offered to a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from nebula.value import value

from .json_forms import JsonObject, form, optional, own_json, read_json_value, read_object, read_text, required

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def snake_case(name: str) -> str:
    """Return the name of a tool as local models and the audit log know it: `readFile` is `read_file`."""
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name)


@value
class DialectForm:
    """How the JSON dialect offers a tool: under a name that local models know."""

    name: str
    mode: str = ""
    """Where several tools share the name: the value of the argument `mode` that means this one."""
    rename: tuple[tuple[str, str], ...] = ()
    """Arguments as offered, each with our own name for it."""
    arguments: tuple[str, ...] = ()
    """Those of our arguments that it takes; empty: all."""
    description: str = ""
    """Empty: as the tool describes itself."""
    sets: tuple[tuple[str, Any], ...] = ()
    """Arguments of ours that a call under this form has besides, each with its value."""


@value
class ToolSpec(JsonObject):
    """Name, description and the JSON schema of the arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = MappingProxyType({})

    FORM = form(
        name=required(read_text),
        description=optional(read_text, ""),
        parameters=optional(lambda schema: read_object(read_json_value(schema)), {}),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", own_json(self.parameters))


@value
class DeclaredSpec(ToolSpec):
    """A tool of ours, with what a connector has to know beside what it sends."""

    forms: tuple[DialectForm, ...] = ()
    """How the dialect offers it; where none are given, as one tool under its name in snake case."""
    reads_only: bool = False
    """It changes nothing, so a call that was not quite clear does no harm."""

    def __post_init__(self) -> None:
        ToolSpec.__post_init__(self)
        if not self.forms:
            object.__setattr__(self, "forms", (DialectForm(snake_case(self.name)),))


def tool_specs(tools: Mapping[str, Any] | Iterable[Any]) -> tuple[ToolSpec, ...]:
    """Return the specs in `tools`: a sequence of them, or a mapping from names (or from groups) to them.

    A spec may also be given as a mapping in its JSON form; inside a mapping its name may be left to the key.
    """
    if not isinstance(tools, Mapping):
        return tuple(_spec(tool) for tool in tools)
    found: list[ToolSpec] = []
    for key, tool in tools.items():
        if isinstance(tool, (list, tuple)):
            found.extend(_spec(member) for member in tool)
        elif isinstance(tool, Mapping):
            found.append(_spec({"name": key, **tool}))
        else:
            found.append(_spec(tool))
    return tuple(found)


def _spec(tool: object) -> ToolSpec:
    return tool if isinstance(tool, ToolSpec) else ToolSpec.from_json(tool)
