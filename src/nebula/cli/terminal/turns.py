"""One turn at the terminal: run it, show it, let the person interrupt it."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from nebula.cli.terminal.input.contract import Watch
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.turn_view import TurnView
from nebula.cli.terminal.usage_report import TurnUsage
from nebula.llm.catalog import cost
from nebula.stage import Stage

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession
    from nebula.events import Final


async def take_turn(terminal: TerminalSession, prompt: str) -> Final | None:
    """None where it was interrupted before it began."""
    session = terminal.session
    live = LiveLine(terminal.screen, terminal.words, terminal.typed.shown)
    view = terminal.view = TurnView(terminal.screen, live, Stage(terminal.stage_options))
    terminal.plan_offered = False
    terminal.left_behind = None
    terminal.screen.line()
    warming = _warm_up(terminal)
    task = asyncio.create_task(session.turn(prompt, [view.read]))
    terminal.work = task
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, terminal.stop)
    try:
        with terminal.input.watching(Watch(terminal.interrupt, lambda: _look_behind(terminal))):
            final = await task
    except asyncio.CancelledError:
        terminal.screen.line(terminal.words("interrupted"), "yellow")
        return None
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        view.end()
        terminal.work = terminal.view = None
        await warming
    _afterwards(terminal, final)
    return final


def _afterwards(terminal: TerminalSession, final: Final) -> None:
    chosen = terminal.session.chosen
    terminal.spent.append(TurnUsage(chosen.name, final.usage, cost(chosen.provider, chosen.name, final.usage)))
    terminal.measure_context()
    if final.status == "interrupted":
        terminal.typed.hold()
    if terminal.session.mode == "plan" and final.status == "ok":
        terminal.plan_offered = True
        terminal.screen.line(terminal.words("plan_offer"), "cyan")
        terminal.screen.line()


def _look_behind(terminal: TerminalSession) -> None:
    terminal.toggle_backstage()
    terminal.screen.line(terminal.words("backstage_on" if terminal.stage_options.backstage else "backstage_off"), "dim")


def _warm_up(terminal: TerminalSession) -> asyncio.Future[None]:
    """Loads the Markdown reader while the model thinks, so that the first answer does not wait for it."""

    def load() -> None:
        if terminal.screen.colour:
            import nebula.cli.terminal.output.markdown  # noqa: F401

    return asyncio.get_running_loop().run_in_executor(None, load)
