"""Which sessions are open at the moment: a lock on a small file, held by the process that has the session.

The system lets go of it when the process ends, however it ends, so a killed one leaves nothing that looks open.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress

_SECOND_LOOK_S = 0.02
"""A look at whether a session is open has its lock for a moment: whoever wants the session tries again after that."""


class SessionLock:
    def __init__(self, folder: str, session_id: str) -> None:
        self._path = os.path.join(folder, f"{session_id}.lock")
        self._descriptor = -1

    def take(self) -> bool:
        """Take the lock; False where another process has it. On a file system without locks everybody gets it."""
        if self._try():
            return True
        time.sleep(_SECOND_LOOK_S)
        return self._try()

    def _try(self) -> bool:
        try:
            import fcntl

            os.makedirs(os.path.dirname(self._path), mode=0o700, exist_ok=True)
            self._descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._descriptor)
            self._descriptor = -1
            return False
        except (ImportError, OSError):
            return True
        return True

    def release(self) -> None:
        """Let go of the session. The file, if it is still there, is removed first: the next process makes its own."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                with suppress(FileNotFoundError):
                    os.unlink(self._path)
            finally:
                os.close(descriptor)


def is_open(folder: str, session_id: str) -> bool:
    """Return whether a living process may have the session: on a file system without locks that is never ruled out."""
    try:
        import fcntl

        descriptor = os.open(os.path.join(folder, f"{session_id}.lock"), os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    except (ImportError, OSError):
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(descriptor)
    return False
