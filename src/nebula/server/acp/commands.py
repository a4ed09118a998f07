"""The contract of commands such as `/undo` in an editor; the front door provides them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from nebula.agent.session import Session
from nebula.attachments import Attachment
from nebula.events import Final, Reader
from nebula.value import value


@value
class ListedCommand:
    name: str
    description: str
    takes_argument: bool = False

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {"name": self.name, "description": self.description}
        return body | ({"input": {"hint": self.description}} if self.takes_argument else {})


class EditorDoor(Protocol):
    """What a command can do in the editor."""

    @property
    def session(self) -> Session: ...

    @property
    def plan_reader(self) -> Reader:
        """Return the reader that shows the steps of a plan."""

    def show_output(self, text: str) -> None:
        """Show the output of a command unchanged, line by line."""

    def show_words(self, text: str) -> None:
        """Show Markdown."""

    async def confirm(self, question: str) -> bool: ...

    async def take_turn(self, prompt: str, attachments: Sequence[Attachment]) -> Final: ...


class EditorCommands(Protocol):
    """The commands of one session."""

    def listed(self) -> Sequence[ListedCommand]: ...

    async def prompt(self, text: str, attachments: Sequence[Attachment]) -> None:
        """Run what the user sent: a command, or a turn of the agent. Raises RpcError for an unknown command."""

    def mode_changed(self) -> None:
        """Note that the editor switched the mode."""


CommandsOf = Callable[[EditorDoor], EditorCommands]
