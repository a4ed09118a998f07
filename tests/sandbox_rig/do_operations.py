"""A program: does file operations given as JSON in the working directory; those that cannot be done are left out."""

import json
import os
import shutil
import sys


def remove(path: str) -> None:
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def write(path: str, content: str, how: str = "w") -> None:
    if os.path.islink(path):
        return  # it might lead out of here
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, how) as file:
        file.write(content)


def move(path: str, target: str) -> None:
    shutil.move(path, target)


def copy(path: str, target: str) -> None:
    if not os.path.islink(target) and os.path.isfile(path) and not os.path.islink(path):
        shutil.copy2(path, target)


def set_mode(path: str, mode: int) -> None:
    """Only root's own copy can be compared where it is closed to everyone."""
    if not os.path.islink(path):
        needed = 0 if os.geteuid() == 0 else 0o700 if os.path.isdir(path) else 0o600
        os.chmod(path, mode | needed)


ACTIONS = {
    "write": write,
    "append": lambda path, content: write(path, content, "a"),
    "touch": lambda path: os.utime(path) if not os.path.islink(path) else None,
    "folder": lambda path: os.makedirs(path, exist_ok=True),
    "remove": remove,
    "move": move,
    "copy": copy,
    "mode": set_mode,
    "link": lambda path, target: os.symlink(target, path),
    "hard link": lambda path, target: os.link(path, target, follow_symlinks=False),
}

for action, *arguments in json.loads(sys.argv[1]):
    try:
        ACTIONS[action](*arguments)
    except (OSError, shutil.Error):
        continue
