"""Checks after the work, and their failures back to the model until they pass or there is no hope.

It gives up after a number of rounds, and at once when a repair leaves a failure exactly as it was. A check that fails
and passes when it is run once more, with nothing changed in between, is flaky: it is called that, and counts as passed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.plan.failures import condense, fingerprint
from nebula.events import Checked, CheckRun, EventStream, Notice, Repair
from nebula.language import Sentence
from nebula.tools.commands.plain import CheckResult
from nebula.tools.commands.run_check import last_line, run_check
from nebula.tools.commands.unseen import unseen_by
from nebula.tools.declaration import Checks
from nebula.value import record
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from nebula.tools.commands.layers import CommandLayers

REPORT = (
    "The work was checked, and this failed. Find the cause and repair it in the project's files, with as small a "
    "change as does it. Do not weaken a test or a check to make it pass."
)

NOT_STARTED = (126, 127)
"""How a shell says that it cannot run, or cannot find, a program."""

Ask = Callable[[str, int], Awaitable[bool]]
"""(report, round): has the model repair it; False where it could not be asked to the end."""


@record
class Repairer:
    stream: EventStream
    checks: Checks
    layers: CommandLayers | None
    files: Workspace
    ask: Ask
    rounds: int = 2

    async def verify(self, names: Sequence[str] = ()) -> bool:
        """Whether these checks (or all) pass in the end."""
        names = names or self.checks.commands
        failing = await self._run_all(names, 0)
        before: list[str] = []
        for number in range(1, self.rounds + 1):
            now = sorted(fingerprint(each.output) for each in failing)
            if not failing or now == before or self._missing(failing):
                break
            before = now
            report = self._report(failing)
            self.stream.emit(Repair(number, self.rounds, tuple(each.command for each in failing), report))
            if not await self.ask(report, number):
                break
            failing = await self._run_all(names, number)
        if failing and sorted(fingerprint(each.output) for each in failing) == before:
            self.stream.emit(Notice("The repair left the failure exactly as it was; it was not tried again."))
        return not failing

    def _missing(self, failing: Sequence[CheckResult]) -> bool:
        """A check whose program is not there says nothing of the work, and no model can repair that."""
        missing = [each.command for each in failing if _is_missing(each)]
        for command in missing:
            why = self._why_missing(command)
            self.stream.emit(Notice(why.sentence, why.values))
        return bool(missing)

    def _why_missing(self, command: str) -> Sentence:
        if self.layers is None:
            return Sentence("The check '{command}' could not be started. Is its program installed?", command=command)
        unseen = unseen_by(command, self.layers.settings)
        if unseen is not None:
            return unseen.sentence(command)
        return Sentence(
            "The check '{command}' could not be started. In a layer it sees the system, the project and what "
            "`sandbox_read` names.",
            command=command,
        )

    async def _run_all(self, names: Sequence[str], number: int) -> list[CheckResult]:
        failing = []
        for name in names:
            started = time.monotonic()
            result = await run_check(name, self.checks, self.layers)
            flaky = None
            if not result.passed and (await run_check(name, self.checks, self.layers)).passed:
                result, flaky = CheckResult(name, 0, result.output), True
            seconds = round(time.monotonic() - started, 3)
            self.stream.emit(Checked(CheckRun(name, result.passed, last_line(result)), number, flaky, seconds))
            if not result.passed:
                failing.append(result)
        return failing

    def _report(self, failing: Sequence[CheckResult]) -> str:
        parts = [REPORT]
        for each in failing:
            ended = "was stopped" if each.code is None else f"exit code {each.code}"
            parts.append(f"# {each.command} ({ended})\n\n{condense(each.output, self.checks.root, self._lines)}")
        return "\n\n".join(parts)

    def _lines(self, path: str) -> Sequence[str] | None:
        try:
            file = self.files.read_file(path)
        except WorkspaceError:
            return None
        return None if file.secret else file.content.splitlines()


def _is_missing(result: CheckResult) -> bool:
    """Its program is not there: the shell says so, or Python of a module that was to be run as one."""
    module = re.search(r"-m (\w+)", result.command)
    return result.code in NOT_STARTED or (
        module is not None and f"No module named {module[1]}\n" in result.output + "\n"
    )
