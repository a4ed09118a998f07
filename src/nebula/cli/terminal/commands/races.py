"""/race, /compare and /take; what they need is loaded with the first of them, and not with every session."""

from __future__ import annotations

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.graph.errors import GraphError


async def race(terminal: TerminalSession, argument: str = "") -> None:
    from nebula.cli.race.in_session import run_race

    await run_race(terminal, argument)


async def compare(terminal: TerminalSession, argument: str = "") -> None:
    """Two turns where turns are named, else what the tries of the last race did with these paths."""
    names = argument.split()
    if names:
        from nebula.cli.terminal.commands.graph.compared import compare_turns

        try:
            await compare_turns(terminal, names)
            return
        except GraphError:
            if not terminal.tries:
                raise
    from nebula.cli.race.in_session import compare_tries

    await compare_tries(terminal, argument)


async def take(terminal: TerminalSession, argument: str = "") -> None:
    from nebula.cli.race.in_session import take_from_race

    await take_from_race(terminal, argument)


COMMANDS = (
    SessionCommand("race", "one task tried several times side by side", race),
    SessionCommand("compare", "two turns (NODE NODE), or what the tries of the last race did", compare),
    SessionCommand("take", "what a try of the last race did, whole or in parts", take),
)
