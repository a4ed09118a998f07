"""Have the drive keep what was written, in the way that its system offers.

A plain `fsync` of macOS hands the data to the drive and does not wait for it; F_FULLFSYNC does. Volumes that have no
such request (a network share) get the plain one.
"""

from __future__ import annotations

import errno
import fcntl
import os

_NO_SUCH_REQUEST = (errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY)


def full_sync(handle: int) -> None:
    """Return once the drive keeps the file, or directory, that is open as `handle`."""
    request = getattr(fcntl, "F_FULLFSYNC", None)
    if request is not None:
        try:
            fcntl.fcntl(handle, request)
        except OSError as error:
            if error.errno not in _NO_SUCH_REQUEST:
                raise
        else:
            return
    os.fsync(handle)
