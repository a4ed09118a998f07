"""A session at the terminal: the agent session at hand, and everything its parts share."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nebula.agent.assembly import open_session
from nebula.agent.session import Session
from nebula.attachments import Attachment
from nebula.cli.busy import busy
from nebula.cli.terminal.dialogs.approval import TerminalApprover
from nebula.cli.terminal.forks import Forks
from nebula.cli.terminal.input.contract import TerminalInput, Watch
from nebula.cli.terminal.input.paste import Pastes
from nebula.cli.terminal.input.typed_ahead import TypedAhead
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.terminal.output.turn_view import TurnView
from nebula.cli.terminal.usage_report import TurnUsage, remembered
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Final, Reader, Usage
from nebula.graph.values import Node
from nebula.language import Sentence, explain, translate
from nebula.llm.catalog import short_name
from nebula.llm.choose import ChosenModel
from nebula.stage import StageOptions, one_line
from nebula.tools.permissions import ALL_WRITES, NETWORK, PAGES, YES_TO_ALL, Permission
from nebula.value import replace
from nebula.workspace.file_history import FilePlan

if TYPE_CHECKING:
    from nebula.agent.race.outcome import TryOutcome

    TakeTurn = Callable[[str, Sequence[Attachment]], Awaitable[Final]]


P = ParamSpec("P")
T = TypeVar("T")


async def at_work(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function`, which prints nothing, in a thread; a line says meanwhile that work goes on."""
    with busy():
        return await asyncio.to_thread(function, *args, **kwargs)


class TerminalSession:
    """`input` and `session` are set while it opens; both are there before the first prompt."""

    input: TerminalInput
    session: Session

    def __init__(self, options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
        self.options = options
        self.settings = settings
        self.screen = screen
        self.typed = TypedAhead()
        self.pastes = Pastes()
        self.stage_options = StageOptions(settings.lang, settings.curtain, settings.backstage)
        self.work: asyncio.Task[Any] | None = None
        """What Ctrl-C stops: a turn, or a command that waits for somebody."""
        self.view: TurnView | None = None
        """Of the turn that runs or, between two, of the last one."""
        self.line = ""
        """What is being carried out, as it was typed; it is typed again for the user if no answer comes of it."""
        self.came_to_nothing = False
        """The last turn left neither words nor files."""
        self.usage: list[TurnUsage] = []
        self.plan_offered = False
        self.checks_offered = False
        self.graph_looked_at = False
        self.leaving = False
        self.was_stopped = False
        """By a signal, in the middle of a turn."""
        self.left_behind: tuple[Node, FilePlan] | None = None
        """After /fork: the node whose files may be put back, and what was shown of that."""
        self.forks = Forks()
        self.tries: dict[int, TryOutcome] = {}
        """Of the last race, by their numbers."""
        self.gone_already: set[str] = set()
        """Turns of which /undo has found nothing left; the next one goes on to the turn before."""
        self.context_used = 0
        self.running_usage: Usage | None = None
        """Tokens of the turn that runs, so far; None between two turns."""
        self.obey_at_once: Callable[[str], bool] = lambda _: False
        """Carries out a line typed while a turn runs, where that need not wait for the turn."""
        self.telling: set[asyncio.Task[None]] = set()
        """Commands that tell something while a turn runs."""
        self.own_output: dict[str, Attachment] = {}
        """What commands of the user's own said since the last prompt, by name: it goes with the next one."""
        self.take_turn_elsewhere: TakeTurn | None = None
        """Runs a turn where this is no terminal: an editor shows it in its own way."""
        self.plan_readers: Sequence[Reader] = ()
        """They hear of a plan that is made for a file."""

    # The session

    async def open(
        self, resume: str | None, from_nodes: Sequence[str] = (), mode: str = "agent", chosen: ChosenModel | None = None
    ) -> None:
        """Open a new session, or an earlier one by its id; without `chosen` the settings name the model."""
        with busy(Sentence("opening the session")):
            self.session = await open_session(
                self.settings,
                approver=TerminalApprover(self),
                by_rule="yes" if self.options.yes else None,
                mode=mode,
                resume=resume,
                from_nodes=from_nodes,
                allow=self.options.allow,
                chosen=chosen,
                summarises_ahead=True,
            )
            self.session.project.approvals.attended = True
            if self.options.compact is not None:
                await self.session.compact(self.options.compact)
        self.usage = self.usage_before() if resume is not None else []
        self.view = None
        self.plan_offered = False
        self.left_behind = None
        self.forks.forget()
        self.own_output.clear()
        self.measure_context()
        for sentence in self.session.remarks.take():
            self.screen.line(one_line(explain(sentence)))

    async def reopen(self, resume: str | None) -> None:
        """Leave the session at hand for another; mode and model stay. If that fails, one is where one was."""
        old = self.session
        await self.open(resume, mode=old.mode)
        await old.close()

    def usage_before(self) -> list[TurnUsage]:
        leaf = self.session.conversation.leaf
        return remembered(self.session.archive.path_to([leaf]), self.session.id) if leaf else []

    # What keys and commands do

    def label(self) -> str:
        return f"[{self.session.mode.upper()}] You: "

    def switch_mode(self, mode: str | None = None) -> None:
        """Switch to this one, or to the other one."""
        self.session.switch_mode(mode or ("agent" if self.session.mode == "plan" else "plan"))
        self.plan_offered = False

    def toggle_backstage(self) -> None:
        """Shown from now on, together with the tools that have already run."""
        shown = not self.stage_options.backstage
        self.stage_options = replace(self.stage_options, backstage=shown)
        said = translate("Backstage on: tools are shown.") if shown else translate("Backstage off.")
        self.screen.line(said, "dim")
        if self.view is not None:
            self.view.look_backstage(shown)

    def interrupt(self) -> None:
        if self.work is not None:
            self.work.cancel()

    async def carry_out(self, work: Coroutine[Any, Any, T], keys: Watch | None = None) -> T:
        """Return what comes of the work. Meanwhile keys go to `keys`, by default so that Ctrl-C and Esc cancel it."""
        task: asyncio.Task[T] = asyncio.create_task(work)
        self.work = task
        try:
            with self.input.watching(keys or Watch(self.interrupt, self.toggle_backstage)):
                return await task
        finally:
            self.work = None

    def warn(self, problem: Sentence | NebulaError) -> None:
        self.screen.line(one_line(explain(problem)), "yellow")

    def stop(self) -> None:
        """Somebody wants the program gone: the turn ends properly, and with it the program."""
        self.leaving = self.was_stopped = True
        self.interrupt()

    # What is done without asking

    @property
    def permissions(self) -> tuple[Permission, ...]:
        return self.session.project.approvals.granted

    def revoke(self, name: str = "") -> tuple[Permission, ...]:
        """Take back the permission of this name, or all of them, and return what was taken back."""
        taken = self.session.revoke(name)
        # Nor in the next session that is opened here.
        if YES_TO_ALL in taken:
            self.options.yes = False
        if NETWORK in taken or PAGES in taken:
            self.settings = replace(self.settings, allow_network=False)
        self.options.allow = sorted(self.session.project.approvals.permissions.named)
        return taken

    def mark(self) -> str:
        """Return the warning beside every prompt while something is done without asking; empty where nothing is."""
        given = self.permissions
        if not given:
            return ""
        if YES_TO_ALL in given or ALL_WRITES in given:
            return translate("yes to all (/permissions)")
        return translate("yes to {patterns} (/permissions)", patterns=one_line(" ".join(each.name for each in given)))

    # What it costs

    def measure_context(self) -> None:
        """Estimate the context for the status line; nothing is read for it."""
        self.context_used = self.session.budget.estimate_next(self.session.conversation)

    def status(self) -> str:
        chosen = self.session.chosen
        percent = min(100, round(100 * self.context_used / max(1, chosen.context)))
        tokens = sum(each.usage.input_tokens + each.usage.output_tokens for each in self.usage)
        figures = translate(
            "{mode} · {model} · context {percent} % · {tokens:,} tokens",
            mode=self.session.mode,
            model=one_line(short_name(chosen.name)),
            percent=percent,
            tokens=tokens,
        )
        backstage = translate("backstage") if self.stage_options.backstage else ""
        waiting = f"› {one_line(self.typed.shown())}" if self.typed.lines else ""
        return " · ".join(filter(None, (self.mark(), waiting, figures, backstage)))
