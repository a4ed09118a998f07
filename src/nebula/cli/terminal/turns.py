"""One turn at the terminal: run it, show it, let the person interrupt it."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence

from nebula.attachments import Attachment
from nebula.cli.terminal.commands.checks import offer as offer_checks
from nebula.cli.terminal.input.contract import Watch
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.turn_view import TurnView
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.usage_report import TurnUsage
from nebula.events import Final, Message, Reader, Stamped, Usage
from nebula.language import explain, translate


async def take_turn(terminal: TerminalSession, prompt: str, attachments: Sequence[Attachment] = ()) -> Final:
    """Run a turn and show it; `attachments` come with the prompt beside what was pasted into it
    and what the user's own commands said."""
    terminal.plan_offered = False
    terminal.left_behind = None
    terminal.forks.forget()
    said = dict(terminal.own_output)
    attached = [*attachments, *said.values()]
    terminal.own_output.clear()
    elsewhere = terminal.take_turn_elsewhere
    final = await (elsewhere(prompt, attached) if elsewhere else _take_turn_here(terminal, prompt, attached))
    _afterwards(terminal, final)
    terminal.came_to_nothing = not (final.node_id or final.text or final.files_changed)
    if terminal.came_to_nothing:
        terminal.own_output.update(said)
    await _look_at_graph(terminal, final)
    return final


async def _take_turn_here(terminal: TerminalSession, prompt: str, attachments: Sequence[Attachment]) -> Final:
    live = LiveLine(terminal.screen, terminal.typed.shown)
    view = terminal.view = TurnView(terminal.screen, live, terminal.stage_options)
    terminal.screen.line()
    pasted, problems = terminal.pastes.attachments(prompt)
    for problem in problems:
        terminal.warn(problem)
    warming = _warm_up(terminal)
    attached = [*attachments, *(each for each in pasted if each not in attachments)]
    steering = terminal.typed.take_steering
    readers = [view.read, _count_tokens(terminal)]
    turn = terminal.session.turn(prompt, readers, attachments=attached, steering=steering, watchers=[view.read])
    keys = terminal.interrupt, terminal.toggle_backstage, terminal.typed.steer, terminal.obey_at_once
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, terminal.stop)
    try:
        return await terminal.carry_out(turn, Watch(*keys))
    finally:
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.remove_signal_handler(number)
        view.end()
        terminal.typed.turn_over()
        terminal.running_usage = None
        await warming


def _count_tokens(terminal: TerminalSession) -> Reader:
    """Return a reader that adds up what the running turn has cost."""
    terminal.running_usage = Usage()

    def read(stamped: Stamped) -> None:
        if isinstance(stamped.event, Message) and terminal.running_usage is not None:
            terminal.running_usage += stamped.event.usage

    return read


def _afterwards(terminal: TerminalSession, final: Final) -> None:
    chosen = terminal.session.chosen
    terminal.usage.append(TurnUsage(chosen.name, final.usage, final.cost))
    terminal.measure_context()
    if final.status == "interrupted":
        terminal.typed.hold()
    if final.files_changed:
        offer_checks(terminal)
    if terminal.session.mode == "plan" and final.status == "ok":
        terminal.plan_offered = True
        terminal.screen.line(translate("Type accept to carry this plan out, or say what to change."), "cyan")
        terminal.screen.line()


async def _look_at_graph(terminal: TerminalSession, final: Final) -> None:
    """Once: what cannot be read is not less so after the next turn."""
    if final.node_id and not terminal.graph_looked_at:
        terminal.graph_looked_at = True
        if unreadable := await asyncio.to_thread(terminal.session.archive.unreadable):
            terminal.screen.line(explain(unreadable), "yellow")
            terminal.screen.line()


def _warm_up(terminal: TerminalSession) -> asyncio.Future[None]:
    """Load the Markdown reader while the model thinks, so that the first answer does not wait for it."""

    def load() -> None:
        if terminal.screen.capable:
            import nebula.cli.terminal.output.markdown  # noqa: F401

    return asyncio.get_running_loop().run_in_executor(None, load)
