"""What programs import: the conversation graph, and what tests are written with."""

from __future__ import annotations

import inspect
from typing import Any

from docstrings import first_sentence
from words import page, say

import nebula.testing
import vizprompt
from nebula.graph.graph import Graph

_GRAPH = (
    "`from nebula.graph.graph import Graph`; `vizprompt.VizPrompt` has the same calls, and its `create_node` returns"
    " the id."
)
_TESTING = "`from nebula.testing import …`: [how to use it](../guides/testing.md)."


def list_library() -> str:
    return page(
        "Library",
        "What Python programs may import and rely on.",
        "## nebula.graph.graph.Graph",
        say(_GRAPH),
        *_methods(Graph),
        "## vizprompt",
        say("Errors and values of the graph, under the names of its specification."),
        _list_of(vizprompt),
        "## nebula.testing",
        say(_TESTING),
        _list_of(nebula.testing),
    )


def _methods(cls: type) -> list[str]:
    lines = []
    for name, each in inspect.getmembers(cls, inspect.isfunction):
        if not name.startswith("_") and inspect.getdoc(each):
            lines += [
                f"### {name}",
                f"```python\n{name}{_signature(each)}\n```",
                say(first_sentence(each)),
            ]
    return lines


def _list_of(module: Any) -> str:
    lines = []
    for name in module.__all__:
        about = say(first_sentence(getattr(module, name)))
        lines.append(f"- `{name}`: {about}" if about else f"- `{name}`")
    return "\n".join(lines)


def _signature(function: Any) -> str:
    signature = inspect.signature(function)
    own = [each for each in signature.parameters.values() if each.name != "self"]
    return str(signature.replace(parameters=own)).replace("'", "")
