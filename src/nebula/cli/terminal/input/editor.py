"""Input by a real line editor: history, completion, several lines, pastes folded, wide characters right."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager, suppress

from prompt_toolkit.application import get_app
from prompt_toolkit.filters import Condition
from prompt_toolkit.history import FileHistory
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.shortcuts.prompt import PromptSession
from prompt_toolkit.styles import Style

from nebula.cli.terminal.input.attached_size import AttachedSize
from nebula.cli.terminal.input.completion import PromptCompleter, offers_at_once
from nebula.cli.terminal.input.contract import EndOfInput, Watch, without_surrogates
from nebula.cli.terminal.input.keys import (
    LATE_S,
    KeysKept,
    TerminalKeys,
    TurnKeys,
    answered_by_key,
    prompt_bindings,
    question_bindings,
)
from nebula.cli.terminal.input.node_names import NodeNames
from nebula.cli.terminal.input.paste import Pastes
from nebula.cli.terminal.output.width import BETWEEN, first_parts
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.messages.redaction import Redactor
from nebula.workspace.search.file_names import FileNames

# The prompt names a colour, if only the usual one: the renderer leaves out blanks at the end of a line without style,
# and whoever reads the terminal by program waits for the prompt as it is written, with its blank.
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse ansibrightblack", "prompt": "bold ansidefault"})
_PLAIN_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "prompt": "ansidefault"})


class PrivateHistory(FileHistory):
    """The prompts of earlier sessions, in `~/.nebula/history`, readable by their owner alone.

    On the screen prompts stay folded as they were sent; the file has them whole, and no key that was typed.

    Where the file cannot be read or written, the prompts of this session are still at hand: nobody loses one to a full
    disk because it could not be noted down.
    """

    def __init__(self, path: str, pastes: Pastes, redact: Callable[[str], str]) -> None:
        super().__init__(path)
        self._path = path
        self._pastes = pastes
        self._redact = redact

    def load_history_strings(self) -> Iterable[str]:
        try:
            return map(self._pastes.fold_prompt, super().load_history_strings())
        except OSError:
            return ()

    def store_string(self, string: str) -> None:
        with suppress(OSError):
            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            os.close(os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600))
            super().store_string(self._redact(self._pastes.expand(string)))


class EditorInput:
    """The input of a terminal that has what an editor takes; the words are the commands that it completes."""

    def __init__(self, terminal: TerminalSession, slash_words: Mapping[str, str], bare_words: Iterable[str]) -> None:
        self._terminal = terminal
        self._typed, self._pastes = terminal.typed, terminal.pastes
        redact = Redactor(terminal.settings.secrets).text
        self._history = PrivateHistory(os.path.join(terminal.settings.home, "history"), self._pastes, redact)
        self._typed.keep = self._history.append_string
        self._attached = AttachedSize(lambda: terminal.session.project.read_only, self._pastes)
        self._file_names: dict[str, FileNames] = {}
        nodes = NodeNames(lambda: terminal.session.archive.graph)
        self._completer = PromptCompleter(slash_words, bare_words, self._files, nodes)
        self._input = TerminalKeys(sys.stdin, self._gave_back)
        self._keys = TurnKeys(self._input, self._typed, self._pastes)
        self._style = _STYLE if terminal.screen.colour else _PLAIN_STYLE
        self._depth = ColorDepth.DEPTH_4_BIT if terminal.screen.colour else ColorDepth.DEPTH_1_BIT
        self._main: PromptSession[str] | None = None
        self._question: PromptSession[str] | None = None
        self._late_until = 0.0
        """Until then an Enter may belong to a question that a key has answered."""
        self._editing = False
        """Text was put in front to be changed: Ctrl-C leaves it instead of clearing the line."""
        self._returned = ""
        """Stands in front because its turn came to nothing: as long as it is untouched, the line counts as empty."""

    def attached(self) -> AbstractContextManager[None]:
        return KeysKept(self._input.fileno())

    def _files(self) -> FileNames:
        """Return the listing of the session at hand: its workspace is the one that knows what may be seen."""
        session = self._terminal.session
        return self._file_names.setdefault(session.id, FileNames(session.project.read_only))

    async def prompt(self) -> str:
        if self._typed.leaving:
            raise EndOfInput
        self._returned = self._typed.returned
        try:
            return await self._prompt(self._typed.take_text())
        finally:
            self._returned = ""

    async def edit(self, text: str) -> str:
        self._editing = True
        try:
            return self._pastes.expand_small(await self._prompt(self._pastes.fold_prompt(text)))
        finally:
            self._editing = False

    async def _prompt(self, default: str) -> str:
        if self._main is None:
            self._main = self._main_session()
        return without_surrogates(await self._main.prompt_async(default=default))

    def _gave_back(self) -> bool:
        """Return whether what was given back stands there as it was."""
        document = self._main.default_buffer.document if self._main is not None else None
        return document is not None and document.is_cursor_at_the_end and document.text == self._returned != ""

    def _counts_as_empty(self) -> bool:
        return self._gave_back() or not (self._main and self._main.default_buffer.text)

    async def ask(self, question: str, *, fresh: bool = False, keys: str = "", is_agreement: bool = False) -> str:
        if fresh:
            await self._until_quiet()
        if self._question is None:
            self._question = self._question_session()
        with answered_by_key(self._question.default_buffer, keys, self._hear_key):
            answer = await self._question.prompt_async([("class:prompt", question)], handle_sigint=False)
        return without_surrogates(answer)

    def _hear_key(self) -> None:
        self._late_until = time.monotonic() + LATE_S

    def _is_late(self) -> bool:
        return time.monotonic() < self._late_until

    def watching(self, watch: Watch) -> AbstractContextManager[None]:
        return self._keys.watching(watch)

    async def _until_quiet(self) -> None:
        """Somebody in the middle of typing the next prompt must not answer by accident."""
        while (wait := self._typed.quiet_in()) > 0:  # noqa: ASYNC110 - each key may make it longer
            await asyncio.sleep(wait)

    def _main_session(self) -> PromptSession[str]:
        session: PromptSession[str] = PromptSession(
            message=lambda: [("class:prompt", self._terminal.label())],
            multiline=True,
            prompt_continuation="… ",
            key_bindings=prompt_bindings(self._terminal, lambda: self._editing, self._counts_as_empty),
            completer=self._completer,
            complete_in_thread=True,
            complete_while_typing=Condition(
                lambda: offers_at_once(get_app().current_buffer.document.text_before_cursor)
            ),
            history=self._history,
            bottom_toolbar=self._status,
            enable_suspend=True,
            reserve_space_for_menu=8,
            input=self._input,
            style=self._style,
            color_depth=self._depth,
        )
        _be_calm(session)
        return session

    def _question_session(self) -> PromptSession[str]:
        session: PromptSession[str] = PromptSession(
            key_bindings=question_bindings(self._is_late), input=self._input, style=self._style, color_depth=self._depth
        )
        _be_calm(session)
        return session

    def _status(self) -> str:
        """Return the status line; what does not fit is left out whole, the last first."""
        app = get_app()
        attached = self._attached(app.current_buffer.text)
        parts = [*filter(None, [attached]), *self._terminal.status().split(BETWEEN)]
        return first_parts(parts, app.output.get_size().columns)


def _be_calm(session: PromptSession[str]) -> None:
    """A terminal that does not tell where its cursor is gets no status line; that is no reason to complain."""
    session.app.renderer.cpr_not_supported_callback = None
    session.app.ttimeoutlen = 0.1
