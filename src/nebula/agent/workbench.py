"""The workbench of a session or a task: the project with its permissions, what was read of it, and the tools for both.

A conversation over the graph alone has a `ChatBench`: no files, no project, one tool that reads earlier turns.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, ExitStack
from typing import TYPE_CHECKING

from nebula.agent.code.project_map import project_map
from nebula.agent.context.project_context import GitState, gather_project_context
from nebula.agent.context.system_prompt import chat_prompt, system_prompt
from nebula.agent.instructions.of_folders import FolderInstructions
from nebula.agent.instructions.standing import MAX_BYTES
from nebula.agent.recording.redactors import learn_secret_files
from nebula.config import Settings
from nebula.events import Activity, Diff
from nebula.language import Sentence
from nebula.messages.redaction import Redactor
from nebula.tools.approval import Approvals
from nebula.tools.code.code_index import CodeSearch
from nebula.tools.contract import Call, Tool
from nebula.tools.declaration import Checks, ToolKit
from nebula.tools.delegate import Runner
from nebula.tools.ledger import ReadLedger
from nebula.tools.registry import agent_tools, chat_tools, plan_tools
from nebula.tools.toolset import CallAudit, ToolSet
from nebula.value import field, record, replace
from nebula.workspace.audit import AuditLog
from nebula.workspace.contract import Workspace

if TYPE_CHECKING:
    from nebula.agent.hooks import Hooks
    from nebula.extensions.skills import FoundSkills
    from nebula.graph.values import Node
    from nebula.tools.commands.layers import CommandLayers
    from nebula.tools.external.servers import ExternalServers

RECENT_FILES = 10
"""How many of the files read last weigh in the outline of the project."""


@record
class ProjectAccess:
    """The project, as far as a session or a task may touch it."""

    root: str
    workspace: Workspace
    read_only: Workspace
    approvals: Approvals
    checks: Checks = field(default_factory=Checks)
    audit: AuditLog | None = None
    """Gets a line for each call; None where a gateway writes it."""
    commands: CommandLayers | None = None
    """None where the files are on another machine."""
    code: CodeSearch | None = None
    """None where no index knows these files."""
    external: ExternalServers | None = None
    """MCP servers, where any are configured."""
    skills: FoundSkills | None = None
    """Skills of the user and of a trusted project, where there are any."""
    hooks: Hooks | None = None
    """The user's hooks, where there are any."""

    @property
    def layers(self) -> CommandLayers | None:
        """Return the layers for checks; None where this machine has none. Finding out may block for a while."""
        return self.commands if self.commands is not None and self.commands.available else None

    def close(self) -> None:
        """Close everything that is open, each part even if another fails; nothing may be used afterwards."""
        with ExitStack() as closing:
            for part in (self.read_only, self.workspace, self.code, self.audit, self.commands):
                close: Callable[[], None] | None = getattr(part, "close", None)
                if close is not None:
                    closing.callback(close)


async def _takes_images() -> bool:
    return True


@record
class Workbench:
    """Project access, ledger and redactor, and the tools made from them."""

    project: ProjectAccess
    redactor: Redactor = field(default_factory=Redactor)
    """Keeps the secrets it has learnt from one turn to the next."""
    ledger: ReadLedger = field(default_factory=ReadLedger)
    find_node: Callable[[str], Node | None] | None = None
    """Returns an earlier turn by its id; None where none can be read."""
    look_up: Callable[[str], list[str]] = lambda _: []
    """Lists earlier turns by their numbers, or by words in them."""
    takes_images: Callable[[], Awaitable[bool]] = _takes_images
    """Asks whether the present model takes images."""
    delegate: Runner | None = None
    """Runs a delegate; None where there are none."""
    git: GitState | None = None
    """What git reports of the project, if it was asked already; None: it is asked for each turn."""
    instructions_used: int = 0
    """Bytes of instructions in the newest system prompt."""

    def tools(self, trace_id: str, mode: str = "agent") -> ToolSet:
        """Make the tools of a mode; their calls are recorded under `trace_id`. May block, since it looks for layers."""
        project, plan = self.project, mode == "plan"
        self._learn_allowed_secrets()
        if project.commands is not None:
            project.commands.learn_secrets = self._learn_allowed_secrets
        external = self._external_tools(plan=plan)
        kit = ToolKit(
            (project.read_only if plan else project.workspace).for_turn(trace_id),
            self.ledger,
            project.checks,
            self.find_node,
            plan,
            project.commands,
            project.approvals,
            project.code,
            trace_id,
            self.look_up,
            external,
            delegate=self.delegate,
            skills=project.skills,
        )
        audit = self.audit(trace_id)
        if plan:
            tools = plan_tools(kit, audit=audit)
        else:
            after = [self.tell_index, *([project.hooks.after_write] if project.hooks is not None else [])]
            tools = agent_tools(kit, project.approvals, audit=audit, after_change=after)
        return replace(tools, beside=FolderInstructions(project.root, self.ledger, self.instructions_used))

    def _learn_allowed_secrets(self) -> None:
        """Add the values of secret files that commands may see to the redactor: a command may write them anywhere."""
        if self.project.commands is not None:
            learn_secret_files(self.redactor, self.project.root, self.project.commands.allowed_secrets)

    def _external_tools(self, *, plan: bool) -> Mapping[str, Tool]:
        if self.project.external is None:
            return {}
        return self.project.external.tools(self.project.approvals, plan=plan, takes_images=self.takes_images)

    def audit(self, trace_id: str) -> CallAudit | None:
        log = self.project.audit
        return CallAudit(log, trace_id, self.redactor.text) if log is not None else None

    async def tell_index(self, change: Diff, _: Call) -> None:
        if self.project.code is not None:
            await asyncio.to_thread(self.project.code.changed, change.path)

    def readable_files(self, trace_id: str) -> Workspace | None:
        """Return the project's files, read-only; None for a conversation without files."""
        return self.project.read_only.for_turn(trace_id)

    def system_prompt(
        self, settings: Settings, mode: str, trace_id: str, prompt: str = "", plan: str = ""
    ) -> tuple[str, list[Sentence]]:
        """Return the system prompt, and remarks on what of the project could not be read."""
        files, root = self.project.read_only.for_turn(trace_id), self.project.root
        context = gather_project_context(files, root, settings.home, self.git)
        self.instructions_used = MAX_BYTES - context.instructions.room
        outline = project_map(settings, prompt, self.ledger.recent(RECENT_FILES))
        context = replace(context, outline=outline)
        told = system_prompt(mode, context, home=settings.home, lang=settings.lang, plan=plan)
        if self.project.skills is not None:
            from nebula.extensions.skills import describe_skills

            told = f"{told}\n\n{describe_skills(self.project.skills.skills)}"
        return told, context.remarks()

    async def open_servers(self, show: Callable[[Activity], None]) -> list[Sentence]:
        """Start the MCP servers that are not running yet, and show that; return remarks on those that could not be
        started."""
        return await self.project.external.open(show) if self.project.external is not None else []

    async def close(self) -> None:
        async with AsyncExitStack() as closing:  # what was pushed last is closed first
            closing.push_async_callback(asyncio.to_thread, self.project.close)
            if self.project.hooks is not None:  # a running hook uses the project's layers
                closing.push_async_callback(self.project.hooks.close)
            if self.project.external is not None:
                closing.push_async_callback(self.project.external.close)


@record
class ChatBench(Workbench):
    """For a conversation over the graph alone."""

    def tools(self, trace_id: str, mode: str = "agent") -> ToolSet:
        kit = ToolKit(self.project.read_only, self.ledger, find_node=self.find_node, look_up=self.look_up)
        return chat_tools(kit, audit=self.audit(trace_id))

    def readable_files(self, trace_id: str) -> None:
        return None

    def system_prompt(
        self, settings: Settings, mode: str, trace_id: str, prompt: str = "", plan: str = ""
    ) -> tuple[str, list[Sentence]]:
        return chat_prompt(home=settings.home, lang=settings.lang), []

    async def open_servers(self, show: Callable[[Activity], None]) -> list[Sentence]:
        return []
