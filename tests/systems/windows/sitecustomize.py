"""A Python that calls itself Windows and has none of the modules that are missing there."""

import os
import sys

for name in ("fcntl", "termios", "pwd", "grp", "resource", "tty", "pty"):
    sys.modules[name] = None  # type: ignore[assignment]
sys.platform, os.name = "win32", "nt"
for name in ("fork", "posix_spawn", "geteuid", "getuid", "register_at_fork", "O_NOFOLLOW", "O_DIRECTORY", "O_CLOEXEC"):
    delattr(os, name)
