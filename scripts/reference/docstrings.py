"""What the source says of a class and of each of its fields: the string under it."""

from __future__ import annotations

import ast
import inspect
import textwrap
from typing import Any


def first_sentence(thing: Any) -> str:
    """Return the first paragraph of a docstring, in one line."""
    return " ".join((inspect.getdoc(thing) or "").split("\n\n")[0].split())


def listed_items(thing: Any) -> list[str]:
    """Return the items of the list in a docstring, each a line that begins with a dash."""
    return [line for line in (inspect.getdoc(thing) or "").splitlines() if line.startswith("- ")]


def field_docs(cls: type) -> dict[str, str]:
    """Return the string under each field of a class, by the field's name; empty where there is none."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(cls)))
    [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef)]
    found: dict[str, str] = {}
    for node, behind in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = behind.value if isinstance(behind, ast.Expr) else None
            is_text = isinstance(text, ast.Constant) and isinstance(text.value, str)
            found[node.target.id] = " ".join(text.value.split()) if is_text else ""  # type: ignore[union-attr]
    return found
