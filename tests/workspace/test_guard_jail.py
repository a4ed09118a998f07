"""Every way into the root, and what is said of each that is closed; for both ways of opening."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nebula.files.beneath import FILE_FLAGS, OpenBeneath
from nebula.files.syscalls import Syscalls
from nebula.workspace.errors import (
    AlreadyExists,
    DiskFull,
    Forbidden,
    PathEscape,
    PathNotFound,
    PathRefused,
    StorageFailed,
    WorkspaceError,
)
from nebula.workspace.guard.jail import Jail, require_regular, translate
from nebula.workspace.guard.paths import NormalPath, normal_path
from rows import each_row


@pytest.fixture
def jail(root: Path, opener: OpenBeneath) -> Iterator[Jail]:
    (root / "sub/deep").mkdir(parents=True)
    (root / "file.txt").write_text("text")
    (root / "sub/file.txt").write_text("longer text")
    links = {
        "in": "sub",
        "to-file": "file.txt",
        "home": ".",
        "out": "..",
        "circle": "circle",
        "not-utf8": b"\xff",
        "sub/up": "../sub",
        "absolute": str(root / "sub"),
    }
    for name, target in links.items():
        os.symlink(os.fsencode(target), root / name)
    jail = Jail(str(root), opener=opener)
    yield jail
    jail.close()


@pytest.fixture
def held(root: Path) -> Iterator[Callable[[], int]]:
    """How many descriptors there are of what lies in the root; the test must leave as many as it found."""

    def count() -> int:
        inside = {(status.st_dev, status.st_ino) for status in map(os.lstat, [root, *root.rglob("*")])}
        return sum(_opened(fd) in inside for fd in range(512))

    before = count()
    yield count
    assert count() == before


def _opened(fd: int) -> tuple[int, int] | None:
    try:
        status = os.fstat(fd)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def said(call: Callable[[], object]) -> tuple[type[WorkspaceError], str]:
    with pytest.raises(WorkspaceError) as refused:
        call()
    return type(refused.value), str(refused.value)


def no_judgement(path: NormalPath) -> None: ...


def test_a_root_that_is_no_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "missing"):
        assert said(lambda name=name: Jail(str(tmp_path / name))) == (  # type: ignore[misc]
            PathNotFound,
            "The root of the workspace is not a directory; create it or name another.",
        )


def test_a_root_that_may_not_be_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def denied(*_: object) -> int:
        raise PermissionError(errno.EACCES, "denied")

    monkeypatch.setattr(os, "open", denied)
    assert said(lambda: Jail("/")) == (
        Forbidden,
        "The root of the workspace may not be opened; check its permissions.",
    )


def test_the_root_is_let_go_of_once(root: Path) -> None:
    jail = Jail(str(root))
    fd = jail.fd
    jail.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    again = os.open(root, os.O_RDONLY)
    assert again == fd  # whoever has the number now
    jail.close()
    os.fstat(again)
    os.close(again)


def test_a_jail_that_nobody_holds_lets_go_of_the_root(root: Path, held: Callable[[], int]) -> None:
    jail = Jail(str(root))
    assert held() == 1
    del jail
    assert held() == 0


READS = {
    "missing.txt": (PathNotFound, "missing.txt: not found; list the directory to see what is there."),
    "file.txt/below": (PathNotFound, "file.txt/below: not found; part of the path is a file."),
    "in/missing.txt": (PathNotFound, "in/missing.txt: not found; list the directory to see what is there."),
    "circle": (PathEscape, "circle: its links go in circles."),
    "circle/below": (PathEscape, "circle/below: its links go in circles."),
    "out/other": (PathEscape, "out/other: a link in it leads out of the root."),
    "not-utf8": (PathRefused, "not-utf8: a link in it names something that is not UTF-8."),
}


@pytest.mark.parametrize("path", READS)
def test_what_cannot_be_opened_for_reading_is_named(path: str, jail: Jail, held: Callable[[], int]) -> None:
    assert said(lambda: jail.open_for_reading(normal_path(path), no_judgement)) == READS[path]


@pytest.mark.parametrize(
    ("path", "real"),
    [
        ("in/file.txt", "sub/file.txt"),
        ("to-file", "file.txt"),
        ("sub/up/up/file.txt", "sub/file.txt"),
        ("home", "."),
        ("absolute/file.txt", "sub/file.txt"),
    ],
)
def test_the_judge_sees_where_links_lead_and_nothing_is_opened_against_it(path: str, real: str, jail: Jail) -> None:
    seen: list[str] = []

    def judge(place: NormalPath) -> None:
        seen.append(place.text)
        raise Forbidden("no")

    assert said(lambda: jail.open_for_reading(normal_path(path), judge)) == (Forbidden, "no")
    assert (seen, jail.resolve(normal_path(path)).text) == ([real], real)


def test_a_folder_is_opened_as_one_and_a_file_is_none(jail: Jail) -> None:
    for path in ("sub", "in", "home", "."):
        os.close(jail.open_folder(normal_path(path), no_judgement))
    assert said(lambda: jail.open_folder(normal_path("to-file"), no_judgement)) == (
        PathNotFound,
        "to-file: not found; list the directory to see what is there.",
    )


WRITES = {
    "in/new.txt": (PathEscape, "in/new.txt: part of the path is a link, and a write follows none."),
    "sub/up/new.txt": (PathEscape, "sub/up/new.txt: part of the path is a link, and a write follows none."),
    "sub/file.txt/new.txt": (
        AlreadyExists,
        "sub/file.txt/new.txt: part of the path is a file; choose another place.",
    ),
}


@pytest.mark.parametrize("path", WRITES)
def test_a_parent_that_cannot_be_written_in_is_named(path: str, jail: Jail, held: Callable[[], int]) -> None:
    made: list[str] = []
    assert said(lambda: jail.open_parent(normal_path(path))) == WRITES[path]
    assert said(lambda: jail.make_parent(normal_path(path), made)) == WRITES[path]
    assert made == []


def test_the_name_of_the_file_itself_is_not_looked_at_for_its_parent(jail: Jail) -> None:
    for path in ("to-file", "circle", "sub/up"):
        os.close(jail.open_parent(normal_path(path)))


def test_a_parent_that_is_missing_is_made_and_told_outermost_first(jail: Jail, root: Path) -> None:
    path, made = normal_path("sub/a/b/c.txt"), list[str]()
    with pytest.raises(FileNotFoundError):
        jail.open_parent(path)
    parent = jail.make_parent(path, made)
    assert made == ["sub/a", "sub/a/b"]
    assert os.path.samestat(os.fstat(parent), os.stat(root / "sub/a/b"))
    assert (root / "sub/a").stat().st_mode == (root / "sub").stat().st_mode
    os.close(parent)
    made.clear()
    os.close(jail.make_parent(path, made))
    assert made == []


@pytest.mark.parametrize("kind", ["mkdir", "fsync_dir"])
def test_a_parent_that_cannot_be_made(kind: str, root: Path, held: Callable[[], int]) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "full")

    calls = Syscalls()
    setattr(calls, kind, full)
    jail, path = Jail(str(root), calls=calls), normal_path("a/b.txt")
    assert said(lambda: jail.make_parent(path, [])) == (
        DiskFull,
        "a/b.txt: the disk is full; make room and try again.",
    )
    jail.close()


def test_the_status_of_a_path_is_its_own(jail: Jail, root: Path) -> None:
    for path in (".", "sub", "file.txt", "sub/file.txt", "in", "circle"):
        status = jail.status(normal_path(path))
        assert status is not None
        assert os.path.samestat(status, os.lstat(root / path))
    for path in ("missing", "missing/below", "file.txt/below", "in/file.txt", "circle/below"):
        assert jail.status(normal_path(path)) is None


def test_the_status_of_a_path_that_the_system_denies(jail: Jail) -> None:
    def denied(*_: object) -> int:
        raise OSError(errno.EACCES, "denied")

    jail._open = denied
    assert said(lambda: jail.status(normal_path("sub/file.txt"))) == (
        Forbidden,
        "sub/file.txt: the operating system denies access; check the permissions.",
    )
    assert said(lambda: jail.open_parent(normal_path("sub/file.txt"))) == (
        Forbidden,
        "sub/file.txt: the operating system denies access; check the permissions.",
    )


def test_only_a_file_is_one(jail: Jail, root: Path) -> None:
    fd = jail.open_plain(normal_path("sub/file.txt"), FILE_FLAGS)
    assert require_regular(fd, "sub/file.txt").st_size == len("longer text")
    os.close(fd)
    fd = jail.open_folder(normal_path("sub"), no_judgement)
    assert said(lambda: require_regular(fd, "sub")) == (
        PathNotFound,
        "sub: is a directory, not a file; list it instead.",
    )
    os.close(fd)
    with socket.socket() as other:
        assert said(lambda: require_regular(other.fileno(), "odd")) == (
            PathRefused,
            "odd: is a device, pipe or socket, not a file.",
        )


NOT_FOUND = (PathNotFound, "p: not found; list the directory to see what is there.")
DENIED = (Forbidden, "p: the operating system denies access; check the permissions.")
LINK = (PathEscape, "p: a link in it changed or leads out of the root.")
NAME = (PathRefused, "p: the file system cannot hold such a name; choose another.")
DEVICE = (PathRefused, "p: is a device, pipe or socket, not a file.")
FULL = (DiskFull, "p: the disk is full; make room and try again.")
TOLD = {
    errno.ENOENT: NOT_FOUND,
    errno.ENOTDIR: NOT_FOUND,
    errno.EACCES: DENIED,
    errno.EPERM: DENIED,
    errno.EROFS: (Forbidden, "p: the file system is read-only."),
    errno.ELOOP: LINK,
    errno.EXDEV: LINK,
    errno.ENAMETOOLONG: NAME,
    errno.EILSEQ: NAME,
    errno.EINVAL: NAME,
    errno.ENXIO: DEVICE,
    errno.ENODEV: DEVICE,
    errno.EOPNOTSUPP: DEVICE,
    errno.EISDIR: (PathNotFound, "p: is a directory, not a file; list it instead."),
    errno.ENOSPC: FULL,
    errno.EDQUOT: FULL,
    errno.EIO: (StorageFailed, "p: the disk failed (words); nothing was lost."),
}


@each_row("code", TOLD, ids=errno.errorcode.__getitem__)
def test_the_words_of_the_system_become_ours(code: int) -> None:
    error = translate(OSError(code, "words"), "p")
    assert (type(error), str(error)) == TOLD[code]


def test_a_failure_without_words() -> None:
    assert str(translate(OSError(), "p")) == "p: the disk failed (unknown error); nothing was lost."
