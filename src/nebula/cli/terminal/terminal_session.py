"""A session at the terminal: the agent session at hand, and everything its parts share."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nebula.agent.assembly import open_session
from nebula.cli.terminal.dialogs.approval import TerminalApprover
from nebula.cli.terminal.input.typed_ahead import TypedAhead
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.words import Words
from nebula.config import Settings
from nebula.stage import StageOptions
from nebula.tools.approval import allow_all

if TYPE_CHECKING:
    from nebula.agent.session import Session
    from nebula.cli.terminal.input.contract import TerminalInput
    from nebula.cli.terminal.output.turn_view import TurnView
    from nebula.cli.terminal.usage_report import TurnUsage
    from nebula.graph.values import Node


class TerminalSession:
    """`reading` and `session` are set while it opens; both are there before the first prompt."""

    input: TerminalInput
    session: Session

    def __init__(self, options: argparse.Namespace, settings: Settings, screen: Screen) -> None:
        self.options = options
        self.settings = settings
        self.screen = screen
        self.words = Words(settings.lang)
        self.typed = TypedAhead()
        self.stage_options = StageOptions(settings.lang, settings.curtain, settings.backstage)
        self.work: asyncio.Task[Any] | None = None
        """What Ctrl-C stops: a turn, or a command that waits for somebody."""
        self.view: TurnView | None = None
        self.spent: list[TurnUsage] = []
        self.plan_offered = False
        self.leaving = False
        self.left_behind: Node | None = None
        """After /fork: the path that was kept, and the turns that were left with files of theirs."""
        self.context_used = 0

    # The session

    async def open(self, resume: str | None, from_nodes: Sequence[str] = (), mode: str = "agent") -> None:
        """A new session, or an earlier one by its id."""
        yes = bool(self.options.yes)
        self.session = await open_session(
            self.settings,
            approver=allow_all if yes else TerminalApprover(self),
            by_rule="yes" if yes else None,
            mode=mode,
            resume=resume,
            from_nodes=from_nodes,
            allow=self.options.allow,
        )
        self.spent = self._spent_before() if resume is not None else []
        self.plan_offered = False
        self.left_behind = None
        self.measure_context()

    async def reopen(self, resume: str | None) -> None:
        """Leaves the session at hand for another; mode and model stay. If that fails, one is where one was."""
        old = self.session
        await self.open(resume, mode=old.mode)
        await old.close()

    def _spent_before(self) -> list[TurnUsage]:
        from nebula.cli.terminal.usage_report import remembered

        leaf = self.session.conversation.leaf
        return remembered(self.session.archive.path_to([leaf]), self.session.id) if leaf else []

    # What keys and commands do

    def label(self) -> str:
        return f"[{self.session.mode.upper()}] You: "

    def switch_mode(self, mode: str | None = None) -> None:
        """To this one, or to the other one."""
        self.session.mode = mode or ("agent" if self.session.mode == "plan" else "plan")
        self.plan_offered = False

    def toggle_backstage(self) -> None:
        self.stage_options = self.stage_options._replace(backstage=not self.stage_options.backstage)
        if self.view is not None:
            self.view.stage.options = self.stage_options

    def interrupt(self) -> None:
        if self.work is not None:
            self.work.cancel()

    def stop(self) -> None:
        """Somebody wants the program gone: the turn ends properly, and with it the program."""
        self.leaving = True
        self.interrupt()

    # What it costs

    def measure_context(self) -> None:
        """An estimate for the status line, from what is at hand: nothing is read for it."""
        self.context_used = sum(turn.tokens for turn in self.session.conversation.turns)

    def status(self) -> str:
        chosen = self.session.chosen
        percent = min(100, round(100 * self.context_used / max(1, chosen.context)))
        tokens = sum(each.usage.input_tokens + each.usage.output_tokens for each in self.spent)
        text = self.words("status", mode=self.session.mode, model=chosen.name, percent=percent, tokens=tokens)
        return f"{text} · {self.words('status_backstage')}" if self.stage_options.backstage else text
