"""The first signal interrupts the work; those that come at once mean the same; later ones lead out."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from nebula.cli.headless import signals
from nebula.cli.headless.signals import Signals


@pytest.fixture(autouse=True)
def _signals() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


async def _send(number: signal.Signals, times: int = 1) -> None:
    for _ in range(times):
        os.kill(os.getpid(), number)
        await asyncio.sleep(0.005)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_several_at_once_interrupt_the_work_once(number: signal.Signals, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "AT_ONCE_S", 60.0)
    interrupted: list[str] = []
    with Signals(lambda: interrupted.append("now")):
        await _send(number, times=3)
    assert interrupted == ["now"]
    await _send(number)  # the work has ended, and its session is being closed
    assert interrupted == ["now"]


async def test_one_that_comes_later_interrupts_again_and_the_next_leads_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "AT_ONCE_S", 0.0)
    interrupted: list[str] = []
    with pytest.raises(KeyboardInterrupt), Signals(lambda: interrupted.append("now")):
        await _send(signal.SIGINT)
        await _send(signal.SIGINT)
        assert interrupted == ["now", "now"]
        signal.raise_signal(signal.SIGINT)


async def test_one_that_comes_later_than_the_work_leads_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signals, "AT_ONCE_S", 0.0)
    with Signals(lambda: None):
        await _send(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_one_that_comes_after_work_that_nobody_interrupted_leads_out_by_our_exit_code(number: int) -> None:
    with Signals(lambda: None):
        pass
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    signal.raise_signal(number)  # at once after it: what is open is being closed


async def test_one_of_the_last_moment_does_not_interrupt_what_follows_the_work() -> None:
    """It is heard by the loop only once the work has ended: the turn was whole, and its session is being closed."""
    interrupted: list[str] = []
    with Signals(lambda: interrupted.append("now")):
        signal.raise_signal(signal.SIGHUP)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert interrupted == []


LOADED_WHEN_IT_CAME = """
import sys
from nebula.cli import start
class CtrlC:
    def find_spec(self, name, *_):
        if name.startswith("nebula.cli."):
            raise KeyboardInterrupt
sys.meta_path.insert(0, CtrlC())
sys.exit(start.{command}())
"""


@pytest.mark.slow
@pytest.mark.parametrize("command", ["nebula", "evercontext", "vizprompt"])
def test_one_that_comes_while_the_command_is_loaded_ends_it_without_a_traceback(command: str) -> None:
    code = LOADED_WHEN_IT_CAME.format(command=command)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


TOLD_TO_END = """
import os, sys
from nebula.cli import start
class End:
    def find_spec(self, name, *_):
        if name.startswith("nebula.cli."):
            os.kill(os.getpid(), {number})
sys.meta_path.insert(0, End())
sys.argv = {argv}
sys.exit(start.{command}())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize(
    "argv", ["nebula race x", "evercontext run --task x", "evercontext batch x"], ids=lambda argv: argv
)
def test_a_task_that_is_told_to_end_while_it_is_loaded_has_its_exit_code(argv: str, number: int) -> None:
    words = argv.split()
    code = TOLD_TO_END.format(command=words[0], argv=words, number=int(number))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_turn_whose_program_is_still_being_loaded_has_its_beginning_and_its_end(number: int, tmp_path: Path) -> None:
    for form in ("stream-json", "json", "text"):
        argv = ["nebula", "-p", "x", "--output-format", form]
        code = TOLD_TO_END.format(command="nebula", argv=argv, number=int(number))
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
        told = [json.loads(line) for line in done.stdout.splitlines()]
        expected = {"stream-json": ["task", "final"], "json": ["final"], "text": []}[form]
        assert (done.returncode, [each["type"] for each in told]) == (130, expected)
        assert [each["status"] for each in told[-1:]] == ["interrupted"] * bool(expected)
        assert len(done.stderr.splitlines()) == 1
    recorded = (tmp_path / ".nebula/trace.jsonl").read_text().splitlines()
    assert [json.loads(line)["type"] for line in recorded] == ["task", "final"] * 3


@pytest.mark.slow
def test_a_closed_window_does_not_end_a_task_that_was_started_to_outlive_it() -> None:
    code = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n{TOLD_TO_END}"
    code = code.format(command="nebula", argv=["nebula", "-p", "x", "--root", "/nowhere"], number=int(signal.SIGHUP))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (64, ""), "it went on until it found a mistake of its own"


ENDED = """
import sys
from nebula.cli import start
class KeptToTheEnd:
    def __del__(self):
        from _signal import raise_signal
        raise_signal({number})
sys.kept, sys.argv = KeptToTheEnd(), ["nebula", "-p", "x", "--root", "/nowhere"]
sys.exit(start.nebula())
"""


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_while_the_interpreter_is_put_away_is_not_the_exit_code(number: int) -> None:
    code = ENDED.format(number=int(number))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 64
