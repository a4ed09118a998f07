"""The prompts that an MCP server offers to people: `/server__prompt ARGUMENTS` in a session."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

from nebula.messages import MAX_USER_MESSAGE_SIZE, truncate_safe
from nebula.tools.external.connection import ServerConnection
from nebula.tools.external.content import clean_text

if TYPE_CHECKING:
    from mcp.types import Prompt


MAX_ABOUT = 200


class ServerPrompt:
    """One prompt of one server."""

    def __init__(self, connection: ServerConnection, prompt: Prompt) -> None:
        self._connection = connection
        self._name = prompt.name
        arguments = prompt.arguments or []
        self.names = tuple(clean_text(each.name) for each in arguments)
        self.required = tuple(clean_text(each.name) for each in arguments if each.required)
        self.about = clean_text(prompt.description or prompt.title or "")[:MAX_ABOUT]

    @property
    def usage(self) -> str:
        """Return the arguments as they are typed after its name."""
        return " ".join(name if name in self.required else f"[{name}]" for name in self.names)

    def read_arguments(self, text: str) -> dict[str, str] | None:
        """Return the arguments in `text`, by name or in order, with the rest of the text as the last one; None if they
        do not fit."""
        try:
            words = shlex.split(text)
        except ValueError:
            words = text.split()
        pairs = (word.partition("=") for word in words)
        given = {name: said for name, sign, said in pairs if sign and name in self.names}
        rest = [word for word in words if word.partition("=")[0] not in given]
        free = [name for name in self.names if name not in given]
        for number, name in enumerate(free):
            if rest:
                given[name] = rest.pop(0) if number < len(free) - 1 else " ".join(rest)
                rest = [] if number == len(free) - 1 else rest
        return None if rest or any(name not in given for name in self.required) else given

    async def ask(self, args: dict[str, str]) -> str:
        """Return the text that the server makes of the prompt. Raises ServerFailed."""
        found = await self._connection.prompt(self._name, args)
        said = "\n\n".join(filter(None, (_text_of(each.content) for each in found.messages)))
        if not said.strip():
            raise self._connection.failed("its prompt says nothing")
        return truncate_safe(said, MAX_USER_MESSAGE_SIZE)


def _text_of(content: Any) -> str:
    text = getattr(content, "text", None) or getattr(getattr(content, "resource", None), "text", None)
    return clean_text(text) if isinstance(text, str) else ""
