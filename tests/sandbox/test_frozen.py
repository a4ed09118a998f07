"""A copy of a project as it is at one moment: content, modes, times, links, and what is shown or left out instead."""

from __future__ import annotations

import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest

from nebula.files.beneath import FOLDER_FLAGS
from nebula.sandbox.tries import frozen
from nebula.sandbox.tries.frozen import FrozenCopy, TooLargeToFreeze

ROOM = 1 << 30


def copied(project: Path, tmp_path: Path, shown: dict[str, bytes] | None = None, limit: int = ROOM) -> Path:
    target = tmp_path / "copy"
    target.mkdir()
    source, copy = os.open(project, FOLDER_FLAGS), os.open(target, FOLDER_FLAGS)
    try:
        FrozenCopy(copy, shown or {}, (".nebula",), limit).take(source)
    finally:
        os.close(source)
        os.close(copy)
    return target


def described(folder: Path) -> dict[str, tuple[object, ...]]:
    found: dict[str, tuple[object, ...]] = {}
    for path in (folder, *folder.rglob("*")):
        status = path.lstat()
        content = os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None
        times = None if path.is_symlink() else status.st_mtime_ns
        owner = status.st_uid, status.st_gid
        found[str(path.relative_to(folder))] = (status.st_mode, owner, times, content)
    return found


SIZES = (0, 1, frozen._SMALL - 1, frozen._SMALL, frozen._SMALL + 1, 3 * frozen._SMALL + 7)


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o777])
def test_everything_is_as_it_was(project: Path, tmp_path: Path, mask: int) -> None:
    for size in SIZES:
        (project / f"size{size}").write_bytes(os.urandom(size))
    for mode in ((0o000,) if os.geteuid() == 0 else ()) + (0o400, 0o444, 0o600, 0o755, 0o777, 0o4755, 0o2755, 0o1644):
        path = project / f"sub/deep/mode{mode:o}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        path.chmod(mode)
    (project / "link").symlink_to("sub/deep")
    (project / "broken").symlink_to("/nowhere")
    os.utime(project / "hello.txt", ns=(1, 1_234_567_890_123_456_789))
    os.makedirs(os.path.join(os.fsencode(project), b"no text \xff\nname"))
    (project / "closed").mkdir(mode=0o500)
    (project / "sub").chmod(0o2775)
    if os.geteuid() == 0:
        os.chown(project / "sub", 54321, 54321)
        os.chown(project / "sub/deep/mode4755", 54321, 54321)
        (project / "sub/deep/mode4755").chmod(0o4755)
    os.utime(project / "sub", ns=(5, 7_000_000_001))
    before, old = described(project), os.umask(mask)
    try:
        copy = copied(project, tmp_path)
        assert os.umask(mask) == mask
    finally:
        os.umask(old)
    assert described(copy) == before


def test_holes_of_a_file_take_no_room_in_the_copy_either(project: Path, tmp_path: Path) -> None:
    """A file of five gigabytes that holds nothing would fill the disk, for each race."""
    with (project / "holes").open("wb") as file:
        for place in (1 << 16, 3 << 20, 9 << 20):
            file.seek(place)
            file.write(b"here")
        file.truncate(10 << 20)
    (project / "nothing").touch()
    os.truncate(project / "nothing", 64 << 20)
    copy = copied(project, tmp_path)
    assert (copy / "holes").read_bytes() == (project / "holes").read_bytes()
    assert (copy / "nothing").stat().st_size == 64 << 20
    assert sum((copy / name).stat().st_blocks for name in ("holes", "nothing")) * 512 < 1 << 20


def test_what_is_shown_instead_and_what_is_left_out(project: Path, tmp_path: Path) -> None:
    for name in (".nebula/log.txt", "keys/one", "sub/.nebula/log.txt"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("secret", "utf-8")
    (project / ".env").write_text("secret", "utf-8")
    (project / ".env").chmod(0o600)
    os.mkfifo(project / "pipe")
    copy = copied(project, tmp_path, {".env": b"", "keys": b"", "hello.txt": b"another\n"})
    assert sorted(described(copy)) == [".", ".env", "hello.txt", "keys", "sub", "sub/.nebula", "sub/.nebula/log.txt"]
    assert (copy / ".env").read_bytes() == b"" and stat.S_IMODE((copy / ".env").stat().st_mode) == 0o600
    assert (copy / "hello.txt").read_text("utf-8") == "another\n"


def test_a_project_without_end_is_not_copied(project: Path, tmp_path: Path) -> None:
    (project / "large").write_bytes(bytes(1 << 20))
    with pytest.raises(TooLargeToFreeze):
        copied(project, tmp_path, limit=1 << 19)


def test_what_comes_and_goes_meanwhile_breaks_nothing(project: Path, tmp_path: Path) -> None:
    for number in range(300):
        (project / f"file{number}").write_text("whole\n", "utf-8")
    done = threading.Event()

    def disturb() -> None:
        number = 0
        while not done.is_set():
            number = (number + 1) % 300
            path = project / f"file{number}"
            path.unlink(missing_ok=True)
            if number % 3 == 0:
                path.symlink_to("/etc/passwd")
            elif number % 3 == 1:
                os.mkfifo(path)
            else:
                path.write_text("whole\n", "utf-8")

    thread = threading.Thread(target=disturb)
    thread.start()
    try:
        copy = copied(project, tmp_path)
    finally:
        done.set()
        thread.join()
    assert {path.read_text("utf-8") for path in copy.iterdir() if path.is_file() and not path.is_symlink()} <= {
        "hello\n",
        "whole\n",
        "",
    }


def test_git_reads_no_file_again_in_a_copy(project: Path, tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=project, check=True)
    subprocess.run(["git", "add", "-A"], cwd=project, check=True)
    copy = copied(project, tmp_path)
    told = subprocess.run(
        ["git", "-c", "core.checkStat=minimal", "-c", "core.trustctime=false", "diff-files", "--name-only"],
        cwd=copy,
        check=True,
        capture_output=True,
    )
    assert told.stdout == b""
