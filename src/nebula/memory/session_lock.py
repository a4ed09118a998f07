"""Which sessions are open at the moment: a lock on a small file, held by the process that has the session.

The system lets go of it when the process ends, however it ends, so a killed one leaves nothing that looks open.
"""

from __future__ import annotations

import os
from contextlib import suppress


class SessionLock:
    def __init__(self, folder: str, session_id: str) -> None:
        self._path = os.path.join(folder, f"{session_id}.lock")
        self._descriptor = -1

    def take(self) -> bool:
        """False where another has it. Where locks do not work nobody is in anybody's way."""
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
        """Let go of the session. The file goes first: whoever comes next makes its own; it may be gone already."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            try:
                with suppress(FileNotFoundError):
                    os.unlink(self._path)
            finally:
                os.close(descriptor)
