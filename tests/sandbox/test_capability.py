"""Whether this machine can, and why not: on machines made so that they cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import sandbox_rig
from nebula.sandbox.capability import capability, missing_walls
from nebula.sandbox.remembered import AVAILABLE, ON_DISK, recall

ASK = (
    "from nebula.sandbox.capability import capability; found = capability(); "
    "print(found.available, found.reason, found.advice, sep='\\n')"
)
FORBID = "import ctypes; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); from nebula.sandbox.inside import seccomp; seccomp.install(); "


WITHOUT_MEMORY = """
import sys
from nebula.sandbox import capability
def probe(disk): return ("attributes", 95) if disk is None else capability._probe(disk)
found = capability.capability(sys.argv[1], fresh=True, probe=probe)
print(found.available, found.on_disk, found.reason, found.advice, sep="\\n")
"""
"""As on a kernel whose tmpfs has no attributes for users."""
OLD = f"import sys; sys.path.append({str(Path(sandbox_rig.__file__).parent)!r}); from old_kernel import *; become_old(); say_old_release(); "
WALLS = "from nebula.sandbox.capability import missing_walls; print(*missing_walls(), sep='\\n')"


def asked_in(preparation: str, script: str = ASK, *more: str) -> list[str]:
    """In namespaces of their own, so that nothing of this machine changes."""
    line = f'{preparation} "$0" -c "$@"'
    words = ["unshare", "-Urm", "--propagation", "private", "sh", "-ec", line, sys.executable, script, *more]
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()


def test_this_machine_can() -> None:
    assert capability().available, capability().reason


def test_one_within_another_can() -> None:
    assert asked_in("")[0] == "True"


def test_user_namespaces_turned_off() -> None:
    assert asked_in("echo 0 > /proc/sys/user/max_user_namespaces;") == [
        "False",
        "User namespaces are turned off (user.max_user_namespaces = 0).",
        "Run `sudo sysctl user.max_user_namespaces=10000`.",
    ]


def test_user_namespaces_forbidden_by_a_filter() -> None:
    """As in a container with the usual profile."""
    available, reason, _ = asked_in("", FORBID + ASK)
    assert available == "False"
    assert reason in {
        "User namespaces cannot be made here (Operation not permitted).",
        "This container may not make user namespaces.",
    }


def test_a_covered_proc() -> None:
    assert asked_in("mount -t tmpfs x /proc/scsi || mount -t tmpfs x /proc/bus || mount -t tmpfs x /proc/tty;") == [
        "False",
        "Parts of /proc are covered here, so no new one may be mounted.",
        "In a container, start it with `--security-opt systempaths=unconfined`.",
    ]


def test_the_answer_is_remembered_for_the_boot(tmp_path: Path) -> None:
    assert capability(str(tmp_path)).available
    (note,) = tmp_path.iterdir()
    assert Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip() in note.name


def test_another_system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    found = capability(str(tmp_path / "another"))
    assert (found.available, found.reason) == (False, "Layers need Linux on x86-64 or ARM64.")


def test_where_memory_cannot_hold_the_upper_side_the_home_does(tmp_path: Path) -> None:
    assert asked_in("", WITHOUT_MEMORY, str(tmp_path)) == ["True", "True", "", ""]
    assert recall(str(tmp_path)) == (ON_DISK, 0)
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["projects"]
    assert list((tmp_path / "projects").iterdir()) == []


@pytest.mark.parametrize(
    ("mount", "kind", "reason"),
    [
        ("mount -t ramfs x {}", "ramfs", "Operation not supported"),
        ("mount -t overlay -o userxattr,lowerdir=/usr,upperdir={}/u,workdir={}/w x {}", "overlay", "Invalid argument"),
        ("mount -t tmpfs -o ro x {}", "tmpfs", "Read-only file system"),
    ],
)
def test_a_home_that_cannot_hold_it_is_named(tmp_path: Path, mount: str, kind: str, reason: str) -> None:
    for name in ("u", "w"):
        (tmp_path / name).mkdir()
    assert asked_in(mount.replace("{}", str(tmp_path)) + ";", WITHOUT_MEMORY, str(tmp_path)) == [
        "False",
        "False",
        f"The kernel's tmpfs cannot hold the upper side of an overlay, and neither can {tmp_path} ({kind}: {reason}).",
        "Use Linux 6.6 or newer, or set NEBULA_HOME to a folder of yours on ext4, XFS or Btrfs.",
    ]


def test_without_an_overlay_at_all_no_disk_helps(tmp_path: Path) -> None:
    found = capability(str(tmp_path), fresh=True, probe=lambda disk: ("overlay", 19))
    assert found.reason == "The kernel cannot mount an overlay without privileges (No such device)."


def test_the_usual_way_never_looks_at_the_disk(tmp_path: Path) -> None:
    asked = []

    def probe(disk: str | None) -> tuple[str, int]:
        asked.append(disk)
        return AVAILABLE, 0

    assert capability(str(tmp_path), fresh=True, probe=probe).available
    assert asked == [None]


def test_an_old_kernel_will_do_and_what_it_lacks_is_said() -> None:
    """Without a single system call since Linux 5.12."""
    assert asked_in("", OLD + ASK)[0] == "True"
    assert asked_in("", OLD + WALLS) == [
        "Without Landlock (Linux 5.19 has it): mounts alone keep what commands write in the layer.",
        "Commands that you give the network reach abstract sockets, too (Linux 6.12 closes these).",
        "As root, the number of processes is watched and not bounded (Linux 6.14 bounds it).",
    ]


@pytest.mark.parametrize(
    ("version", "things"),
    [(2, "truncation, device controls, abstract sockets and signals"), (5, "abstract sockets and signals"), (6, None)],
)
def test_what_an_old_landlock_lacks_is_said(version: int, things: str | None) -> None:
    said = [each for each in missing_walls(version) if "root" not in each]
    if things is None:
        assert said == []
    else:
        assert said == [
            f"Landlock version {version} does not cover {things}: namespaces and mounts alone hold these.",
            "Commands that you give the network reach abstract sockets, too (Linux 6.12 closes these).",
        ]
