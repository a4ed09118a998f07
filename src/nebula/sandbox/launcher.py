"""The launcher's process, and one started ahead of time.

An interpreter that starts is two thirds of what a layer costs. Who runs several commands keeps `Launchers` for as
long: the next launcher then waits ready, as an idle process that has done nothing yet and ends when its input is
closed, as it is when we are killed.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
from typing import Final

from nebula.programs import own_program

_START: Final = "from nebula.sandbox.inside.main import main; main(int(sys.argv[2]))"
_END_TIMEOUT_S: Final = 10.0


class Launcher:
    """A process that waits to be told what to build; `control` and `output` are our ends of its socket and its
    pipe."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.output, write_end = os.pipe()
        try:
            self._process = subprocess.Popen(
                own_program(_START, str(theirs.fileno())),
                stdin=subprocess.PIPE,
                stdout=write_end,
                stderr=write_end,
                pass_fds=[theirs.fileno()],
                env={},
                cwd="/",
            )
        except OSError:
            self.control.close()
            os.close(self.output)
            raise
        finally:
            theirs.close()
            os.close(write_end)

        assert self._process.stdin is not None  # noqa: S101 - it was opened as a pipe
        self._input = self._process.stdin

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def send(self, config: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has ended: its control socket says so
            self._input.write(config)
        self._close_input()

    def _close_input(self) -> None:
        with contextlib.suppress(BrokenPipeError):
            self._input.close()

    def end(self) -> None:
        """End it. Everything in the layer has ended when this returns: the launcher waits for an empty namespace."""
        self.control.close()
        self._close_input()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self) -> None:
        self.end()
        os.close(self.output)


class Launchers:
    """Gives launchers, and keeps one ready. To be closed."""

    def __init__(self) -> None:
        self._spare: Launcher | None = None
        self._closed = False
        self._lock = threading.Lock()

    def take(self) -> Launcher:
        with self._lock:
            spare, self._spare = self._spare, None
        if spare is not None and not spare.is_alive:
            spare.close()
            spare = None
        return spare or Launcher()

    def prepare(self) -> None:
        """Start the next one. After `close`, which a command may outlive, there is no next one."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = Launcher()

    def close(self) -> None:
        with self._lock:
            spare, self._spare = self._spare, None
            self._closed = True
        if spare is not None:
            spare.close()
