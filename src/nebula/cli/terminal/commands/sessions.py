"""Commands about sessions: list them, go on with another, begin anew, leave."""

from __future__ import annotations

from shlex import quote

from nebula.agent.past.session_names import as_listed, name_session
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.dialogs.session_choice import choose_session, listed_session
from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.turns import take_turn
from nebula.language import sentence_of, translate, translate_count
from nebula.memory.sessions import SessionInfo
from nebula.messages import strip_hidden_characters
from nebula.stage import one_line


async def leave(terminal: TerminalSession, _: str = "") -> None:
    terminal.leaving = True


async def clear(terminal: TerminalSession, _: str = "") -> None:
    await terminal.reopen(None)
    terminal.screen.tell("A new session begins: {id}", id=terminal.session.id)


async def list_them(terminal: TerminalSession, _: str = "") -> None:
    found = _others(terminal, all_of_them=True)
    if not found:
        terminal.screen.tell("No sessions in this directory yet.")
    for info in found:
        mark = "*" if info.id == terminal.session.id else " "
        terminal.screen.line(f"{mark} {listed_session(info, terminal.screen.columns - 3)}")


async def resume(terminal: TerminalSession, argument: str) -> None:
    """Resume the session with an id at once; without one, one chosen from the list."""
    if argument:
        await _go_to(terminal, argument)
        return
    others = _others(terminal)
    if not others:
        terminal.screen.tell("There is no other session in this directory.")
        return
    try:
        choice = await choose_session(others, terminal.input, terminal.screen)
    except (Interrupted, EndOfInput):
        return
    if choice.resume:
        await _go_to(terminal, choice.resume)
    elif choice.first_prompt:
        await clear(terminal)
        terminal.line = choice.first_prompt
        await take_turn(terminal, terminal.line)


async def _go_to(terminal: TerminalSession, session_id: str) -> None:
    await terminal.reopen(session_id)
    show_resumed(terminal)


def show_resumed(terminal: TerminalSession) -> None:
    """Show where the conversation stood: the last prompt and the last answer."""
    turns, session_id = terminal.session.conversation.turns, terminal.session.id
    resumed = translate_count(
        len(turns), "Resumed {id} ({count} turn so far)", "Resumed {id} ({count} turns so far)", id=session_id
    )
    terminal.screen.line(resumed, "dim")
    if turns:
        terminal.screen.line(f"You: {turns[-1].prompt.strip()}", "dim")
        terminal.screen.line()
        if turns[-1].answer:
            terminal.screen.say(turns[-1].answer)
        if turns[-1].is_cut_short:
            terminal.screen.warn("That turn was cut short; what it had changed by then stays. /retry asks it again.")
            terminal.screen.line()


def _others(terminal: TerminalSession, *, all_of_them: bool = False) -> list[SessionInfo]:
    memory = terminal.session.memory
    found = memory.of_project(terminal.settings.root) if memory else []
    others = (info for info in found if info.messages and (all_of_them or info.id != terminal.session.id))
    return as_listed(others, terminal.settings)


async def name(terminal: TerminalSession, argument: str) -> None:
    """Give the session a name, by which lists show it and /resume and --resume find it."""
    session = terminal.session
    wanted = session.redactor.text(strip_hidden_characters(argument))
    try:
        given = name_session(terminal.settings, session.id, wanted)
    except OSError as problem:
        said = translate("The name could not be kept: {problem}", problem=sentence_of(problem))
        terminal.screen.line(one_line(said), "yellow")
        return
    if given:
        shown = one_line(given)
        said = translate(
            "This session is called {name}. Resume it with: nebula --resume {quoted}", name=shown, quoted=quote(shown)
        )
    else:
        said = translate("This session has no name. /name NAME gives it one.")
    terminal.screen.line(said)


COMMANDS = (
    SessionCommand("sessions", "list the sessions of this directory", list_them, alone=True),
    SessionCommand("name", "call this session something; /resume NAME finds it", name, ("rename",)),
    SessionCommand("resume", "go on with another session", resume, ("continue",)),
    SessionCommand("clear", "begin a new session", clear, ("new", "reset"), alone=True),
    SessionCommand("exit", "leave", leave, ("quit", "q", "bye"), bare=True),
)
