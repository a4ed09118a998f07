"""What the command must not see. In the project the mask lies in the upper side itself, not as a mount over the file,
so that the command can still delete or replace what it does not see, and nothing is busy."""

from __future__ import annotations

import os
import stat

from nebula.sandbox.inside import mounts

_OPAQUE = "user.overlay.opaque"
_EINVAL = 22
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def put_masks(upper: int, lower: str, shown: dict[str, bytes], hidden: list[str]) -> None:
    """Mask paths of the project: `shown` gives a path other content (a folder is empty), `hidden` paths are not
    there."""
    for path in hidden:
        folder = _open_parent(upper, lower, path)
        os.mknod(os.path.basename(path), stat.S_IFCHR, os.makedev(0, 0), dir_fd=folder)
        os.close(folder)
    for path, content in shown.items():
        try:
            found = os.lstat(f"{lower}/{path}")
        except FileNotFoundError:
            continue  # deleted since it was found
        folder = _open_parent(upper, lower, path)
        _put_mask(folder, os.path.basename(path), content, found)
        os.close(folder)


def _put_mask(folder: int, name: str, content: bytes, found: os.stat_result) -> None:
    place = f"/proc/self/fd/{folder}/{name}"
    if stat.S_ISDIR(found.st_mode):
        os.mkdir(name, dir_fd=folder)
        os.setxattr(place, _OPAQUE, b"y")
    else:
        handle = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600, dir_fd=folder)
        os.write(handle, content)
        os.close(handle)
    copy_attributes(place, found)


def _open_parent(upper: int, lower: str, path: str) -> int:
    """Return the folder of `path` in the upper side, made like the one in the lower side where it is missing."""
    here = os.dup(upper)
    parts = path.split("/")[:-1]
    for depth, name in enumerate(parts, 1):
        try:
            below = os.open(name, _FOLDER_FLAGS, dir_fd=here)
        except FileNotFoundError:
            os.mkdir(name, dir_fd=here)
            below = os.open(name, _FOLDER_FLAGS, dir_fd=here)
            copy_attributes(f"/proc/self/fd/{below}", os.lstat("/".join((lower, *parts[:depth]))))
        os.close(here)
        here = below
    return here


def copy_attributes(place: str, found: os.stat_result) -> None:
    try:
        os.chown(place, found.st_uid, found.st_gid)
    except OSError as error:
        if error.errno != _EINVAL:
            raise  # and else it is somebody's who has no number in here: in the layer it is ours
    os.chmod(place, 0o666 if stat.S_ISLNK(found.st_mode) else stat.S_IMODE(found.st_mode))
    os.utime(place, ns=(found.st_atime_ns, found.st_mtime_ns))


def cover(path: str, empty_file: str, *, writable: bool = False) -> bool:
    """Cover a path outside the project, which cannot be deleted anyway; return whether a folder was. `writable` where
    something is put into it before it is made read-only."""
    if os.path.isdir(path):
        mounts.mount("tmpfs", path, "mode=755,size=4k", 0 if writable else mounts.READ_ONLY)
        return True
    if os.path.exists(path):
        mounts.bind(empty_file, path)
    return False
