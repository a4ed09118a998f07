"""What the keys of the prompt do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.keys import Keys

from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.input.paste import Pastes


@dataclass(frozen=True, slots=True)
class PromptActions:
    switch_mode: Callable[[], None]
    toggle_backstage: Callable[[], None]


def prompt_bindings(actions: PromptActions, pastes: Pastes) -> KeyBindings:
    keys = KeyBindings()

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

    @keys.add("s-tab")
    def mode(event: KeyPressEvent) -> None:
        actions.switch_mode()
        event.app.invalidate()

    @keys.add("c-o")
    def backstage(event: KeyPressEvent) -> None:
        actions.toggle_backstage()
        event.app.invalidate()

    @keys.add("c-g")
    @keys.add("c-x", "c-e")
    def editor(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        buffer.text = pastes.expand(buffer.text)
        buffer.open_in_editor()

    @keys.add(Keys.BracketedPaste)
    def paste(event: KeyPressEvent) -> None:
        event.current_buffer.insert_text(pastes.fold(event.data))

    @keys.add("c-c")
    @keys.add("<sigint>")
    def clear(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.reset()
        else:
            event.app.exit(exception=Interrupted())

    @keys.add("c-d")
    def leave(event: KeyPressEvent) -> None:
        if event.current_buffer.text:
            event.current_buffer.delete()
        else:
            event.app.exit(exception=EndOfInput())

    return keys


def question_bindings() -> KeyBindings:
    keys = KeyBindings()

    @keys.add("enter")
    @keys.add("c-j")
    def send(event: KeyPressEvent) -> None:
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
