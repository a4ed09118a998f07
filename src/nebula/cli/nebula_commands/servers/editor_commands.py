"""The commands of a session in an editor: those of the terminal, with its buttons for their questions."""

from __future__ import annotations

import argparse
import io
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

from nebula.attachments import Attachment
from nebula.cli.terminal.commands.table import TABLE, file_commands, find, obey, prompt_of_file, unknown
from nebula.cli.terminal.input.contract import EndOfInput, Watch
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.servers import send_server_prompt
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.turns import take_turn
from nebula.events import Final
from nebula.extensions.commands import is_command_word
from nebula.language import translate
from nebula.server.acp.commands import EditorDoor, ListedCommand
from nebula.server.acp.peer import RpcError
from nebula.stage import neutralise

TERMINAL_ONLY = frozenset({"help", "backstage", "curtain", "sessions", "resume", "clear", "exit"})
"""What an editor does in its own way: it lists commands and sessions, opens and closes them."""
COLUMNS = 200


class TerminalCommands:
    """The commands of the terminal over a session that an editor shows."""

    def __init__(self, door: EditorDoor) -> None:
        self._door = door
        settings = door.session.settings
        options = argparse.Namespace(yes=False, allow=(), compact=None)
        self._screen = ChatScreen(door)
        self._terminal = TerminalSession(options, settings, self._screen)
        self._terminal.session = door.session
        self._terminal.input = ButtonInput(door, self._screen)
        self._terminal.take_turn_elsewhere = self._take_turn
        self._terminal.plan_readers = (door.plan_reader,)
        self._terminal.usage = self._terminal.usage_before()

    def listed(self) -> list[ListedCommand]:
        offered = [each for each in TABLE if each.name not in TERMINAL_ONLY]
        own = [ListedCommand(each.name, translate(each.help), not each.alone) for each in offered]
        of_files = file_commands(self._terminal.settings)
        return own + [ListedCommand(name, about or name, takes_argument=True) for name, about in of_files.items()]

    async def prompt(self, text: str, attachments: Sequence[Attachment]) -> None:
        terminal = self._terminal
        try:
            if find(text) is None and (prompt := prompt_of_file(terminal, text)) is not None:
                await take_turn(terminal, prompt, attachments)
            elif is_command_word(text):
                await self._obey_slash(text)
            elif not attachments and (terminal.plan_offered or text.startswith(("#", "!"))):
                await obey(terminal, text)
            else:
                await take_turn(terminal, text.strip(), attachments)
        finally:
            self._screen.end()

    def mode_changed(self) -> None:
        self._terminal.plan_offered = False

    async def _obey_slash(self, text: str) -> None:
        word, found = text.split(None, 1)[0], find(text)
        if found is None and not await send_server_prompt(self._terminal, text):
            raise RpcError("{problem}", problem=unknown(word))
        if found is None:
            return
        if found[0].name in TERMINAL_ONLY:
            raise RpcError("{word} is for the terminal; your editor has its own way to do that.", word=word)
        await obey(self._terminal, text)

    async def _take_turn(self, prompt: str, attachments: Sequence[Attachment]) -> Final:
        self._screen.end()
        return await self._door.take_turn(prompt, attachments)


class ChatScreen(Screen):
    """Collects what a command prints, and shows it in one piece."""

    def __init__(self, door: EditorDoor) -> None:
        super().__init__(io.StringIO())
        self._door = door

    @property
    def columns(self) -> int:
        return COLUMNS

    def say(self, text: str) -> None:
        self.end()
        self._door.show_words(neutralise(text).strip("\n"))

    def end(self) -> None:
        """Show what was printed so far."""
        printed = self.out.getvalue().strip("\n")  # type: ignore[attr-defined]
        self.out = io.StringIO()
        if printed.strip():
            self._door.show_output(printed)


class ButtonInput:
    """Asks by the editor's own buttons. A list is printed instead, and answered by the command with its argument."""

    def __init__(self, door: EditorDoor, screen: ChatScreen) -> None:
        self._door = door
        self._screen = screen

    def attached(self) -> AbstractContextManager[None]:
        return nullcontext()

    async def prompt(self) -> str:
        raise EndOfInput

    async def edit(self, text: str) -> str:
        raise EndOfInput

    async def ask(self, question: str, *, fresh: bool = False, keys: str = "", is_agreement: bool = False) -> str:
        if not is_agreement:
            raise EndOfInput
        self._screen.end()
        return "yes" if await self._door.confirm(question.partition("(y/N)")[0].strip()) else "no"

    def watching(self, watch: Watch) -> AbstractContextManager[None]:
        return nullcontext()
