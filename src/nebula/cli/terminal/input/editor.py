"""Input by a real line editor: history, completion, several lines, pastes folded, wide characters right."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager

from prompt_toolkit.application import get_app
from prompt_toolkit.completion import Completer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.shortcuts.prompt import PromptSession
from prompt_toolkit.styles import Style

from nebula.cli.terminal.input.completion import offers_at_once
from nebula.cli.terminal.input.contract import EndOfInput, Watch, without_surrogates
from nebula.cli.terminal.input.keys import (
    KeysKept,
    PromptActions,
    TerminalKeys,
    TurnKeys,
    answered_by_key,
    prompt_bindings,
    question_bindings,
)
from nebula.cli.terminal.input.paste import Pastes
from nebula.cli.terminal.input.prompt_history import PrivateHistory
from nebula.cli.terminal.input.typed_ahead import TypedAhead
from nebula.cli.terminal.output.width import BETWEEN, first_parts
from nebula.value import value

# The prompt names a colour, if only the usual one: the renderer leaves out blanks at the end of a line without style,
# and whoever reads the terminal by program waits for the prompt as it is written, with its blank.
_STYLE = Style.from_dict({"bottom-toolbar": "noreverse ansibrightblack", "prompt": "bold ansidefault"})
_PLAIN_STYLE = Style.from_dict({"bottom-toolbar": "noreverse", "prompt": "ansidefault"})


@value
class PromptParts:
    """What the prompt is made of; the session hands it in."""

    label: Callable[[], str]
    status: Callable[[], str]
    attached: Callable[[str], str]
    """How much a prompt attaches, in a few words; empty for nothing."""
    actions: PromptActions
    completer: Completer
    pastes: Pastes
    typed: TypedAhead
    history_path: str
    redact: Callable[[str], str]
    """Takes keys out of what is kept of a prompt."""
    colour: bool


class EditorInput:
    def __init__(self, parts: PromptParts) -> None:
        self._parts = parts
        self._history = PrivateHistory(parts.history_path, parts.pastes, parts.redact)
        parts.typed.keep = self._history.append_string
        self._input = TerminalKeys(sys.stdin, self._gave_back)
        self._keys = TurnKeys(self._input, parts.typed, parts.pastes)
        self._style = _STYLE if parts.colour else _PLAIN_STYLE
        self._depth = ColorDepth.DEPTH_4_BIT if parts.colour else ColorDepth.DEPTH_1_BIT
        self._main: PromptSession[str] | None = None
        self._question: PromptSession[str] | None = None
        self._editing = False
        """Text was put in front to be changed: Ctrl-C leaves it instead of clearing the line."""
        self._returned = ""
        """Stands in front because its turn came to nothing: as long as it is untouched, the line counts as empty."""

    def attached(self) -> AbstractContextManager[None]:
        return KeysKept(self._input.fileno())

    async def prompt(self) -> str:
        if self._parts.typed.leaving:
            raise EndOfInput
        self._returned = self._parts.typed.returned
        try:
            return await self._prompt(self._parts.typed.take_text())
        finally:
            self._returned = ""

    async def edit(self, text: str) -> str:
        self._editing = True
        try:
            return self._parts.pastes.expand_small(await self._prompt(self._parts.pastes.fold_prompt(text)))
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
        with answered_by_key(self._question.default_buffer, keys):
            answer = await self._question.prompt_async([("class:prompt", question)], handle_sigint=False)
        return without_surrogates(answer)

    def watching(self, watch: Watch) -> AbstractContextManager[None]:
        return self._keys.watching(watch)

    async def _until_quiet(self) -> None:
        """Somebody in the middle of typing the next prompt must not answer by accident."""
        while (wait := self._parts.typed.quiet_in()) > 0:  # noqa: ASYNC110 - each key may make it longer
            await asyncio.sleep(wait)

    def _main_session(self) -> PromptSession[str]:
        parts = self._parts
        session: PromptSession[str] = PromptSession(
            message=self._message,
            multiline=True,
            prompt_continuation="… ",
            key_bindings=prompt_bindings(parts.actions, parts.pastes, lambda: self._editing, self._counts_as_empty),
            completer=parts.completer,
            complete_in_thread=True,
            complete_while_typing=Condition(lambda: offers_at_once(_typed_so_far())),
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
            key_bindings=question_bindings(), input=self._input, style=self._style, color_depth=self._depth
        )
        _be_calm(session)
        return session

    def _status(self) -> str:
        """Return the status line; what does not fit is left out whole, the last first."""
        app = get_app()
        attached = self._parts.attached(app.current_buffer.text)
        parts = [*filter(None, [attached]), *self._parts.status().split(BETWEEN)]
        return first_parts(parts, app.output.get_size().columns)

    def _message(self) -> StyleAndTextTuples:
        return [("class:prompt", self._parts.label())]


def _typed_so_far() -> str:
    return get_app().current_buffer.document.text_before_cursor


def _be_calm(session: PromptSession[str]) -> None:
    """A terminal that does not tell where its cursor is gets no status line; that is no reason to complain."""
    session.app.renderer.cpr_not_supported_callback = None
    session.app.ttimeoutlen = 0.1
