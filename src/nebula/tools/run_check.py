"""runCheck: one of the commands that the user configured, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nebula.events import CheckRun
from nebula.messages import DeclaredSpec, DialectForm
from nebula.tools.commands import CheckResult, run_command
from nebula.tools.contract import Call, Outcome, ToolFailure, schema, text_argument
from nebula.tools.declaration import Checks, ToolDeclaration


class RunCheck:
    def __init__(self, checks: Checks) -> None:
        self._checks = checks
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
        result = await run_command(name, self._checks.root, self._checks.timeout_s)
        check = CheckRun(name, result.passed, last_line(result))
        return Outcome.ok({"passed": result.passed, "exit_code": result.code, "output": result.output}, check=check)


def last_line(result: CheckResult) -> str:
    lines = [line.strip() for line in result.output.splitlines() if line.strip()]
    return lines[-1][:200] if lines else ""


TOOL = ToolDeclaration(
    "runCheck",
    lambda kit: RunCheck(kit.checks) if kit.checks.commands else None,
    in_plan=False,
    method="run_check",
    subject="name",
)
