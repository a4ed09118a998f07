"""Checks that really run, and a model that is a function."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from nebula.agent.checks.repair import Repairer
from nebula.agent.turn_result import TurnLimit
from nebula.events import Checked, EventStream, Notice, Repair
from nebula.tools.declaration import Checks
from nebula.workspace import open_workspace

PYTHON = f"{sys.executable} -I -S"


def make(root: Path, *commands: str, ask=None, rounds: int = 2, timeout_s: float = 20):
    seen = []
    stream = EventStream("s", audience=(lambda stamped: seen.append(stamped.event),))
    reports = []

    async def asked(report: str, number: int) -> bool:
        reports.append(report)
        return ask(number) if ask else True

    checks = Checks(commands, str(root), timeout_s)
    files = open_workspace(str(root))
    return Repairer(stream.emit, stream.show, checks, None, files, asked, rounds), seen, reports


async def test_whoever_watches_is_shown_which_check_runs(tmp_path):
    repairer, seen, _ = make(tmp_path, "true", "exit 0")
    shown = []
    repairer.show = lambda event: shown.append((len(seen), str(event.sentence)))
    assert await repairer.verify()
    assert shown == [(0, "running the check true"), (1, "running the check exit 0")]


async def test_a_flaky_check_is_found_by_running_it_once_more(tmp_path):
    repairer, seen, reports = make(tmp_path, "test -e ran || { touch ran; echo unlucky; exit 1; }")
    assert await repairer.verify()
    [event] = seen
    assert isinstance(event, Checked) and event.flaky and event.check.passed
    assert reports == []


async def test_the_report_names_place_reason_and_code(tmp_path):
    tmp_path.joinpath("calc.py").write_text("def half(n):\n    return n / 0\n\n\nhalf(4)\n")
    repairer, _, reports = make(tmp_path, f"{PYTHON} calc.py", rounds=1)
    assert not await repairer.verify()
    assert "calc.py:2: ZeroDivisionError" in reports[0]
    assert ">     2     return n / 0" in reports[0]


async def test_a_failure_that_stays_the_same_ends_it_and_a_new_one_goes_on(tmp_path):
    bad = tmp_path / "bad.py"
    bad.write_text("raise KeyError('first')\n")

    def ask(number: int) -> bool:
        if number == 1:
            bad.write_text("raise KeyError('second')\n")
        return True

    repairer, seen, reports = make(tmp_path, f"{PYTHON} bad.py", ask=ask, rounds=9)
    assert not await repairer.verify()
    assert len(reports) == 2
    assert isinstance(seen[-1], Notice) and "exactly as it was" in str(seen[-1].sentence)
    assert [event.round for event in seen if isinstance(event, Repair)] == [1, 2]


async def test_a_model_that_cannot_be_asked_ends_it(tmp_path):
    repairer, seen, _ = make(tmp_path, "exit 3", ask=lambda _: False, rounds=5)
    assert not await repairer.verify()
    assert sum(isinstance(event, Repair) for event in seen) == 1


async def test_a_check_that_takes_too_long_has_failed(tmp_path):
    repairer, _, reports = make(tmp_path, "sleep 30", timeout_s=0.1, rounds=1)
    assert not await repairer.verify()
    assert "was stopped" in reports[0]


@pytest.mark.parametrize("command", ["no-such-program --check", f"{PYTHON} -m pytest -q"])
async def test_a_check_that_cannot_be_started_is_not_for_the_model_to_repair(tmp_path, command):
    repairer, seen, reports = make(tmp_path, command)
    assert not await repairer.verify()
    assert reports == []
    assert isinstance(seen[-1], Notice) and "could not be started" in str(seen[-1].sentence)


async def test_a_missing_module_of_the_project_is_for_the_model_to_make(tmp_path):
    def ask(_: int) -> bool:
        tmp_path.joinpath("app.py").write_text("print('ready')\n")
        return True

    repairer, _, reports = make(tmp_path, f"{sys.executable} -S -m app --selftest", ask=ask)
    assert await repairer.verify()
    assert "No module named app" in reports[0]


async def test_a_repair_that_was_ended_by_a_limit_is_looked_at(tmp_path):
    def ask(_: int) -> bool:
        tmp_path.joinpath("fixed").touch()
        return False  # it wrote the right file, and then did not come to an end

    repairer, seen, _ = make(tmp_path, "test -e fixed", ask=ask)
    assert await repairer.verify()
    assert [event.check.passed for event in seen if isinstance(event, Checked)] == [False, True]
    assert not any(isinstance(event, Notice) for event in seen)


async def test_a_limit_of_the_whole_turn_is_raised_once_the_checks_have_run(tmp_path):
    def ask(_: int) -> bool:
        tmp_path.joinpath("fixed").touch()
        raise TurnLimit("enough")

    repairer, seen, _ = make(tmp_path, "test -e fixed", ask=ask)
    with pytest.raises(TurnLimit):
        await repairer.verify()
    assert isinstance(seen[-1], Checked) and seen[-1].check.passed


async def test_a_model_that_could_not_be_asked_has_repaired_nothing(tmp_path):
    repairer, seen, _ = make(tmp_path, "exit 3", ask=lambda _: False, rounds=5)
    assert not await repairer.verify()
    assert not any(isinstance(event, Notice) for event in seen)  # nothing was tried, so nothing was left as it was
