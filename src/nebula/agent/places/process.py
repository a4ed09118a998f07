"""Start and end the process that makes copies of a project.

It may be started before the project is known, and loads what the work needs in the meantime; so this module itself
imports next to nothing.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from contextlib import ExitStack
from typing import Final

import nebula

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Self

_START: Final = "import sys; sys.path.append(sys.argv[1]); from nebula.agent.places.host import main; main()"
_SOURCE: Final = os.path.dirname(os.path.dirname(os.path.abspath(nebula.__file__)))
_END_TIMEOUT_S: Final = 2.0
"""The longest wait for the end of the process. Where it has large copies to remove, it does that by itself."""


class HostProcess:
    """A process that waits for its order on the other end of `control`. `close` and the end of this process end it;
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
                process_group=0,  # a Ctrl-C in the terminal is for nebula to handle
            )
            opened.pop_all()
        self.control = control

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def end(self) -> None:
        """End all work that is under way, without waiting: the process may have much memory to release."""
        if self.control.fileno() >= 0:
            self._process.terminate()  # it may be loading modules or copying, and not look at its socket
            self.control.close()

    def close(self) -> None:
        """End the process, and everything that it started."""
        self.end()
        ending = threading.Thread(target=self._process.wait, daemon=True)
        ending.start()
        ending.join(_END_TIMEOUT_S)
