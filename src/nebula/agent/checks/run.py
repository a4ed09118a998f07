"""Running the checks after the work, and telling a failure from a check that never started.

A check that fails and passes when it is run once more, with nothing changed in between, is flaky: it is called that,
and counts as passed.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.agent.checks.find import kind_of
from nebula.events import Activity, Checked, CheckRun, Event, new_trace_id
from nebula.language import Sentence
from nebula.messages import AssistantToolUse
from nebula.tools.approval import Approvals
from nebula.tools.commands.plain import CheckResult
from nebula.tools.commands.run_check import last_line, run_check, run_check_asking
from nebula.tools.contract import Call
from nebula.tools.declaration import Checks

if TYPE_CHECKING:
    from nebula.tools.commands.layers import CommandLayers

NOT_STARTED = (126, 127)
"""How a shell says that it cannot run, or cannot find, a program."""


async def run_checks(
    names: Sequence[str],
    checks: Checks,
    layers: CommandLayers | None,
    emit: Callable[[Event], object],
    show: Callable[[Event], object],
    number: int = 0,
    approvals: Approvals | None = None,
) -> list[CheckResult]:
    """Run the checks called `names` and return those that failed; `emit` is told a `Checked` of each.

    `show` is told which one runs at the moment; `approvals` asks whether it may see what it lacks. `number` is the
    repair that they follow, 0 before the first.
    """
    failing = []
    for name in names:
        started = time.monotonic()
        show(Activity(Sentence("running the check {command}", command=name)))
        use = AssistantToolUse(new_trace_id(), "runCheck", "runCheck", {"name": name}, {"name": name})
        result = await run_check_asking(name, checks, layers, approvals, Call(use, emit))
        flaky = None
        if not result.passed and (await run_check(name, checks, layers)).passed:
            result, flaky = CheckResult(name, 0, result.output), True
        seconds = round(time.monotonic() - started, 3)
        emit(Checked(CheckRun(name, result.passed, last_line(result), result.code), number, flaky, seconds))
        if not result.passed:
            failing.append(result)
    return failing


def never_started(result: CheckResult) -> bool:
    """Return whether the program of a check is missing, which no change to the project's files can repair.

    The shell says so by its exit code; `python -m pytest` says so of a tool. A module that is no known tool
    (`python -m app`) is the project's own, and making it is the model's work.
    """
    if result.code in NOT_STARTED:
        return True
    module = re.search(r"-m (\w+)", result.command)
    return bool(module and kind_of(module[1]) and f"No module named {module[1]}\n" in result.output + "\n")


def why_missing(command: str, layers: CommandLayers | None) -> Sentence:
    """Return the sentence that tells the user why `command` could not be started, and what to do."""
    if layers is None:
        return Sentence("The check '{command}' could not be started. Is its program installed?", command=command)
    return layers.unseen or Sentence(
        "The check '{command}' could not be started. In a layer it sees the system, the project and what "
        "`sandbox_read` names.",
        command=command,
    )
