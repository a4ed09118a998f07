"""Finding and running other programs on behalf of a project that is not trusted."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from nebula.files.system.machine import limit_memory
from nebula.value import value

if TYPE_CHECKING:
    from subprocess import Popen

T = TypeVar("T")

AT_ONCE_S = 1.0
"""A signal so soon after another is the same wish: whoever ends a program may send two (SIGTERM and SIGHUP)."""
_SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


@value
class ProgramResult:
    returncode: int
    stdout: bytes
    stderr: bytes


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return the signals by which somebody asks a program to end; of a closed window it does not hear under nohup."""
    ignored = signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    return (signal.SIGINT, signal.SIGTERM, *(() if ignored else (signal.SIGHUP,)))


def find_program(name: str, *projects: str) -> str | None:
    """Return the absolute path of a program in the PATH; never one inside these projects or in a relative entry."""
    for folder in safe_path(*projects).split(os.pathsep):
        candidate = os.path.join(folder, name)
        if folder and os.path.isfile(candidate) and os.access(candidate, os.X_OK):
            return candidate
    return None


def own_program(code: str, *arguments: str) -> list[str]:
    """Return the command that runs code of ours in a new interpreter, which finds the standard library and nebula, and
    no other package: so it starts in half the time. The arguments begin at `sys.argv[2]`."""
    start = f"import sys; sys.path.append(sys.argv[1]); {code}"
    return [sys.executable, "-I", "-S", "-c", start, _SOURCE, *arguments]


def safe_path(*projects: str) -> str:
    """Return the PATH without relative entries and without entries below these projects."""
    inside = tuple(os.path.join(os.path.realpath(project), "") for project in projects)
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(
        folder
        for folder in folders
        if os.path.isabs(folder) and not os.path.join(os.path.realpath(folder), "").startswith(inside)
    )


class GivenUp(BaseException):
    """Raised in work that nobody waits for any more. No handler of errors may go on without what a program said."""


class RunningPrograms:
    """The programs that a piece of work in another thread runs: they can be ended, and it starts no more then."""

    _of_work: ContextVar[RunningPrograms | None] = ContextVar("programs", default=None)

    def __init__(self) -> None:
        self._running: Popen[bytes] | None = None
        self._ended = False
        self._changing = Lock()

    def have(self, work: Callable[[], T]) -> T:
        """Do the work in this thread."""
        before = self._of_work.set(self)
        try:
            return work()
        finally:
            self._of_work.reset(before)

    @classmethod
    def note(cls, process: Popen[bytes] | None) -> None:
        """Note the program that the work of this thread runs now. Raises GivenUp."""
        work = cls._of_work.get()
        if work is not None:
            with work._changing:
                work._running = process
                if work._ended:
                    raise GivenUp

    def end(self) -> None:
        """End what is running."""
        with self._changing:
            self._ended = True
            if self._running is not None:
                kill_group(self._running.pid)


def kill_group(pid: int) -> None:
    """Kill the program that leads a process group, and all that it left running there."""
    with suppress(ProcessLookupError, PermissionError):  # the whole group has ended already
        os.killpg(pid, signal.SIGKILL)


def run(
    command: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    feed: bytes | None = None,
    max_memory: int | None = None,
) -> ProgramResult:
    """Run a command to its end without a shell and a terminal; past the time TimeoutError, and nothing left running.

    `max_memory` is in bytes, where the system can limit it from outside."""
    from subprocess import DEVNULL, PIPE, Popen, TimeoutExpired  # 10 ms that a plain read need not pay

    stdin = DEVNULL if feed is None else PIPE
    with Popen(command, stdin=stdin, stdout=PIPE, stderr=PIPE, cwd=cwd, env=dict(env), process_group=0) as process:
        try:
            RunningPrograms.note(process)
            if max_memory is not None:
                limit_memory(process.pid, max_memory)
            stdout, stderr = process.communicate(feed, timeout)
            RunningPrograms.note(None)
        except BaseException as error:
            kill_group(process.pid)
            if isinstance(error, TimeoutExpired):
                raise TimeoutError(f"{os.path.basename(command[0])} took longer than {timeout:g} s") from None
            raise
    return ProgramResult(process.returncode, stdout, stderr)
