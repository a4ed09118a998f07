"""runCommand: run any shell line, in a throw-away layer over the project. Not the line is approved but its changes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.errors import NebulaError
from nebula.events import Approval, Output, new_trace_id
from nebula.language import sentence_of
from nebula.messages import DeclaredSpec
from nebula.tools.approval import Approvals
from nebula.tools.commands.lacking import NOT_STARTED, describe_for_model, sees_more
from nebula.tools.contract import Call, Outcome, ToolFailure, number_argument, schema, text_argument
from nebula.tools.declaration import ToolDeclaration, ToolKit
from nebula.tools.permissions import NETWORK
from nebula.tools.result_limits import cut_middle
from nebula.value import replace
from nebula.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from nebula.sandbox.contract import CommandResult
    from nebula.tools.commands.layers import CommandLayers
NO_NETWORK = "The network was not allowed, so the command was not run. Go on without it, or ask what is wanted."
NETWORK_UNATTENDED = (
    "Nobody is there to ask, and the program was started without --allow-network: the command was not run."
)
NOT_REACHED = "Not reached, because the user's sandbox_network does not list them: {hosts}."
PLAN_REMARK = "Plan mode: whatever the command changed was thrown away."
ROOM_FOR_REST = 4_000

_ABOUT = (
    "Run a shell line in a copy of the project: tests, linters, formatters, generators, git. It has no network and no "
    "terminal, secrets are empty files, and everything ends with it. "
)
_AGENT = (
    _ABOUT + "What it changed is shown to the user as one set and applied to the project if the user agrees; "
    "`changed` lists what was. Changes under .git are not applied."
)
_PLAN = _ABOUT + "In plan mode whatever it changes is thrown away."
_NETWORK = "It needs the network; the user is asked first."
_NETWORK_TO_HOSTS = "It needs the network. It reaches these hosts alone, over HTTP and HTTPS: "


def _parameters(hosts: tuple[str, ...]) -> dict[str, Any]:
    about_network = _NETWORK_TO_HOSTS + ", ".join(hosts) if hosts else _NETWORK
    return schema(
        ["command"],
        command={"type": "string", "description": "The line, as for `sh -c`, run in the project's directory."},
        timeout_s={"type": "integer", "description": "End it after so many seconds."},
        network={"type": "boolean", "description": about_network},
    )


class RunCommand:
    """The tool for one turn; in plan mode it has no workspace to apply changes to."""

    def __init__(self, layers: CommandLayers, approvals: Approvals | None, workspace: LocalWorkspace | None) -> None:
        self._layers = layers
        self._approvals = approvals
        self._workspace = workspace
        about = _PLAN if workspace is None else _AGENT
        self.spec = DeclaredSpec("runCommand", about, _parameters(self._hosts))

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        line = text_argument(args, "command")
        if not line.strip() or "\0" in line:
            raise ToolFailure("The argument 'command' must be a shell line.")
        network = args.get("network") in (True, "true")
        timeout_s = number_argument(args, "timeout_s")
        hosts = self._hosts if network else ()
        if network and not hosts:
            await self._ask_for_network(line, call)
        try:
            result = await self._run(line, timeout_s, network and not hosts, hosts, call)
            asked = self._layers, self._approvals, call, line
            for _ in range(2):
                if not await sees_more(*asked, result.exit_code, result.read_empty):
                    break
                result.close()
                result = await self._run(line, timeout_s, network and not hosts, hosts, call)
            with result:
                outcome = await self._outcome(line, result, call)
                return replace(outcome, secret=bool(self._layers.allowed_secrets), seconds=result.duration_s)
        except (NebulaError, OSError) as error:
            raise ToolFailure(str(error), code=500, problem=sentence_of(error)) from None

    @property
    def _hosts(self) -> tuple[str, ...]:
        """The hosts that commands may reach without a question; none where the whole network was allowed."""
        return () if self._has_network else self._layers.settings.sandbox_network

    @property
    def _has_network(self) -> bool:
        return self._approvals is not None and self._approvals.permissions.has(NETWORK)

    async def _outcome(self, line: str, result: CommandResult, call: Call) -> Outcome:
        report = partial(self._report, result, call)
        if result.stopped or self._workspace is None:
            return Outcome.ok(report([], [] if self._workspace else [PLAN_REMARK]))
        assert self._approvals is not None  # noqa: S101 - there is a workspace to write to
        from nebula.tools.commands.settling import Settling

        return await Settling(line, result, self._workspace, self._approvals, call, report).run()

    async def _run(
        self, line: str, timeout_s: int | None, network: bool, hosts: tuple[str, ...], call: Call
    ) -> CommandResult:
        call.emit(Output(call.use.id))
        from nebula.tools.commands.backstage import LiveOutput

        show = LiveOutput(call, asyncio.get_running_loop())
        return await self._layers.run(
            line,
            timeout_s=timeout_s,
            network=network,
            hosts=hosts,
            on_output=call.hear or (None if self._layers.allowed_secrets else show.heard),
            read_back=self._workspace is not None,
        )

    async def _ask_for_network(self, line: str, call: Call) -> None:
        approvals = self._approvals
        if self._has_network:
            return
        if approvals is None or not approvals.somebody_is_there:
            raise ToolFailure(NETWORK_UNATTENDED, code=403, policy=True, decision="no")
        question = Approval(new_trace_id(), "network", call.use.name, text=line)
        decision = await approvals.ask(question, call, NETWORK)
        if not decision.allowed:
            raise decision.refusal(NO_NETWORK)

    def _report(self, result: CommandResult, call: Call, changed: list[str], remarks: Iterable[str]) -> dict[str, Any]:
        """Return the report for the model, with both ends of the output, however long it was."""
        output, _ = cut_middle(result.output, max(call.room // 2 - ROOM_FOR_REST, 0))
        report: dict[str, Any] = {"exit_code": result.exit_code, "output": output, "changed": changed}
        if result.stopped:
            report["stopped"] = result.stopped
        said = list(remarks)
        if result.refused_hosts:
            said.append(NOT_REACHED.format(hosts=", ".join(result.refused_hosts)))
        if result.read_empty:
            said.append(describe_for_model(result.read_empty))
        if result.exit_code in NOT_STARTED and self._layers.unseen is not None:
            said.append(str(self._layers.unseen))
        return report | ({"remark": " ".join(said)} if said else {})


def _build(kit: ToolKit) -> RunCommand | None:
    if kit.commands is None or not kit.commands.available:
        return None
    if kit.plan:
        return RunCommand(kit.commands, kit.approvals, None)
    return RunCommand(kit.commands, kit.approvals, kit.workspace) if isinstance(kit.workspace, LocalWorkspace) else None


TOOL = ToolDeclaration("runCommand", _build, writes=True, subject="command", kind="execute")
