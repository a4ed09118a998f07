"""Expand `/name ARGUMENTS` on the page: commands from Markdown files, and prompts of MCP servers.

A name runs nothing: it becomes a prompt, which is sent and shown like one that was typed. The terminal's own commands
are not among them, whatever files a project has. The MCP servers are the configured ones, started once for all clients,
and only when somebody wants their prompts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from nebula.agent.assembly import external_servers
from nebula.config import Settings
from nebula.extensions.commands import FileCommand, expand_typed, find_commands, is_command_word
from nebula.language import Sentence
from nebula.server.conversation.protocol import ActionError
from nebula.value import value

if TYPE_CHECKING:
    from nebula.tools.external.servers import ExternalServers


@value
class OfferedCommand:
    """A command that can be typed."""

    name: str
    about: str
    usage: str
    """What follows its name; empty if that is not known."""
    owner: str
    """`user`, `project` or `server`."""


class TypedCommands:
    def __init__(self, settings: Settings, words: Callable[[], Collection[str]], *, has_servers: bool) -> None:
        """`words` returns the terminal's commands; it is called when the first slash is typed."""
        self._settings = settings
        self._words = words
        self._has_servers = has_servers
        self._servers: ExternalServers | None = None
        self._starting = asyncio.Lock()

    async def offered(self, *, start_servers: bool) -> tuple[list[OfferedCommand], list[Sentence]]:
        """Return what can be typed now, and remarks on servers that could not be started."""
        problems = await self._start() if start_servers else []
        return [*await asyncio.to_thread(self._of_files), *self._of_servers()], problems

    async def expand(self, text: str) -> str:
        """Return the prompt that a typed line stands for, any other text unchanged. Raises ActionError for an unknown
        name, and UnreadableFile."""
        if not text.startswith("/"):
            return text
        first, *rest = text.split(None, 1)
        word = first[1:]
        if word.lower() in self._words():
            of_terminal = "/{word} is a command of the terminal; here Ctrl+K lists what can be done."
            raise ActionError(of_terminal, code="not_found", word=word)
        expanded = await asyncio.to_thread(expand_typed, self._settings, text)
        if expanded is not None:
            return expanded
        if not is_command_word(text):
            return text
        problems = await self._start() if "__" in word else []
        said = await self._server_prompt(word, "".join(rest))
        if said is None:
            raise ActionError("{problem}", problem=problems[0]) if problems else await self._unknown(first)
        return said

    async def close(self) -> None:
        if self._servers is not None:
            await self._servers.close()

    def _of_files(self) -> list[OfferedCommand]:
        words = self._words()
        found: dict[str, FileCommand] = find_commands(self._settings)
        return [
            OfferedCommand(name, command.description, "", command.place.owner)
            for name, command in sorted(found.items())
            if name not in words
        ]

    def _of_servers(self) -> list[OfferedCommand]:
        prompts = self._servers.prompts() if self._servers is not None else {}
        return [OfferedCommand(name, each.about, each.usage, "server") for name, each in sorted(prompts.items())]

    async def _start(self) -> list[Sentence]:
        if not self._has_servers:
            return []
        async with self._starting:
            if self._servers is None:
                self._servers = external_servers(self._settings)
            return await self._servers.open() if self._servers is not None else []

    async def _server_prompt(self, word: str, rest: str) -> str | None:
        prompt = self._servers.prompts().get(word) if self._servers is not None else None
        if prompt is None:
            return None
        arguments = prompt.read_arguments(rest)
        if arguments is None:
            raise ActionError("Say it as: {line}", line=f"/{word} {prompt.usage}")
        return await prompt.ask(arguments)

    async def _unknown(self, word: str) -> ActionError:
        from difflib import get_close_matches

        offered, _ = await self.offered(start_servers=False)
        near = get_close_matches(word[1:].lower(), [each.name for each in offered], n=1)
        if near:
            return ActionError(
                "There is no command {word}; did you mean {near}? It was not sent to the model.",
                code="not_found",
                word=word,
                near=f"/{near[0]}",
            )
        return ActionError(
            "There is no command {word}; it was not sent to the model. (To send text that begins with a slash, put a"
            " space in front.)",
            code="not_found",
            word=word,
        )
