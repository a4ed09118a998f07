"""Whether this machine can, and why not: on machines made so that they cannot."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nebula.sandbox.capability import capability

ASK = (
    "from nebula.sandbox.capability import capability; found = capability(); "
    "print(found.available, found.reason, found.advice, sep='\\n')"
)
FORBID = "import ctypes; ctypes.CDLL(None).prctl(38, 1, 0, 0, 0); from nebula.sandbox.inside import seccomp; seccomp.install(); "


def asked_in(preparation: str, script: str = ASK) -> list[str]:
    """In namespaces of their own, so that nothing of this machine changes."""
    line = f'{preparation} "$0" -c "$1"'
    words = ["unshare", "-Urm", "--propagation", "private", "sh", "-ec", line, sys.executable, script]
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
