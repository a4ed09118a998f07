"""Whether this machine can make a layer: found out by making one, and remembered until the next boot."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache

from nebula.language import translate
from nebula.sandbox.command import run
from nebula.sandbox.contract import Capability, Command, Limits
from nebula.sandbox.disk import forget_project
from nebula.sandbox.errors import SandboxError, Unavailable
from nebula.sandbox.inside.limits import has_own_pid_max
from nebula.sandbox.inside.walls import OLDEST_LANDLOCK, landlock_version
from nebula.sandbox.remembered import AVAILABLE, OFFERED, ON_DISK, recall_or_wait, remember

_MACHINES = ("x86_64", "aarch64")
_PROBE = "rmdir folder && mkdir folder && rm file && echo new > file"
"""A deleted folder made anew needs attributes that tmpfs has had since Linux 6.6."""
_PROBE_LIMITS = Limits(timeout_s=20)
_IN_MEMORY_ONLY = ("attributes", "overlay")
"""Where it ends on a kernel whose tmpfs has none; a disk may have them."""

Found = tuple[str, int]
Probe = Callable[[str | None], Found]
"""Makes a layer in memory, or on disk in that home; says where it ended."""


def capability(home: str | None = None, *, fresh: bool = False, probe: Probe | None = None) -> Capability:
    """Return whether this machine can make a layer. `home` is nebula's: it keeps the answer for this boot and user,
    and the layers that memory cannot hold. With `fresh` it is found out anew."""
    step, number = _find_out(home, probe or _probe) if fresh else _remembered(home)
    if step in OFFERED:
        return Capability(available=True, on_disk=step == ON_DISK)
    reason, advice = _explain_disk(number, home or "") if step == "disk" else _explain(step, number)
    return Capability(False, reason, advice)


@cache
def _remembered(home: str | None) -> Found:
    if home is None:
        return _find_out(None, _probe)
    return recall_or_wait(home) or _find_out(home, _probe)


def _find_out(home: str | None, probe: Probe) -> Found:
    if not sys.platform.startswith("linux"):
        return "platform", 0
    if os.uname().machine not in _MACHINES:
        return "machine", 0
    found = probe(None)
    if home is None:
        return found
    if found[0] in _IN_MEMORY_ONLY:
        found = _found_on_disk(found, probe(home))
    remember(home, *found)
    return found


def _found_on_disk(in_memory: Found, on_disk: Found) -> Found:
    if on_disk[0] == AVAILABLE:
        return ON_DISK, 0
    return in_memory if on_disk == in_memory and on_disk[0] == "overlay" else ("disk", on_disk[1])


def _probe(disk: str | None) -> Found:
    with _folder_to_try() as folder:
        try:
            with run(Command(folder, _PROBE, _PROBE_LIMITS, disk=disk), read_back=False) as done:
                return (AVAILABLE, 0) if done.exit_code == 0 else ("attributes", errno.EOPNOTSUPP)
        except Unavailable as error:
            return error.step, error.number
        except SandboxError:
            return "launcher", 0
        finally:
            if disk is not None:
                forget_project(disk, folder)


@contextmanager
def _folder_to_try() -> Iterator[str]:
    folder = os.path.realpath(_new_folder())
    file, inner = os.path.join(folder, "file"), os.path.join(folder, "folder")
    try:
        os.mkdir(inner)
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT, 0o600))
        yield folder
    finally:
        os.remove(file)
        os.rmdir(inner)
        os.rmdir(folder)


def _new_folder() -> str:
    """Make a folder by hand where that goes: `tempfile` loads random numbers, hashes and archives, half a megabyte
    for one folder."""
    folder = f"/tmp/nebula-{os.urandom(8).hex()}"  # noqa: S108 - a name that nobody can guess
    try:
        os.mkdir(folder, 0o700)
    except OSError:
        import tempfile

        return tempfile.mkdtemp(prefix="nebula-")
    return folder


def _explain(step: str, number: int) -> tuple[str, str]:
    if step in {"platform", "machine"}:
        return (
            translate("Layers need Linux on x86-64 or ARM64."),
            translate("Use a Linux machine or virtual machine; configured checks work here as well."),
        )
    if step == "attributes":
        return (
            translate("The kernel's tmpfs cannot hold the upper side of an overlay."),
            translate("Use Linux 6.6 or newer."),
        )
    if step in {"namespaces", "user map", "mounts", "tmpfs"}:
        return _explain_namespaces(number)
    if step == "proc":
        return (
            translate("Parts of /proc are covered here, so no new one may be mounted."),
            translate("In a container, start it with `--security-opt systempaths=unconfined`."),
        )
    if step in {"overlay", "mount_setattr", "open_tree", "move_mount"}:
        return (
            translate("The kernel cannot mount an overlay without privileges ({reason}).", reason=os.strerror(number)),
            translate("Use Linux 5.11 or newer with overlayfs (`modprobe overlay`)."),
        )
    if step == "seccomp":
        return (
            translate("The kernel has no system call filter ({reason}).", reason=os.strerror(number)),
            translate("Use a kernel with CONFIG_SECCOMP_FILTER; without it there is no layer."),
        )
    return (
        translate("Making a layer failed at {step} ({reason}).", step=step, reason=os.strerror(number)),
        translate("Please report this with the output of `uname -a`."),
    )


def missing_walls(landlock: int | None = None) -> list[str]:
    """Return what this kernel, or one with that version of Landlock, lacks of the second wall. The first holds without
    it, and the user should know."""
    later = (
        (3, translate("truncation")),
        (5, translate("device controls")),
        (6, translate("abstract sockets and signals")),
    )
    version, found = landlock_version() if landlock is None else landlock, []
    if version < OLDEST_LANDLOCK:
        found.append(
            translate("Without Landlock (Linux 5.19 has it): mounts alone keep what commands write in the layer.")
        )
    elif things := ", ".join(name for since, name in later if version < since):
        found.append(
            translate(
                "Landlock version {version} does not cover {things}: namespaces and mounts alone hold these.",
                version=version,
                things=things,
            )
        )
    if version < later[-1][0]:
        found.append(
            translate("Commands that you give the network reach abstract sockets, too (Linux 6.12 closes these).")
        )
    if os.geteuid() == 0 and not has_own_pid_max():
        found.append(translate("As root, the number of processes is watched and not bounded (Linux 6.14 bounds it)."))
    return found


def _explain_disk(number: int, home: str) -> tuple[str, str]:
    place = {"home": home, "kind": _file_system(home), "reason": os.strerror(number)}
    return (
        translate(
            "The kernel's tmpfs cannot hold the upper side of an overlay, and neither can {home} ({kind}: {reason}).",
            **place,
        ),
        translate("Use Linux 6.6 or newer, or set NEBULA_HOME to a folder of yours on ext4, XFS or Btrfs."),
    )


def _file_system(path: str) -> str:
    """Return the kind of file system that holds a path, as the kernel names it."""
    kinds = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            before, _, after = line.partition(" - ")
            kinds[before.split(" ")[4]] = after.partition(" ")[0]
    place = os.path.realpath(path)
    while place not in kinds and place != "/":
        place = os.path.dirname(place)
    return kinds.get(place, "?")


def _explain_namespaces(number: int) -> tuple[str, str]:
    if _setting("/proc/sys/kernel/apparmor_restrict_unprivileged_userns") == "1":
        return (
            translate("AppArmor forbids user namespaces to programs without a profile."),
            translate("Run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`."),
        )
    for name in ("kernel/unprivileged_userns_clone", "user/max_user_namespaces"):
        if _setting(f"/proc/sys/{name}") == "0":
            setting = name.replace("/", ".")
            return (
                translate("User namespaces are turned off ({setting} = 0).", setting=setting),
                translate(
                    "Run `sudo sysctl {setting}={value}`.", setting=setting, value=1 if "clone" in name else 10000
                ),
            )
    if number in {errno.EPERM, errno.EACCES} and _in_container():
        return (
            translate("This container may not make user namespaces."),
            translate("Start it with `--security-opt seccomp=unconfined --security-opt systempaths=unconfined`."),
        )
    return (
        translate("User namespaces cannot be made here ({reason}).", reason=os.strerror(number)),
        translate("Ask the administrator of this machine to allow unprivileged user namespaces."),
    )


def _setting(path: str) -> str | None:
    try:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    except OSError:
        return None


def _in_container() -> bool:
    return os.path.exists("/.dockerenv") or os.path.exists("/run/.containerenv")
