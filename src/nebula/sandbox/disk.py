"""The upper side on disk, for kernels whose tmpfs cannot hold it: one private folder for each layer, in nebula's home
among what is derived from the project.

Memory is gone with its holder; a folder is not. So whoever uses one holds a shared lock on it, nebula and the layer's
first process each their own, and the kernel drops these however they end. A folder without a lock is an orphan, and
is removed when the next layer is made.
"""

from __future__ import annotations

import fcntl
import os
import stat
from contextlib import suppress
from functools import cache
from typing import Final

from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.folder import Folder
from nebula.files.home import forget_projects_below, project_id
from nebula.sandbox.errors import SandboxError, Unavailable

_PRIVATE: Final = 0o700
_STEP: Final = "disk"


class LayerFolder:
    """The folder of one layer; closing it removes it."""

    def __init__(self, layers: Folder) -> None:
        self._layers = layers
        self._name = os.urandom(8).hex()
        fcntl.flock(layers.fd, fcntl.LOCK_EX)  # until this one is locked it would pass for an orphan
        try:
            os.mkdir(self._name, _PRIVATE, dir_fd=layers.fd)
            self._handle = os.open(self._name, FOLDER_FLAGS, dir_fd=layers.fd)
            fcntl.flock(self._handle, fcntl.LOCK_SH)
        finally:
            fcntl.flock(layers.fd, fcntl.LOCK_UN)
        found = os.fstat(self._handle)
        self.path = f"{layers.path}/{self._name}"
        self.identity = found.st_dev, found.st_ino
        """Whoever opens the path makes sure that it is still this folder."""

    def close(self) -> None:
        with suppress(OSError):  # it is an orphan then, and tried again when the next layer is made
            remove_folder(self._layers.fd, self._name)
        os.close(self._handle)
        self._layers.close()


def make_layer_folder(home: str, root: str) -> LayerFolder:
    """Make a folder for a layer over the project at `root`."""
    real_home = os.path.realpath(home)
    if f"{real_home}/".startswith(f"{root}/"):
        raise SandboxError(
            "On this kernel a layer lies on disk in {home}, and cannot be inside the project. "
            "Set NEBULA_HOME to a folder outside of it.",
            home=home,
        )
    try:
        os.makedirs(real_home, _PRIVATE, exist_ok=True)
        _remove_orphans(real_home)
        with Folder.at(real_home) as top:
            layers = top.subfolder(f"projects/{project_id(root)}/layers", perm=_PRIVATE)
        _keep_private(layers.fd)
        return LayerFolder(layers)
    except OSError as error:
        raise Unavailable(_STEP, error.errno or 1) from None


def remove_orphans_of(home: str, root: str) -> None:
    """Remove what killed processes left of layers and tries over the project at `root`; nothing that is in use."""
    place = os.path.join(os.path.realpath(home), "projects", project_id(root), "layers")
    with suppress(OSError):  # there are none, or it is tried again at the next start
        if os.path.isdir(place):
            with Folder.at(place) as layers:
                _remove_orphans_in(layers)
            forget_projects_below(home, place)


def forget_project(home: str, root: str) -> None:
    """Forget a project that was made to try something out, and whose layers are all closed."""
    place = os.path.join(home, "projects", project_id(root))
    with suppress(OSError):  # it never came to that
        os.rmdir(os.path.join(place, "layers"))
        os.rmdir(place)


def _keep_private(handle: int) -> None:
    found = os.fstat(handle)
    if found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) != _PRIVATE:
        os.fchmod(handle, _PRIVATE)  # which fails where it is somebody else's


@cache
def _remove_orphans(home: str) -> None:
    """Remove what killed processes left, of every project: a layer may have been the last that its project saw. Once in
    a process."""
    with Folder.at(home) as top:
        for project in top.listing("projects"):
            with suppress(OSError), top.subfolder(f"projects/{project}/layers", make=False) as layers:
                _remove_orphans_in(layers)


def _remove_orphans_in(layers: Folder) -> None:
    orphans = {}
    fcntl.flock(layers.fd, fcntl.LOCK_EX)
    for name in os.listdir(layers.fd):
        with suppress(OSError):  # something else, or already gone
            handle = os.open(name, FOLDER_FLAGS, dir_fd=layers.fd)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                orphans[name] = handle
            except BlockingIOError:
                os.close(handle)
    fcntl.flock(layers.fd, fcntl.LOCK_UN)
    for name, handle in orphans.items():
        with suppress(OSError):
            remove_folder(layers.fd, name)
        os.close(handle)


def remove_folder(parent: int, name: str) -> None:
    """Remove a folder, however deep it is and whatever modes are in it.

    Folders are moved up before they are emptied: two descriptors are enough, and no path gets too long. Nobody else can
    reach it any more, so nothing is swapped meanwhile."""
    moved = f"{os.urandom(4).hex()}-"
    number = 0
    with closed_after(os.open(name, FOLDER_FLAGS, dir_fd=parent)) as top:
        while names := os.listdir(top):
            for each in names:
                number = _empty_folder(top, each, moved, number)
    os.rmdir(name, dir_fd=parent)


def _empty_folder(top: int, name: str, moved: str, number: int) -> int:
    os.chmod(name, _PRIVATE, dir_fd=top)
    with closed_after(os.open(name, FOLDER_FLAGS, dir_fd=top)) as here, os.scandir(here) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                os.chmod(entry.name, _PRIVATE, dir_fd=here)  # to move a folder is to write to it
                os.rename(entry.name, f"{moved}{number}", src_dir_fd=here, dst_dir_fd=top)
                number += 1
            else:
                os.unlink(entry.name, dir_fd=here)
    os.rmdir(name, dir_fd=top)
    return number
