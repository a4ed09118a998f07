"""Keys: what they do in the prompt being written and at a question, and which count while a turn runs."""

from __future__ import annotations

import asyncio
import termios
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import is_searching
from prompt_toolkit.input.posix_utils import PosixStdinReader
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100 import Vt100Input, raw_mode
from prompt_toolkit.key_binding import ConditionalKeyBindings, KeyBindings, KeyBindingsBase, KeyPress, KeyPressEvent
from prompt_toolkit.keys import Keys

from nebula.cli.printing import print_line
from nebula.cli.terminal.input.clipboard import UnreadableClipboard, clipboard_image
from nebula.cli.terminal.input.contract import EndOfInput, Interrupted, Watch
from nebula.cli.terminal.input.paste import Pastes
from nebula.cli.terminal.input.typed_ahead import TypedAhead
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.language import explain, translate

ESCAPE_WAIT_S = 0.1
"""An Esc that nothing follows for so long is the key, not the beginning of a sequence."""


# The prompt


def prompt_bindings(
    terminal: TerminalSession, editing: Callable[[], bool], is_empty: Callable[[], bool]
) -> KeyBindingsBase:
    """While Ctrl-R searches, the keys belong to the search: Enter takes what it found, Ctrl-C gives it up."""
    keys = KeyBindings()
    _bind_sending(keys)
    _bind_actions(keys, terminal)
    _bind_text(keys, terminal.pastes)
    _bind_leaving(keys, editing, is_empty)
    return ConditionalKeyBindings(keys, ~is_searching)


def _bind_sending(keys: KeyBindings) -> None:
    @keys.add("enter")
    def send(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        chosen = buffer.complete_state and buffer.complete_state.current_completion
        if chosen and chosen.text.startswith("@"):
            buffer.insert_text(" ")  # takes the file and closes the menu; the sentence goes on
        elif buffer.document.text_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.insert_text("\n")
        else:
            buffer.validate_and_handle()

    @keys.add("escape", "enter")
    @keys.add("c-j")
    def new_line(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text("\n")


def _bind_actions(keys: KeyBindings, terminal: TerminalSession) -> None:
    @keys.add("s-tab")
    def mode(event: KeyPressEvent) -> None:
        terminal.switch_mode()
        event.app.invalidate()

    @keys.add("c-o")
    def backstage(event: KeyPressEvent) -> None:
        _print_above(event.app, terminal.toggle_backstage)  # with what has run so far


def _print_above(app: Application[Any], show: Callable[[], None]) -> None:
    """Have `show` print above the prompt. The terminal hands keys on as they are typed meanwhile: prompt_toolkit's
    `run_in_terminal` lets it edit a line of its own, in which keys get lost."""
    app.renderer.erase()
    show()
    app.renderer.request_absolute_cursor_position()
    app.invalidate()


def _bind_text(keys: KeyBindings, pastes: Pastes) -> None:
    @keys.add("c-g")
    @keys.add("c-x", "c-e")
    def editor(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.text = pastes.expand(buffer.text)
        buffer.open_in_editor()

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        if event.data:
            event.current_buffer.insert_text(pastes.fold(event.data))
        else:  # some terminals send this for a clipboard without text
            image(event)

    @keys.add("c-v")
    def image(event: KeyPressEvent) -> None:
        event.app.create_background_task(_insert_image(event, pastes))


async def _insert_image(event: KeyPressEvent, pastes: Pastes) -> None:
    """Insert the mark of the image in the clipboard, or tell that there is none."""
    try:
        data = await asyncio.to_thread(clipboard_image)
    except UnreadableClipboard as problem:
        said = explain(problem)
    else:
        if data is not None:
            event.current_buffer.insert_text(pastes.add_image(data))
            event.app.invalidate()
            return
        said = translate("No image in the clipboard.")
    _print_above(event.app, lambda: print_line(said))


def _bind_leaving(keys: KeyBindings, editing: Callable[[], bool], is_empty: Callable[[], bool]) -> None:
    @keys.add("c-c")
    @keys.add("<sigint>")
    def clear(event: KeyPressEvent) -> None:
        if event.current_buffer.text and not editing():
            event.current_buffer.reset()
        else:
            event.app.exit(exception=Interrupted())

    @keys.add("escape", "escape")
    def clear_only(event: KeyPressEvent) -> None:
        if not editing():
            event.current_buffer.reset()

    @keys.add("c-d")
    def leave(event: KeyPressEvent) -> None:
        if is_empty():
            event.app.exit(exception=EndOfInput())
        else:
            event.current_buffer.delete()


# A question


def question_bindings(is_late: Callable[[], bool]) -> KeyBindings:
    """While `is_late`, an Enter alone belongs to the question before, and answers nothing."""
    keys = KeyBindings()

    @keys.add("enter")
    @keys.add("c-j")
    def send(event: KeyPressEvent) -> None:
        if event.current_buffer.text or not is_late():
            event.current_buffer.validate_and_handle()

    @keys.add("c-c")
    @keys.add("<sigint>")
    @keys.add("escape", eager=True)
    def give_up(event: KeyPressEvent) -> None:
        event.app.exit(exception=Interrupted())

    @keys.add("c-d")
    def end(event: KeyPressEvent) -> None:
        if not event.current_buffer.text:
            event.app.exit(exception=EndOfInput())

    return keys


ONE_KEY_S = 0.4
"""A letter that nothing follows for so long is the answer; somebody who types a sentence has gone on by then."""
LATE_S = 1.5
"""Somebody who ends every answer with Enter has done so by then."""


@contextmanager
def answered_by_key(buffer: Buffer, keys: str, answered: Callable[[], None]) -> Iterator[None]:
    """Let one of `keys`, typed alone, answer the question of the block without Enter; then call `answered`."""
    timers: list[asyncio.TimerHandle] = []

    def answer() -> None:
        answered()
        buffer.validate_and_handle()

    def hear(_: Buffer) -> None:
        while timers:
            timers.pop().cancel()
        if len(buffer.text) == 1 and buffer.text in keys:
            timers.append(asyncio.get_running_loop().call_later(ONE_KEY_S, answer))

    buffer.on_text_changed += hear
    try:
        yield
    finally:
        buffer.on_text_changed -= hear
        for timer in timers:
            timer.cancel()


# A running turn


class TerminalKeys(Vt100Input):
    """The terminal's keys, where a line feed that ends typed text is Enter.

    A person's Ctrl+J comes alone and means a new line; a program that types for a person sends its line in one go and
    ends it with a line feed. Nor does it see what was given back: its line comes in place of that.
    """

    def __init__(self, stdin: TextIO, gave_back: Callable[[], bool]) -> None:
        super().__init__(stdin)
        self.stdin_reader = PosixStdinReader(self.fileno(), encoding="utf-8")
        self._gave_back = gave_back

    def read_keys(self) -> list[KeyPress]:
        keys = super().read_keys()
        typed = False
        for index, press in enumerate(keys):
            if press.key == Keys.ControlJ and typed:
                keys[index] = KeyPress(Keys.ControlM, "\r")
            typed = typed or _is_text(press)
        if _is_whole_line(keys) and self._gave_back():
            keys.insert(0, KeyPress(Keys.ControlC, "\x03"))
        return keys


class KeysKept(raw_mode):
    """Between two readers the terminal hands keys on as they were typed, and Ctrl-C is a signal.

    In its usual mode it would take them for a line of its own: a Ctrl-D would reach the next reader as a zero byte.
    """

    @classmethod
    def _patch_lflag(cls, attrs: int) -> int:
        return super()._patch_lflag(attrs) | (attrs & termios.ISIG)


class TurnKeys:
    """Listens while a turn runs: Ctrl-C and Esc interrupt, Ctrl-O looks backstage.

    Text is kept for the next prompt, unless Tab sends it into the turn; Ctrl-D leaves when the turn is over.
    """

    def __init__(self, source: TerminalKeys, typed: TypedAhead, pastes: Pastes) -> None:
        self._source = source
        self._typed = typed
        self._pastes = pastes
        self._flush: asyncio.TimerHandle | None = None

    @contextmanager
    def watching(self, watch: Watch) -> Iterator[None]:
        def read() -> None:
            self._handle(self._source.read_keys(), watch)
            self._flush_later(watch)

        with self._source.raw_mode(), self._source.attach(read):
            # What came together with the Enter that began the turn is text typed ahead: else the next question had it.
            self._handle(get_typeahead(self._source), watch)
            try:
                yield
            finally:
                if self._flush is not None:
                    self._flush.cancel()

    def _flush_later(self, watch: Watch) -> None:
        if self._flush is not None:
            self._flush.cancel()
        loop = asyncio.get_running_loop()
        self._flush = loop.call_later(ESCAPE_WAIT_S, lambda: self._handle(self._source.flush_keys(), watch))

    def _handle(self, presses: list[KeyPress], watch: Watch) -> None:
        actions: dict[Keys | str, Callable[[], None]] = {
            Keys.ControlC: watch.interrupt,
            Keys.Escape: watch.interrupt,
            Keys.ControlO: watch.toggle_backstage,
            Keys.ControlI: watch.steer,
            Keys.ControlM: lambda: self._enter(watch),
            Keys.ControlJ: lambda: self._typed.typed("\n"),
            Keys.ControlH: self._typed.erased,
            Keys.ControlD: self._typed.leave,
        }
        for press in presses:
            if press.key in actions:
                actions[press.key]()
            elif press.key == Keys.BracketedPaste:
                self._typed.typed(self._pastes.fold(press.data))
            elif _is_text(press):
                self._typed.typed(press.data)

    def _enter(self, watch: Watch) -> None:
        if watch.obey_at_once(self._typed.text):
            self._typed.text = ""
        else:
            self._typed.entered()


def _is_whole_line(keys: list[KeyPress]) -> bool:
    """Return whether these came together as nobody types them: letters from the beginning to Enter."""
    typed = [press for press in keys if press.key != Keys.CPRResponse]  # the terminal's own answer
    return len(typed) > 2 and all(map(_is_text, typed[:2])) and any(press.key == Keys.ControlM for press in typed)


def _is_text(press: KeyPress) -> bool:
    return len(press.key) == 1 and press.key.isprintable()
