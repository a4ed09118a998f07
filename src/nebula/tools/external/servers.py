"""The MCP servers of one session: started in its first turn, ended with it."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nebula.events import Activity
from nebula.language import Sentence, sentence_of
from nebula.messages import MAX_USER_MESSAGE_SIZE, strip_hidden_characters, truncate_safe
from nebula.tools.approval import Approvals
from nebula.tools.contract import Tool
from nebula.tools.external.configured import ExternalServer
from nebula.tools.external.connection import ServerConnection, ServerFailed
from nebula.tools.external.content import clean_text
from nebula.tools.external.tool import MAX_NAME, ExternalTool, offered_name, takes_images

if TYPE_CHECKING:
    from mcp.types import Prompt

MOST_NAMED = 10


class ExternalServers:
    def __init__(self, servers: Sequence[ExternalServer]) -> None:
        self.connections = [ServerConnection(server) for server in servers]
        self.asks = True
        """Somebody answers for each call, a person or a rule. Where nobody does, as in a try, only those tools are
        offered that merely read or were allowed before."""

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(each for connection in self.connections for each in connection.server.secrets)

    async def open(self, show: Callable[[Activity], None] = lambda _: None) -> list[Sentence]:
        """Start the servers that are not running, all at once; return remarks on those that failed. `show` gets the
        names of those still starting."""
        starting = {each.server.name: None for each in self.connections if not each.is_open}

        async def open_one(connection: ServerConnection) -> list[Sentence]:
            remarks = await _open(connection)
            starting.pop(connection.server.name, None)
            _show_starting(starting, show)
            return remarks

        _show_starting(starting, show)
        remarks = await asyncio.gather(*(open_one(each) for each in self.connections if not each.is_open))
        return [remark for each in remarks for remark in each]

    def tools(
        self, approvals: Approvals | None, *, plan: bool, takes_images: Callable[[], Awaitable[bool]] = takes_images
    ) -> Mapping[str, Tool]:
        """Return the tools of the servers that are running; in plan mode only those that the user declared
        read-only."""
        found: dict[str, Tool] = {}
        for connection in self.connections:
            for declared in connection.tools if connection.is_open else ():
                tool = ExternalTool(connection, declared, approvals, takes_images)
                if tool.reads_only or (not plan and (self.asks or tool.is_allowed)):
                    found.setdefault(tool.spec.name, tool)
        return found

    def prompts(self) -> Mapping[str, ServerPrompt]:
        """Return the prompts that the servers offer to people, by the name to type."""
        found: dict[str, ServerPrompt] = {}
        for connection in self.connections:
            for declared in connection.prompts if connection.is_open else ():
                name = offered_name(connection.server.name, declared.name)
                found.setdefault(name, ServerPrompt(connection, declared))
        return found

    async def restart(self, connection: ServerConnection) -> list[Sentence]:
        """End one server and start it again; return remarks if that failed."""
        await connection.close()
        return await _open(connection)

    async def close(self) -> None:
        await asyncio.gather(*(each.close() for each in self.connections))


def _show_starting(names: Iterable[str], show: Callable[[Activity], None]) -> None:
    if starting := ", ".join(strip_hidden_characters(each)[:MAX_NAME] for each in names):
        show(Activity(Sentence("starting MCP server {names}", names=starting)))


async def _open(connection: ServerConnection) -> list[Sentence]:
    try:
        await connection.open()
    except ServerFailed as problem:
        return [sentence_of(problem)]
    if not connection.left_out:
        return []
    return [
        Sentence(
            "Tools of the MCP server {name} that are not offered, because their description is too large or not valid: "
            "{tools}",
            name=connection.server.name,
            tools=", ".join(strip_hidden_characters(each)[:MAX_NAME] for each in connection.left_out[:MOST_NAMED]),
        )
    ]


MAX_ABOUT = 200


class ServerPrompt:
    """A prompt that a server offers to people: `/server__prompt ARGUMENTS` in a session."""

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
