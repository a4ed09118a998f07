"""Run the user's hooks before writes that no turn makes: taking a try, going back to earlier files, writes of servers.

Whoever writes into the project passes the intended changes here, and writes nothing if this raises. Undoing a change
that was cut short or failed is not judged: a change is applied whole or not at all, whatever a hook decides.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.events import Approval, ProposedChange
from nebula.tools.approval import Approver, Decision
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import RefusedByHook

if TYPE_CHECKING:
    from nebula.config import Settings

Judge = Callable[[str, Sequence["ProposedChange"]], None]
"""(name of the writer, changes): raises RefusedByHook. It blocks, so call it in a thread."""


def judge_of(settings: Settings) -> Judge | None:
    """Return the function that runs the user's hooks before a write; None where there are no hooks."""
    if "before_write" not in settings.hooks:
        return None

    def judge(tool: str, changes: Sequence[ProposedChange]) -> None:
        asyncio.run(_ask_hooks(settings, tool, changes))

    return judge


def judged(ask: Approver, settings: Settings) -> Approver:
    """Return an approver that asks the same question, and after a yes runs the user's hooks. It may raise
    RefusedByHook."""
    if "before_write" not in settings.hooks:
        return ask

    async def asked(question: Approval) -> Decision:
        decision = await ask(question)
        if decision.allowed:
            meant = [each for each in question.changes if not decision.paths or each.path in decision.paths]
            await _ask_hooks(settings, question.tool, meant)
        return decision

    return asked


def judged_workspace(workspace: Workspace, settings: Settings) -> Workspace:
    """Return the workspace of a server, in which the user's hooks judge every write first."""
    judge = judge_of(settings)
    if judge is None or workspace.read_only:
        return workspace
    from nebula.workspace.wrapped.judged import JudgedWorkspace

    return JudgedWorkspace(workspace, judge)


async def _ask_hooks(settings: Settings, tool: str, changes: Sequence[ProposedChange]) -> None:
    from nebula.agent.hooks import Hooks

    hooks = Hooks(settings)
    try:
        reason = await hooks.before_write(tool, changes)
    finally:
        await hooks.close()
    if reason is not None:
        raise RefusedByHook("Your hook before_write refused it: {reason}", reason=reason)
