"""Checks after the work, and their failures back to the model until they pass or there is no hope.

It gives up after a number of rounds, and at once when a repair leaves a failure exactly as it was.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.checks.failures import condense, fingerprint
from nebula.agent.checks.run import never_started, run_checks, why_missing
from nebula.agent.turn_result import TurnLimit
from nebula.events import Event, Notice, Repair
from nebula.language import Sentence
from nebula.tools.approval import Approvals
from nebula.tools.commands.plain import CheckResult
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

Ask = Callable[[str, int], Awaitable[bool]]
"""(report, round): has the model repair it; False where it did not get to its end, and is not asked again."""


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
            except TurnLimit:  # the repair may be done all the same, and only the checks can tell
                await self._run(names, number)
                raise
            failing = await self._run(names, number)
            if not goes_on:
                return not failing
        if failing and sorted(fingerprint(each.output) for each in failing) == before:
            self.emit(Notice(Sentence("The repair left the failure exactly as it was; it was not tried again.")))
        return not failing

    async def _run(self, names: Sequence[str], number: int = 0) -> list[CheckResult]:
        return await run_checks(names, self.checks, self.layers, self.emit, self.show, number, self.approvals)

    def _tell_missing(self, failing: Sequence[CheckResult]) -> bool:
        """Tell the user of each check whose program is missing; return whether there is one."""
        missing = [each.command for each in failing if never_started(each)]
        for command in missing:
            self.emit(Notice(why_missing(command, self.layers)))
        return bool(missing)

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
