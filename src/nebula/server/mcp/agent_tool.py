"""The agent as a tool of the MCP server: a client sends a whole task, and gets the result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

import mcp_types as types

from nebula.agent.assembly import open_session
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.events import Final as TurnEnd
from nebula.events import Stamped, Step
from nebula.language import explain_to
from nebula.tools.approval import allow_all
from nebula.value import field, value

RUN_AGENT: Final = "runAgent"
Report = Callable[[float, str], Coroutine[Any, Any, None]]
"""Called with how many tools have run, and with the one that is running."""


@value
class AgentTool:
    """Runs tasks in one project like `nebula -p --yes`; on a read-only server only in plan mode."""

    settings: Settings
    read_only: bool = False
    allow: tuple[str, ...] = ()
    under_way: set[asyncio.Task[Any]] = field(default_factory=set)

    @property
    def spec(self) -> types.Tool:
        """Return its description for clients."""
        about = (
            "Hand a whole task over to nebula, a coding agent in this project: it reads, "
            + ("plans and answers." if self.read_only else "writes files, runs commands and checks, and answers.")
            + " A call is one turn; with `session` it goes on where that session ended. Costs tokens of its own model."
        )
        modes = ["plan"] if self.read_only else ["agent", "plan"]
        return types.Tool(
            name=RUN_AGENT,
            description=about,
            input_schema={
                "type": "object",
                "properties": {
                    "task": {"type": "string", "description": "What is to be done, in plain words."},
                    "mode": {"enum": modes, "description": "plan: look and plan, write nothing."},
                    "session": {"type": "string", "description": "The session of an earlier call, to go on with it."},
                },
                "required": ["task"],
            },
            annotations=types.ToolAnnotations(read_only_hint=self.read_only, open_world_hint=True),
        )

    async def run(self, args: Mapping[str, Any], report: Report) -> tuple[dict[str, Any], bool]:
        """Return the result of the task, and whether it failed. `report` is called for each tool that runs."""
        call = asyncio.current_task()
        assert call is not None  # noqa: S101 - whoever awaits is one
        self.under_way.add(call)
        call.add_done_callback(self.under_way.discard)
        task, mode, resume = args.get("task"), args.get("mode") or self._modes[0], args.get("session")
        if not isinstance(task, str) or not task.strip() or mode not in self._modes:
            return {"error": f"'task' must be a text, and 'mode' one of {', '.join(self._modes)}."}, True
        if resume is not None and not isinstance(resume, str):
            return {"error": "'session' must be the id of a session."}, True
        try:
            session = await open_session(
                self.settings, approver=allow_all, by_rule="yes", mode=mode, resume=resume or None, allow=self.allow
            )
        except NebulaError as problem:
            return {"error": explain_to("en", problem)}, True
        reporter = _Reporter(report)
        try:
            final = await session.turn(task, [reporter])
            await reporter.finish()
        finally:
            await session.close()
        return _describe(final, session.id), final.status != "ok"

    async def stop(self) -> None:
        """Interrupt the running turns, and wait until they are recorded and their sessions closed."""
        for call in self.under_way:
            call.cancel()
        if self.under_way:
            await asyncio.wait(self.under_way)

    @property
    def _modes(self) -> tuple[str, ...]:
        return ("plan",) if self.read_only else ("agent", "plan")


class _Reporter:
    """Reads the events of a turn and reports each tool that is about to run."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._count = 0
        self._telling: set[asyncio.Future[None]] = set()

    def __call__(self, stamped: Stamped) -> None:
        if isinstance(stamped.event, Step):
            self._count += 1
            telling = asyncio.ensure_future(self._report(self._count, stamped.event.name))
            self._telling.add(telling)
            telling.add_done_callback(self._telling.discard)

    async def finish(self) -> None:
        """Wait until all reports have been sent."""
        await asyncio.gather(*self._telling)


def _describe(final: TurnEnd, session_id: str) -> dict[str, Any]:
    return {
        "answer": final.text,
        "status": final.status,
        "remark": final.say_remarks(),
        "files_changed": [each.path for each in final.files_changed],
        "verified": final.verified,
        "session": session_id,
        "turn": final.node_id,
        "cost_usd": final.cost,
    }
