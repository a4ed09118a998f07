"""Places for the tries of one race. The process that makes them forks into the tries, and each enters its own.

The project is copied once into a tmpfs that only these processes see, and held still there; each try has an overlay
over that copy, at the project's own path. All of it is gone with the last process. `Copies` do the same by plain
copies in nebula's home, where the machine has no overlays.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from nebula.files.beneath import FOLDER_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.folder import Folder
from nebula.files.home import forget_projects_below
from nebula.files.system.machine import free_memory
from nebula.sandbox.changes.reader import read_changes
from nebula.sandbox.contract import MIB, ChangeSet
from nebula.sandbox.disk import make_layer_folder, remove_folder
from nebula.sandbox.errors import Unavailable
from nebula.sandbox.inside import masks, mounts, namespaces
from nebula.sandbox.inside.kernel import StepFailed
from nebula.sandbox.inside.mounts import NO_DEVICES, NO_SETUID, READ_ONLY
from nebula.sandbox.layer import Layer
from nebula.sandbox.tries.frozen import FrozenCopy, TooLargeToFreeze
from nebula.value import value

HIDDEN: Final = (".nebula",)
GRAPH: Final = ".nebula/graph"
_SAFE: Final = NO_SETUID | NO_DEVICES
_SHARE_OF_MEMORY: Final = 4
_MOST_FROZEN: Final = 2048 * MIB
_MOST_LEFT: Final = 2048 * MIB
"""Bytes of the files that a try may leave."""


@value
class TryPlace:
    """Where one try works."""

    root: str
    """The project as the try finds it."""
    graph: str
    """The folder of the conversation that it may read."""
    layer: Layer
    masks: Mapping[str, bytes]
    whole: bool = False
    """The place is a copy of its own, not an overlay."""

    @property
    def has_graph(self) -> bool:
        return os.path.isdir(self.graph)

    def changes(self) -> ChangeSet:
        """Return what the try changed. Raises LeftTooMuch."""
        return read_changes(
            self.layer,
            masks=self.masks,
            names={},
            hidden=HIDDEN,
            started_ns=1 << 63,
            limit=_MOST_LEFT,
            whole=self.whole,
        )


class Overlays:
    """Overlays over one copy in memory. Made by a process with one thread, whose mounts they change. A folder that is
    `covered` is empty in every place, and whatever is put there is gone with it. The conversation is seen at the folder
    `graph_at`, outside of the project: no layer can be put over a project that has something mounted inside. Raises
    Unavailable."""

    def __init__(
        self,
        root: str,
        shown: Mapping[str, bytes],
        project: int,
        hidden: Sequence[str] = HIDDEN,
        covered: str = "",
        graph_at: str = "",
    ) -> None:
        self._root = root
        self._shown = shown
        self._hidden = hidden
        self._covered = covered
        self._graph_at = graph_at
        self.held_still = True
        """Whether the project stays as it was at the start, whatever is done to it."""
        try:
            namespaces.enter_for_mounts()
            mounts.keep_mounts_private()
            self._build(project)
        except StepFailed as failed:
            raise Unavailable(failed.step, failed.number) from None

    def _build(self, project: int) -> None:
        root, room = self._root, free_memory()
        if self._graph_at and all(_is_folder(f"{root}/{path}") for path in (*HIDDEN, GRAPH)):
            mounts.attach(mounts.clone_tree(f"{root}/{GRAPH}"), self._graph_at, READ_ONLY | _SAFE)
        else:
            self._graph_at = ""
        live = mounts.clone_tree(root)
        mounts.mount("tmpfs", root, f"mode=700,size={max(room // 2, 64 * MIB)}", _SAFE)
        for name in ("lower", "live"):
            os.mkdir(f"{root}/{name}", 0o700)
        lower = os.open(f"{root}/lower", FOLDER_FLAGS)
        try:
            FrozenCopy(lower, self._shown, self._hidden, min(room // _SHARE_OF_MEMORY, _MOST_FROZEN)).take(project)
            os.close(live)
        except TooLargeToFreeze:
            self.held_still = False
            shutil.rmtree(f"{root}/lower")
            mounts.attach(live, f"{root}/live", READ_ONLY | _SAFE)
        finally:
            os.close(lower)

    def enter(self, number: int) -> TryPlace:
        """Make the place of a try and enter it, in the try's own process."""
        try:
            namespaces.leave_shared_mounts()
            return self._enter(number)
        except StepFailed as failed:
            raise Unavailable(failed.step, failed.number) from None

    def _enter(self, number: int) -> TryPlace:
        root = self._root
        here = os.open(root, FOLDER_FLAGS)  # the tmpfs, which the overlay is about to cover
        below = f"/proc/self/fd/{here}"
        lower = f"{below}/lower" if self.held_still else f"{below}/live"
        for name in ("upper", "work"):
            os.makedirs(f"{below}/{number}/{name}", 0o700)
        upper = os.open(f"{below}/{number}/upper", FOLDER_FLAGS)
        lower_fd = os.open(lower, FOLDER_FLAGS & ~os.O_NOFOLLOW)
        masks.copy_attributes(f"/proc/self/fd/{upper}", os.fstat(lower_fd))
        if not self.held_still:
            hidden = [path for path in self._hidden if os.path.lexists(f"{lower}/{path}")]
            masks.put_masks(upper, lower, dict(self._shown), hidden)
        mounts.mount_overlay(root, lower, f"{below}/{number}", _SAFE)
        os.close(here)
        if self._covered:
            mounts.mount("tmpfs", self._covered, "mode=700", _SAFE)
        os.chdir(root)
        layer = Layer(lower_fd)
        layer.descriptors = [upper]
        return TryPlace(root, self._graph_at, layer, {} if self.held_still else self._shown)

    def remove(self, number: int) -> None:
        """Remove the place of a try that has ended."""
        with suppress(OSError), Folder.at(self._root) as places:  # it never came to that, or its memory is freed later
            remove_folder(places.fd, str(number))

    def close(self) -> None:
        """Nothing: the kernel removes it with the last process."""


class Copies:
    """A copy for each try, in a folder that is removed at the end, or when a later start finds that nobody uses it."""

    held_still = True

    def __init__(
        self, root: str, shown: Mapping[str, bytes], project: int, home: str, hidden: Sequence[str] = HIDDEN
    ) -> None:
        self._root = root
        self._home = home
        self._folder = folder = make_layer_folder(home, root)
        self._lower = f"{folder.path}/lower"
        try:
            os.mkdir(self._lower, 0o700)
            with closed_after(os.open(self._lower, FOLDER_FLAGS)) as lower:
                FrozenCopy(lower, shown, hidden, _free_disk(lower)).take(project)
        except BaseException:
            folder.close()
            raise

    def enter(self, number: int) -> TryPlace:
        name = os.path.basename(self._root)
        place = f"{self._folder.path}/{number}/{name}"
        os.makedirs(place, 0o700)
        upper, lower = os.open(place, FOLDER_FLAGS), os.open(self._lower, FOLDER_FLAGS)
        FrozenCopy(upper, {}, (), _free_disk(upper)).take(lower)
        os.chdir(place)
        layer = Layer(lower)
        layer.descriptors = [upper]
        return TryPlace(place, f"{self._root}/{GRAPH}", layer, {}, whole=True)

    def remove(self, number: int) -> None:
        place = f"{self._folder.path}/{number}/{os.path.basename(self._root)}"
        with suppress(OSError), Folder.at(self._folder.path) as places:  # it never came to that, or goes with the rest
            remove_folder(places.fd, str(number))
        forget_projects_below(self._home, place)

    def close(self) -> None:
        self._folder.close()


Places = Overlays | Copies


def _is_folder(path: str) -> bool:
    return os.path.isdir(path) and not os.path.islink(path)


def _free_disk(handle: int) -> int:
    space = os.fstatvfs(handle)
    return space.f_bavail * space.f_frsize // 2
