"""runCheck: one of the commands that the user configured, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from nebula.events import CheckRun, Output
from nebula.messages import DeclaredSpec, DialectForm
from nebula.sandbox.errors import SandboxError
from nebula.tools.commands.empty_files import ask_to_read, describe_for_model
from nebula.tools.commands.program_name import program_of
from nebula.tools.commands.show_folder import ask_to_show
from nebula.tools.contract import Call, Outcome, ToolFailure, schema, text_argument
from nebula.tools.declaration import Checks, ToolDeclaration, ToolKit
from nebula.tools.result_limits import cut_middle

if TYPE_CHECKING:
    from nebula.tools.approval import Approvals
    from nebula.tools.commands.layers import CommandLayers
    from nebula.tools.commands.plain import CheckResult


class RunCheck:
    def __init__(self, checks: Checks, layers: CommandLayers | None = None, approvals: Approvals | None = None) -> None:
        self._checks = checks
        self._approvals = approvals
        self._layers = layers
        """Where the machine has them a check leaves nothing behind."""
        self.spec = DeclaredSpec(
            "runCheck",
            "Run one of the project's configured checks, such as its tests, and see how it ended. Run it after your "
            "last edit; say nothing of success that a check did not show.",
            schema(
                ["name"],
                name={"type": "string", "enum": list(checks.commands), "description": "The check, exactly as listed."},
            ),
            (DialectForm("run_check"),),
        )

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        name = text_argument(args, "name")
        if name not in self._checks.commands:
            raise ToolFailure(f"There is no check '{name}'. The configured ones: {', '.join(self._checks.commands)}.")
        call.emit(Output(call.use.id, program=program_of(name)))
        result = await run_check_asking(name, self._checks, self._layers, self._approvals, call)
        check = CheckRun(name, result.passed, last_line(result), result.code)
        report: dict[str, Any] = {"passed": result.passed, "exit_code": result.code, "output": result.output}
        if result.read_empty:
            report["remark"] = describe_for_model(result.read_empty)
        seen = self._layers is not None and bool(self._layers.allowed_secrets)
        return Outcome.ok(report, check=check, secret=seen)


async def run_check_asking(
    name: str, checks: Checks, layers: CommandLayers | None, approvals: Approvals | None, call: Call
) -> CheckResult:
    """Run a check, and again where the user shows commands what it lacked."""
    result = await run_check(name, checks, layers)
    if layers is None:
        return result
    if await ask_to_show(layers, approvals, call, result.code):
        result = await run_check(name, checks, layers)
    if await ask_to_read(layers, approvals, call, name, result.read_empty):
        result = await run_check(name, checks, layers)
    return result


async def run_check(name: str, checks: Checks, layers: CommandLayers | None) -> CheckResult:
    """Run a check, in a layer where there are any, so that it leaves nothing behind."""
    from nebula.tools.commands.plain import MAX_OUTPUT_BYTES, CheckResult, run_command

    if layers is None:
        return await run_command(name, checks.root, checks.timeout_s)
    try:
        done = await layers.run(name, timeout_s=checks.timeout_s, read_back=False)
    except SandboxError:  # this project can have no layer over it: the user's own line runs as it always did
        return await run_command(name, checks.root, checks.timeout_s)
    output, _ = cut_middle(done.output, MAX_OUTPUT_BYTES)
    if done.stopped:
        output += f"\nStopped by its limit: {done.stopped}."
    return CheckResult(name, done.exit_code, output, done.read_empty)


def last_line(result: CheckResult) -> str:
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def _build(kit: ToolKit) -> RunCheck | None:
    if not kit.checks.commands:
        return None
    layers = kit.commands if kit.commands is not None and kit.commands.available else None
    return RunCheck(kit.checks, layers, kit.approvals)


TOOL = ToolDeclaration(
    "runCheck",
    _build,
    in_plan=False,
    method="run_check",
    subject="name",
    kind="execute",
)
