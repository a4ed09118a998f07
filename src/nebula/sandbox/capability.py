"""Whether this machine can make a layer: found out by making one, and remembered until the next boot."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from functools import cache

from nebula.language import translate
from nebula.sandbox.contract import Capability, Command, Limits
from nebula.sandbox.errors import SandboxError, Unavailable
from nebula.sandbox.remembered import AVAILABLE, recall, remember

_MACHINES = ("x86_64", "aarch64")
_PROBE = "rmdir folder && mkdir folder && rm file && echo new > file"
"""A deleted folder made anew needs attributes that tmpfs has had since Linux 6.6."""
_PROBE_LIMITS = Limits(timeout_s=20)


def capability(cache_folder: str | None = None, *, fresh: bool = False) -> Capability:
    """`cache_folder`: a private folder for the answer, which holds for this boot and user; `fresh` finds out anew."""
    step, number = _find_out(cache_folder) if fresh else _remembered(cache_folder)
    if step == AVAILABLE:
        return Capability(available=True)
    reason, advice = _explain(step, number)
    return Capability(False, reason, advice)


@cache
def _remembered(cache_folder: str | None) -> tuple[str, int]:
    known = None if cache_folder is None else recall(cache_folder)
    return known or _find_out(cache_folder)


def _find_out(cache_folder: str | None) -> tuple[str, int]:
    if not sys.platform.startswith("linux"):
        return "platform", 0
    if os.uname().machine not in _MACHINES:
        return "machine", 0
    found = _probe()
    if cache_folder is not None:
        remember(cache_folder, *found)
    return found


def _probe() -> tuple[str, int]:
    from nebula.sandbox.command import run

    with tempfile.TemporaryDirectory(prefix="nebula-") as folder:
        os.mkdir(os.path.join(folder, "folder"))
        open(os.path.join(folder, "file"), "w", encoding="ascii").close()
        try:
            with run(Command(os.path.realpath(folder), _PROBE, _PROBE_LIMITS)) as done:
                return (AVAILABLE, 0) if done.exit_code == 0 else ("attributes", 0)
        except Unavailable as error:
            return error.step, error.number
        except SandboxError:
            return "launcher", 0


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
            translate("Use Linux 6.6 or newer with overlayfs (`modprobe overlay`)."),
        )
    return (
        translate("Making a layer failed at {step} ({reason}).", step=step, reason=os.strerror(number)),
        translate("Please report this with the output of `uname -a`."),
    )


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
