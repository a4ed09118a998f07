"""What the command sees as `/`: system directories read-only, an empty home, a private `/tmp`, and the project under
its own path, as an overlay whose upper side lies in a tmpfs. The tmpfs belongs to the namespace: when the last
process and the last descriptor are gone, so is it, however they went. Where a tmpfs cannot hold the upper side it lies
in a folder that nebula made for it."""

from __future__ import annotations

import fcntl
import os
import stat

from nebula.sandbox.inside import masks, mounts
from nebula.sandbox.inside.kernel import StepFailed
from nebula.sandbox.inside.mounts import NO_DEVICES, NO_PROGRAMS, NO_SETUID, READ_ONLY
from nebula.sandbox.inside.space import DiskSpace, MemorySpace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32", "etc", "opt", "nix", "gnu")
DEVICES = ("null", "zero", "full", "random", "urandom", "tty")
_SAFE = NO_SETUID | NO_DEVICES
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_STAGES = ("/tmp", "/var", "/usr", "/etc")  # noqa: S108 - any two will do: they are covered in our namespace alone
_ONE_PAGE_FILES_PER_MIB = 256
_ESTALE = 116


def build(config: dict[str, Any]) -> tuple[int, int, MemorySpace | DiskSpace]:
    """Build the root and enter it. Return descriptors of the upper side and of the project as the command sees it, and
    what watches over their size."""
    mounts.keep_mounts_private()
    project = _open_known(config["root"], config["identity"], os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    disk = _open_disk(*config["disk"]) if config["disk"] else None
    sources = _clone_sources(config)  # before the stage covers anything
    stage, layer = [path for path in _STAGES if os.path.isdir(path)][:2]
    mounts.mount("tmpfs", stage, "mode=755,size=16m,nr_inodes=16384", _SAFE)
    space = _make_own_folders(layer, config)
    _fill_home(f"{layer}/home", config)
    sides = layer if disk is None else f"/proc/self/fd/{disk}"
    upper = _make_sides(sides, project, config)
    _put_system(stage, sources.pop("system"))
    _put_devices(stage, sources.pop("devices"))
    _put_own_folders(stage, layer, config)
    readable, skills = sources.pop("readable"), sources.pop("skills")
    _put_readable(stage, {path: tree for path, tree in readable.items() if _holds(path, config["root"])})
    around = [path for path in config["covered"] if _holds(path, config["root"])]  # not what is in them
    beside = [
        each for each in skills if not _holds(config["root"], each) and any(_holds(path, each) for path in around)
    ]
    _cover(stage, around, {path: skills.pop(path) for path in beside})
    place = _below(stage, config["root"])
    os.makedirs(place, exist_ok=True)
    mounts.mount_overlay(place, f"/proc/self/fd/{project}", sides, _SAFE)
    _put_readable(stage, {path: tree for path, tree in readable.items() if not _holds(path, config["root"])})
    os.close(project)
    if disk is None:  # on disk nobody counts what is written beside the project
        _let_write(stage, layer, [path for path in config["caches"] if not _holds(path, config["root"])])
    _put_processes(stage)
    _cover(stage, [path for path in config["covered"] if not _holds(path, config["root"])], skills)
    mounts.make_read_only(stage)
    mounts.enter_root(stage)
    os.chdir(config["root"])
    view = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    return upper, view, space if disk is None else DiskSpace(upper, space, config["layer_bytes"])


def _open_known(path: str, identity: tuple[int, int], flags: int) -> int:
    """Open the folder that nebula has looked at, not one that was put in its place since."""
    handle = os.open(path, flags)
    found = os.fstat(handle)
    if (found.st_dev, found.st_ino) != identity:
        raise StepFailed("project", _ESTALE)
    return handle


def _open_disk(path: str, identity: tuple[int, int]) -> int:
    """It stays open, and with it the lock that says that the folder is in use."""
    handle = _open_known(path, identity, _FOLDER_FLAGS)
    fcntl.flock(handle, fcntl.LOCK_SH)
    return handle


def _clone_sources(config: dict[str, Any]) -> dict[str, Any]:
    system: dict[str, int | str] = {}
    for name in SYSTEM:
        path = f"/{name}"
        if os.path.islink(path):
            system[path] = os.readlink(path)
        elif os.path.isdir(path):
            system[path] = mounts.clone_tree(path)
    devices = {
        name: mounts.clone_tree(f"/dev/{name}", recursive=False) for name in DEVICES if os.path.exists(f"/dev/{name}")
    }
    readable, skills = (
        {path: mounts.clone_tree(path) for path in sorted(config[key])} for key in ("read_only", "skills")
    )
    return {"system": system, "devices": devices, "readable": readable, "skills": skills}


def _make_own_folders(layer: str, config: dict[str, Any]) -> MemorySpace:
    size = config["layer_bytes"]
    files = max(size // 2**20, 64) * _ONE_PAGE_FILES_PER_MIB
    mounts.mount("tmpfs", layer, f"mode=711,size={size},nr_inodes={files}", _SAFE)
    for name, mode in (("home", 0o700), ("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir(f"{layer}/{name}")
        os.chmod(f"{layer}/{name}", mode)
    os.chown(f"{layer}/home", *config["user"])
    return MemorySpace(os.open(layer, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC))


def _fill_home(own: str, config: dict[str, Any]) -> None:
    """Put what the command is told into its home, with folders that are its own: so are those around what it may read,
    since tools write beside that."""
    home: str = config["home"]
    for path in (*config["read_only"], *config["settings"]):
        if _holds(home, path):
            _make_own(os.path.dirname(path[len(home) :]), own, config["user"])
    for path, text in config["settings"].items():
        if _holds(home, path):
            place = own + path[len(home) :]
            with open(place, "w", encoding="utf-8") as file:
                file.write(text)
            os.chown(place, *config["user"])


def _make_own(path: str, top: str, user: tuple[int, int]) -> None:
    place = top
    for name in filter(None, path.split("/")):
        place = f"{place}/{name}"
        if not os.path.isdir(place):
            os.mkdir(place, 0o755)
            os.chown(place, *user)


def _make_sides(sides: str, project: int, config: dict[str, Any]) -> int:
    for name in ("upper", "work"):
        os.mkdir(f"{sides}/{name}", 0o700)
    masks.copy_attributes(f"{sides}/upper", os.fstat(project))
    upper = os.open(f"{sides}/upper", _FOLDER_FLAGS)
    masks.put_masks(upper, f"/proc/self/fd/{project}", config["shown"], config["hidden"])
    return upper


def _put_system(stage: str, system: dict[str, int | str]) -> None:
    for path, source in system.items():
        place = _below(stage, path)
        if isinstance(source, str):
            os.symlink(source, place)
        else:
            os.mkdir(place)
            mounts.attach(source, place, READ_ONLY | _SAFE)


def _put_devices(stage: str, devices: dict[str, int]) -> None:
    os.mkdir(f"{stage}/dev")
    for name, tree in devices.items():
        place = f"{stage}/dev/{name}"
        _make_place(place, os.fstat(tree))
        mounts.attach(tree, place, READ_ONLY | NO_SETUID | NO_PROGRAMS)
    for name, target in (("fd", "/proc/self/fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(target, f"{stage}/dev/{name}")
    os.symlink("pts/ptmx", f"{stage}/dev/ptmx")
    os.mkdir(f"{stage}/dev/pts")
    mounts.mount("devpts", f"{stage}/dev/pts", "newinstance,ptmxmode=0666,mode=620", NO_SETUID | NO_PROGRAMS)


def _put_own_folders(stage: str, layer: str, config: dict[str, Any]) -> None:
    """Make the layer's own folders in its tmpfs, so that one limit holds for everything the command writes."""
    os.makedirs(f"{stage}/run")
    os.makedirs(f"{stage}/var")
    os.symlink("/run", f"{stage}/var/run")
    for path, text in config["files"].items():
        with open(_below(stage, path), "w", encoding="utf-8") as file:
            file.write(text)
    home = config["home"]
    own = (("tmp", "/tmp"), ("tmp", "/var/tmp"), ("shm", "/dev/shm"), ("home", home))  # noqa: S108 - the private one
    for name, path in own:
        os.makedirs(_below(stage, path), exist_ok=True)
        mounts.bind(f"{layer}/{name}", _below(stage, path))


def _put_readable(stage: str, trees: dict[str, int]) -> None:
    for path, tree in trees.items():
        _make_place(_below(stage, path), os.fstat(tree))
        mounts.attach(tree, _below(stage, path), READ_ONLY | _SAFE)


def _let_write(stage: str, layer: str, caches: list[str]) -> None:
    """Give the `caches`, which are read-only so far, an upper side each: build tools take locks in them."""
    for number, path in enumerate(caches):
        lower = os.open(_below(stage, path), _FOLDER_FLAGS)
        sides = f"{layer}/cache{number}"
        for folder in (sides, f"{sides}/upper", f"{sides}/work"):
            os.mkdir(folder, 0o700)
        masks.copy_attributes(f"{sides}/upper", os.fstat(lower))
        mounts.mount_overlay(_below(stage, path), f"/proc/self/fd/{lower}", sides, _SAFE)
        os.close(lower)


def _cover(stage: str, paths: list[str], skills: dict[str, int]) -> None:
    """Cover what the command must not see, and show the `skills` that lie in it."""
    opened = []
    for path in paths:
        holds_skills = any(_holds(path, skill) for skill in skills)
        if masks.cover(_below(stage, path), f"{stage}/dev/null", writable=holds_skills) and holds_skills:
            opened.append(path)
    _put_readable(stage, skills)
    for path in opened:
        mounts.make_read_only(_below(stage, path))


def _holds(folder: str, path: str) -> bool:
    return f"{path}/".startswith(f"{folder}/")


def _put_processes(stage: str) -> None:
    # read-only: real root could change the machine through /proc/sys, even without a single capability
    os.mkdir(f"{stage}/proc")
    mounts.mount("proc", f"{stage}/proc", "", READ_ONLY | NO_SETUID | NO_DEVICES | NO_PROGRAMS)


def _make_place(place: str, source: os.stat_result) -> None:
    if stat.S_ISDIR(source.st_mode):
        os.makedirs(place, exist_ok=True)
    elif not os.path.lexists(place):
        os.makedirs(os.path.dirname(place), exist_ok=True)
        os.close(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o644))


def _below(stage: str, path: str) -> str:
    return os.path.join(stage, path.lstrip("/"))
