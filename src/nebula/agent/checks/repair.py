"""Checks after the work, and their failures back to the model until they pass or there is no hope.

It gives up after a number of rounds, and at once when a repair leaves a failure exactly as it was. A check that fails
and passes when it is run once more, with nothing changed in between, is flaky: it is called that, and counts as passed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.checks.failures import condense, fingerprint
from nebula.agent.checks.find import kind_of
from nebula.agent.turn_result import TurnLimit
from nebula.events import Activity, Checked, CheckRun, Event, Notice, Repair, new_trace_id
from nebula.language import Sentence
from nebula.messages import AssistantToolUse
from nebula.tools.approval import Approvals
from nebula.tools.commands.lacking import NOT_STARTED
from nebula.tools.commands.plain import CheckResult
from nebula.tools.commands.run_check import last_line, run_check, run_check_asking
from nebula.tools.contract import Call
from nebula.tools.declaration import Checks
from nebula.value import record
from nebula.workspace.contract import Workspace, read_if_any

if TYPE_CHECKING:
    from nebula.tools.commands.layers import CommandLayers

REPORT = (
    "The work was checked, and this failed. Find the cause and repair it in the project's files, with as small a "
    "change as does it. Do not weaken a test or a check to make it pass."
)

Ask = Callable[[str, int], Awaitable[bool]]
"""(report, round): has the model repair it; False where the model did not finish, and is not asked again."""


@record
class Repairer:
    emit: Callable[[Event], object]
    """Tells everybody who reads the turn's events."""
    show: Callable[[Event], object]
    """Tells those who watch what goes on between two events."""
    checks: Checks
    layers: CommandLayers | None
    files: Workspace
    ask: Ask
    rounds: int = 2
    approvals: Approvals | None = None
    """Asks whether commands may see what a check lacks; None: the user is told."""

    async def verify(self, names: Sequence[str] = ()) -> bool:
        """Run the checks called `names` (or all), repair, and return whether they pass in the end."""
        names = names or self.checks.commands
        failing = await self._run(names)
        before: list[str] = []
        for number in range(1, self.rounds + 1):
            now = sorted(fingerprint(each.output) for each in failing)
            if not failing or now == before or self._tell_missing(failing):
                break
            before = now
            report = self._report(failing)
            self.emit(Repair(number, self.rounds, tuple(each.command for each in failing), report))
            try:
                goes_on = await self.ask(report, number)
            except TurnLimit:  # the repair may be done nevertheless, and only the checks can show it
                await self._run(names, number)
                raise
            failing = await self._run(names, number)
            if not goes_on:
                return not failing
        if failing and sorted(fingerprint(each.output) for each in failing) == before:
            self.emit(Notice(Sentence("The repair left the failure exactly as it was; it was not tried again.")))
        return not failing

    async def _run(self, names: Sequence[str], number: int = 0) -> list[CheckResult]:
        """Run these checks and return those that failed; `number` is the repair that they follow, 0 before the
        first."""
        failing = []
        for name in names:
            started = time.monotonic()
            self.show(Activity(Sentence("running the check {command}", command=name)))
            use = AssistantToolUse(new_trace_id(), "runCheck", "runCheck", {"name": name}, {"name": name})
            result = await run_check_asking(name, self.checks, self.layers, self.approvals, Call(use, self.emit))
            flaky = None
            if not result.passed and (await run_check(name, self.checks, self.layers)).passed:
                result, flaky = CheckResult(name, 0, result.output), True
            seconds = round(time.monotonic() - started, 3)
            self.emit(Checked(CheckRun(name, result.passed, last_line(result), result.code), number, flaky, seconds))
            if not result.passed:
                failing.append(result)
        return failing

    def _tell_missing(self, failing: Sequence[CheckResult]) -> bool:
        """Tell the user of each check whose program is missing; return whether there is one."""
        missing = [each.command for each in failing if _never_started(each)]
        for command in missing:
            self.emit(Notice(self._explain_missing(command)))
        return bool(missing)

    def _explain_missing(self, command: str) -> Sentence:
        """Return why `command` could not be started, and what to do."""
        if self.layers is None:
            return Sentence("The check '{command}' could not be started. Is its program installed?", command=command)
        return self.layers.unseen or Sentence(
            "The check '{command}' could not be started. In a layer it sees the system, the project and what "
            "`sandbox_read` names.",
            command=command,
        )

    def _report(self, failing: Sequence[CheckResult]) -> str:
        parts = [REPORT]
        for each in failing:
            ended = "was stopped" if each.code is None else f"exit code {each.code}"
            parts.append(f"# {each.command} ({ended})\n\n{condense(each.output, self.checks.root, self._lines)}")
        return "\n\n".join(parts)

    def _lines(self, path: str) -> Sequence[str] | None:
        file = read_if_any(self.files, path)
        return None if file is None or file.secret else file.content.splitlines()


def _never_started(result: CheckResult) -> bool:
    """Return whether the program of a check is missing, which no change to the project's files can repair.

    The shell says so by its exit code; `python -m pytest` says so of a tool. A module that is no known tool
    (`python -m app`) is the project's own, and making it is the model's work.
    """
    if result.code in NOT_STARTED:
        return True
    module = re.search(r"-m (\w+)", result.command)
    return bool(module and kind_of(module[1]) and f"No module named {module[1]}\n" in result.output + "\n")
