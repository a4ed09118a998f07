"""todo: the model's own list of steps, which the user can follow."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, get_args

from nebula.events.turn import TodoItem, TodoList, TodoStatus
from nebula.messages import DeclaredSpec
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, schema, whole_characters
from nebula.tools.declaration import ToolDeclaration

MOST_ITEMS = 50
LONGEST = 300
"""Characters of one item."""
STATES: tuple[str, ...] = get_args(TodoStatus)

SPEC = DeclaredSpec(
    "todo",
    "Keep a list of steps that the user sees, for work of several steps; not for small requests. Send the whole list "
    "each time a step begins or is done.",
    schema(
        ["items"],
        items={
            "type": "array",
            "items": schema(
                ["content", "status"], content={"type": "string"}, status={"type": "string", "enum": list(STATES)}
            ),
        },
    ),
    reads_only=True,
)


async def keep_list(args: Mapping[str, Any], call: Call) -> Outcome:
    given = args.get("items")
    if not isinstance(given, list) or len(given) > MOST_ITEMS:
        raise ToolFailure(f"The argument 'items' must be a list of at most {MOST_ITEMS} steps.")
    items = tuple(_read_item(number, each) for number, each in enumerate(given, 1))
    call.emit(TodoList(items))
    return Outcome.ok({"success": True})


def _read_item(number: int, given: Any) -> TodoItem:
    content, status = (given.get("content"), given.get("status")) if isinstance(given, Mapping) else (None, None)
    if not isinstance(content, str) or not content.strip() or status not in STATES:
        raise ToolFailure(f"Item {number} must have 'content' (text) and 'status' (one of {', '.join(STATES)}).")
    return TodoItem(whole_characters(content, f"Item {number}").strip()[:LONGEST], status)


TOOL = ToolDeclaration("todo", lambda _: FunctionTool(SPEC, keep_list), in_plan=False, subject="", kind="think")
