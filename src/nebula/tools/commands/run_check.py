"""runCheck: run one of the commands that the user configured, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.events import CheckRun, Output
from nebula.messages import DeclaredSpec, DialectForm
from nebula.sandbox.errors import SandboxError
from nebula.tools.commands.lacking import describe_for_model, sees_more
from nebula.tools.commands.program_name import program_of
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, schema, text_argument
from nebula.tools.declaration import Checks, ToolDeclaration, ToolKit
from nebula.tools.result_limits import cut_middle

if TYPE_CHECKING:
    from nebula.tools.approval import Approvals
    from nebula.tools.commands.layers import CommandLayers
    from nebula.tools.commands.plain import CheckResult


async def run_named_check(
    checks: Checks, layers: CommandLayers | None, approvals: Approvals | None, args: Mapping[str, Any], call: Call
) -> Outcome:
    """Run one of `checks`; in `layers`, where the machine has them, it leaves nothing behind."""
    name = text_argument(args, "name")
    if name not in checks.commands:
        raise ToolFailure(f"There is no check '{name}'. The configured ones: {', '.join(checks.commands)}.")
    call.emit(Output(call.use.id, program=program_of(name)))
    result = await run_check_asking(name, checks, layers, approvals, call)
    check = CheckRun(name, result.passed, last_line(result), result.code)
    report: dict[str, Any] = {"passed": result.passed, "exit_code": result.code, "output": result.output}
    if result.read_empty:
        report["remark"] = describe_for_model(result.read_empty)
    return Outcome.ok(report, check=check, secret=layers is not None and bool(layers.allowed_secrets))


async def run_check_asking(
    name: str, checks: Checks, layers: CommandLayers | None, approvals: Approvals | None, call: Call
) -> CheckResult:
    """Run a check, and run it again if the user lets commands see what it lacked."""
    result = await run_check(name, checks, layers)
    for _ in range(2):
        if layers is None or not await sees_more(layers, approvals, call, name, result.code, result.read_empty):
            break
        result = await run_check(name, checks, layers)
    return result


async def run_check(name: str, checks: Checks, layers: CommandLayers | None) -> CheckResult:
    """Run a check, in a layer where there are any, so that it leaves nothing behind."""
    from nebula.tools.commands.plain import MAX_OUTPUT_BYTES, CheckResult, run_command

    if layers is None:
        return await run_command(name, checks.root, checks.timeout_s)
    try:
        done = await layers.run(name, timeout_s=checks.timeout_s, read_back=False)
    except SandboxError:  # this project can have no layer: the user's own line runs as it would without nebula
        return await run_command(name, checks.root, checks.timeout_s)
    output, _ = cut_middle(done.output, MAX_OUTPUT_BYTES)
    if done.stopped:
        output += f"\nStopped by its limit: {done.stopped}."
    return CheckResult(name, done.exit_code, output, done.read_empty)


def last_line(result: CheckResult) -> str:
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


def _build(kit: ToolKit) -> FunctionTool | None:
    checks = kit.checks
    if not checks.commands:
        return None
    layers = kit.commands if kit.commands is not None and kit.commands.available else None
    name = {"type": "string", "enum": list(checks.commands), "description": "The check, exactly as listed."}
    spec = DeclaredSpec(
        "runCheck",
        "Run one of the project's configured checks, such as its tests, and see how it ended. Run it after your "
        "last edit; say nothing of success that a check did not show.",
        schema(["name"], name=name),
        (DialectForm("run_check"),),
    )
    return FunctionTool(spec, partial(run_named_check, checks, layers, kit.approvals))


TOOL = ToolDeclaration("runCheck", _build, in_plan=False, subject="name", kind="execute")
