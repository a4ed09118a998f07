"""The trial of a layer in a process of its own, while the rest of the program is still being loaded.

Whether commands can be offered is part of the very first request, and trying it takes a fifth of the time until then.
The process writes the answer down where everybody looks for it, and ends by itself should nobody wait.
"""

from __future__ import annotations

import os
import sys

from nebula.programs import own_program
from nebula.sandbox.remembered import recall

_TRY = "from nebula.sandbox.capability import capability; capability(sys.argv[2])"
_NOWHERE = [(os.POSIX_SPAWN_OPEN, stream, os.devnull, os.O_RDWR, 0) for stream in range(3)]
_begun: dict[str, int] = {}


def begin_trial(home: str) -> None:
    """Find out in the background whether this machine can make layers, where that is not known yet."""
    if home in _begun or not sys.executable or recall(home) is not None:
        return
    try:
        _begun[home] = os.posix_spawn(sys.executable, own_program(_TRY, home), os.environ, file_actions=_NOWHERE)
    except OSError:
        return  # then it is found out when somebody asks


def end_trial(home: str) -> None:
    """Waits for one that was begun."""
    process = _begun.pop(home, None)
    if process is not None:
        os.waitpid(process, 0)
