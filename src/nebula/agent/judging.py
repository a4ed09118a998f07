"""The user's hooks before writes that no turn makes: taking a try, going back to earlier files, what servers write.

Whoever writes into the project hands over what is meant, and writes nothing where that raises. What was cut short
or failed is taken back without being judged: a change is applied whole or not at all, whatever a hook thinks of it.
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
"""(what writes, changes): raises RefusedByHook. It blocks: call it in a thread."""


def judge_of(settings: Settings) -> Judge | None:
    """Return what asks the user's hooks before a write; None where there are none to ask."""
    if "before_write" not in settings.hooks:
        return None

    def judge(tool: str, changes: Sequence[ProposedChange]) -> None:
        asyncio.run(_ask_hooks(settings, tool, changes))

    return judge


def judged(ask: Approver, settings: Settings) -> Approver:
    """Return the same question, after whose yes the user's hooks are asked: it may raise RefusedByHook."""
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
    """Return the files of a server whose every write the user's hooks judge first."""
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
