"""One turn at the terminal: run it, show it, let the person interrupt it."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from nebula.agent.prices import cost
from nebula.cli.terminal.live import LiveLine
from nebula.cli.terminal.reading import Watch
from nebula.cli.terminal.spent import Spent
from nebula.cli.terminal.view import TurnView
from nebula.stage import Stage

if TYPE_CHECKING:
    from nebula.cli.terminal.sitting import Sitting
    from nebula.events import Final


async def take_turn(sitting: Sitting, prompt: str) -> Final | None:
    """None where it was interrupted before it began."""
    session = sitting.session
    live = LiveLine(sitting.screen, sitting.words, sitting.typed.shown)
    view = sitting.view = TurnView(sitting.screen, live, Stage(sitting.house))
    sitting.plan_offered = False
    sitting.left_behind = None
    sitting.screen.line()
    warming = _warm_up(sitting)
    task = asyncio.create_task(session.turn(prompt, [view.read]))
    sitting.work = task
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGTERM, sitting.stop)
    try:
        with sitting.reading.watching(Watch(sitting.interrupt, lambda: _look_behind(sitting))):
            final = await task
    except asyncio.CancelledError:
        sitting.screen.line(sitting.words("interrupted"), "yellow")
        return None
    finally:
        loop.remove_signal_handler(signal.SIGTERM)
        view.end()
        sitting.work = sitting.view = None
        await warming
    _afterwards(sitting, final)
    return final


def _afterwards(sitting: Sitting, final: Final) -> None:
    brain = sitting.session.brain
    sitting.spent.append(Spent(brain.name, final.usage, cost(brain.provider, brain.name, final.usage)))
    sitting.measure_context()
    if final.status == "interrupted":
        sitting.typed.hold()
    if sitting.session.mode == "plan" and final.status == "ok":
        sitting.plan_offered = True
        sitting.screen.line(sitting.words("plan_offer"), "cyan")
        sitting.screen.line()


def _look_behind(sitting: Sitting) -> None:
    sitting.toggle_backstage()
    sitting.screen.line(sitting.words("backstage_on" if sitting.house.backstage else "backstage_off"), "dim")


def _warm_up(sitting: Sitting) -> asyncio.Future[None]:
    """Loads the Markdown reader while the model thinks, so that the first answer does not wait for it."""

    def load() -> None:
        if sitting.screen.colour:
            import nebula.cli.terminal.markdown  # noqa: F401

    return asyncio.get_running_loop().run_in_executor(None, load)
