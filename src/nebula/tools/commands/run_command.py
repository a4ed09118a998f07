"""runCommand: any shell line, in a throw-away layer over the project. What it changed is approved, not the line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nebula.errors import NebulaError
from nebula.events import Approval, Output, new_trace_id
from nebula.language import Sentence, sentence_of
from nebula.messages import DeclaredSpec, DialectForm, Json, ToolResultStatus
from nebula.tools.approval import Approvals, Decision
from nebula.tools.commands.empty_files import ask_to_read, describe_for_model
from nebula.tools.commands.show_folder import NOT_STARTED, ask_to_show
from nebula.tools.contract import Call, Outcome, ToolFailure, number_argument, schema, text_argument, to_the_end
from nebula.tools.declaration import ToolDeclaration, ToolKit
from nebula.tools.permissions import EVERY_FILE, IGNORED, NETWORK, Permission
from nebula.tools.result_limits import cut_middle
from nebula.value import replace
from nebula.workspace.local import LocalWorkspace

if TYPE_CHECKING:
    from nebula.sandbox.contract import CommandResult
    from nebula.tools.commands.change_set import CommandChanges
    from nebula.tools.commands.layers import CommandLayers
    from nebula.workspace.contract import AppliedSet
NO_NETWORK = "The network was not allowed, so the command was not run. Go on without it, or ask what is wanted."
NETWORK_UNATTENDED = (
    "Nobody is there to ask, and the program was started without --allow-network: the command was not run."
)
NOT_REACHED = "Not reached, because the user's sandbox_network does not list them: {hosts}."
NOT_APPLIED = "The user did not allow what the command changed; nothing was applied. Do not try it again."
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
    """In plan mode there is no workspace to apply anything to."""

    def __init__(self, layers: CommandLayers, approvals: Approvals | None, workspace: LocalWorkspace | None) -> None:
        self._layers = layers
        self._approvals = approvals
        self._workspace = workspace
        about = _PLAN if workspace is None else _AGENT
        self.spec = DeclaredSpec("runCommand", about, _parameters(self._hosts), (DialectForm("run_command"),))

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
            for _ in range(2):
                if not await self._sees_more(line, result, call):
                    break
                result.close()
                result = await self._run(line, timeout_s, network and not hosts, hosts, call)
            with result:
                outcome = await self._outcome(line, result, call)
                return replace(outcome, secret=bool(self._layers.allowed_secrets), seconds=result.duration_s)
        except (NebulaError, OSError) as error:
            raise ToolFailure(str(error), code=500, problem=sentence_of(error)) from None

    async def _sees_more(self, line: str, result: CommandResult, call: Call) -> bool:
        """Return whether the user has just shown commands what this one lacked."""
        layers, approvals = self._layers, self._approvals
        if await ask_to_show(layers, approvals, call, result.exit_code):
            return True
        return await ask_to_read(layers, approvals, call, line, result.read_empty)

    @property
    def _hosts(self) -> tuple[str, ...]:
        """The hosts that a command may reach without a question; none where all of the network was allowed."""
        return () if self._has_network else self._layers.settings.sandbox_network

    @property
    def _has_network(self) -> bool:
        return self._approvals is not None and self._approvals.permissions.has(NETWORK)

    async def _outcome(self, line: str, result: CommandResult, call: Call) -> Outcome:
        if result.stopped or self._workspace is None:
            return Outcome.ok(self._report(result, call, [], [] if self._workspace else [PLAN_REMARK]))
        return await self._propose(line, result, call, self._workspace)

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

    async def _propose(self, line: str, result: CommandResult, call: Call, workspace: LocalWorkspace) -> Outcome:
        from nebula.tools.commands.change_set import read_command_changes

        changes = await asyncio.to_thread(read_command_changes, result, workspace)
        approvals = self._approvals
        assert approvals is not None  # noqa: S101 - there is a workspace to write to
        named: tuple[str, ...] = ()
        if changes.needs_names and approvals.somebody_is_there:
            from nebula.tools.commands.by_name import ask_by_name

            named = await ask_by_name(line, result, changes, workspace, approvals, call)
            workspace = workspace.allowing(*named)
            changes = await asyncio.to_thread(read_command_changes, result, workspace)
        outcome = await self._settle(line, result, changes, named, workspace, call)
        if ".git" not in changes.needs_names or approvals.somebody_is_there:
            kinds = changes.left_out_by_kind()
            return replace(outcome, refused=True, problem=kinds) if kinds is not None else outcome
        from nebula.tools.commands.by_name import repository_left_out

        problem = repository_left_out(result, changes, workspace)
        return replace(outcome, refused=True, problem=problem, lasting=True)

    async def _settle(
        self,
        line: str,
        result: CommandResult,
        changes: CommandChanges,
        named: tuple[str, ...],
        workspace: LocalWorkspace,
        call: Call,
    ) -> Outcome:
        """Have the set decided, and apply what was allowed."""
        approvals = self._approvals
        assert approvals is not None  # noqa: S101 - there is a workspace to write to
        if changes.is_minor or (not changes.proposed and not changes.repository and approvals.by_rule == "no"):
            return Outcome.ok(self._report(result, call, [], map(str, changes.remarks())))
        decision = await self._decide(line, changes, approvals, call, named)
        meant = changes.meant(decision.paths)
        decision = await approvals.heed_hooks(decision, call, call.use.orig_name, meant)
        chosen = changes.known(decision.paths) if decision.paths else None
        if not decision.allowed or chosen == [] or decision.hunks:  # hunks are no part of this question
            reason = f"The user refused: {decision.reason}" if decision.reason else NOT_APPLIED
            report = self._report(result, call, [], map(str, changes.remarks())) | {"error": reason}
            return Outcome((Json(report),), ToolResultStatus.Error, decision=decision.word(), refused=True, code=403)

        def apply() -> Outcome:
            done = workspace.apply_changes(
                changes.path_changes(chosen),
                [] if chosen is not None else changes.ignored_changes(),
                [] if chosen is not None else changes.repository_changes(),
            )
            return self._applied(result, changes, done, decision, call)

        return await to_the_end(apply)

    async def _decide(
        self, line: str, changes: CommandChanges, approvals: Approvals, call: Call, named: Sequence[str] = ()
    ) -> Decision:
        """Ask about the set; `named` are paths and folders that were asked about by name before."""
        unnamed = [path for path in changes.paths if not any(f"{path}/".startswith(f"{each}/") for each in named)]
        if not unnamed:
            return Decision(True)
        lasting = IGNORED if changes.is_ignored else Permission("write", EVERY_FILE)
        if approvals.permissions.has(lasting) or approvals.permissions.reach(unnamed):
            return Decision(True, "session")
        question = Approval(
            new_trace_id(),
            "command",
            call.use.name,
            changes.proposed,
            line,
            remarks=changes.remarks(),
            ignored=changes.is_ignored,
        )
        return await approvals.ask(question, call, lasting)

    def _applied(
        self, result: CommandResult, changes: CommandChanges, done: AppliedSet, decision: Decision, call: Call
    ) -> Outcome:
        from nebula.tools.commands.change_set import report_applied

        applied = report_applied(changes.proposed, done.applied)
        remarks = [*map(str, changes.remarks()), *(str(error) for _, error in done.left_out)]
        if decision.paths:
            dropped = [each.path for each in changes.proposed if each.path not in decision.paths]
            remarks.append(f"The user left out: {', '.join(dropped)}.")
        report = self._report(result, call, [each.path for each in applied], remarks)
        return Outcome.ok(report, changes=tuple(applied), decision=decision.word())

    def _report(self, result: CommandResult, call: Call, changed: list[str], remarks: Iterable[str]) -> dict[str, Any]:
        """Return what the model reads: both ends of the output, however long it was."""
        output, _ = cut_middle(result.output, max(call.room // 2 - ROOM_FOR_REST, 0))
        report: dict[str, Any] = {"exit_code": result.exit_code, "output": output, "changed": changed}
        if result.stopped:
            report["stopped"] = result.stopped
        said = list(remarks)
        if result.refused_hosts:
            said.append(NOT_REACHED.format(hosts=", ".join(result.refused_hosts)))
        if result.read_empty:
            said.append(describe_for_model(result.read_empty))
        if (unseen := self._unseen(result)) is not None:
            said.append(str(unseen))
        return report | ({"remark": " ".join(said)} if said else {})

    def _unseen(self, result: CommandResult) -> Sentence | None:
        return self._layers.unseen if result.exit_code in NOT_STARTED else None


def _build(kit: ToolKit) -> RunCommand | None:
    if kit.commands is None or not kit.commands.available:
        return None
    if kit.plan:
        return RunCommand(kit.commands, kit.approvals, None)
    return RunCommand(kit.commands, kit.approvals, kit.workspace) if isinstance(kit.workspace, LocalWorkspace) else None


TOOL = ToolDeclaration("runCommand", _build, writes=True, method="run_command", subject="command", kind="execute")
