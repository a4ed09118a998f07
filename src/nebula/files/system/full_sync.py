"""Have the drive keep what was written, in the way that its system offers.

A plain `fsync` of macOS hands the data to the drive and does not wait for it; F_FULLFSYNC does. Volumes that have no
such request (a network share) get the plain one.
"""

from __future__ import annotations

import errno
import fcntl
import os

_NO_SUCH_REQUEST = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)


def _full_sync(handle: int) -> None:
    request: int = getattr(fcntl, "F_FULLFSYNC")  # noqa: B009 - mypy knows the system that it runs on
    try:
        fcntl.fcntl(handle, request)
    except OSError as error:
        if error.errno not in _NO_SUCH_REQUEST:
            raise
        os.fsync(handle)


full_sync = _full_sync if hasattr(fcntl, "F_FULLFSYNC") else os.fsync
"""Returns once the drive keeps the file, or directory, that is open as the descriptor it is given. Elsewhere than on
macOS it is the plain call, with nothing of ours on the way of each write."""
