"""The process that makes places, from the outside. It may be started before anybody knows over which project: it loads
what the work needs meanwhile, so this module loads next to nothing itself."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from contextlib import ExitStack
from typing import Final

import nebula

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_START: Final = "import sys; sys.path.append(sys.argv[1]); from nebula.agent.places.host import main; main()"
_SOURCE: Final = os.path.dirname(os.path.dirname(os.path.abspath(nebula.__file__)))
_END_TIMEOUT_S: Final = 10.0


class HostProcess:
    """Waits for its order on the other end of `control`. It is ended by `close`, and by the end of this process;
    `work` is the module that it loads first."""

    def __init__(self, work: str) -> None:
        control, theirs = socket.socketpair()
        with theirs, ExitStack() as opened:
            opened.enter_context(control)
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-c", _START, _SOURCE, str(theirs.fileno()), work],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(),),
            )
            opened.pop_all()
        self.control = control
        self.is_idle = True
        """It was told nothing yet."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def end(self) -> None:
        """End all work that is still being done, and wait for nothing: it may have much memory to give back."""
        self.control.close()
        if self.is_idle:
            self._process.kill()  # it may still be loading, for nobody

    def close(self) -> None:
        """End it, and everything that it started."""
        self.end()
        try:
            self._process.wait(_END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
