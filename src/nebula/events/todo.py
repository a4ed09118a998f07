"""The list of steps that the model keeps while it works, for everybody who watches."""

from __future__ import annotations

from typing import ClassVar, Literal

from nebula.events.facts import Event, Facts
from nebula.value import value

TodoStatus = Literal["pending", "in_progress", "completed"]


@value
class TodoItem(Facts):
    """One step, in the model's words."""

    content: str
    status: TodoStatus


@value
class TodoList(Event):
    """The whole list as it is now; it replaces the one before."""

    type: ClassVar[str] = "todo"
    items: tuple[TodoItem, ...]
