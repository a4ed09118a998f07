"""Opening and reading below a folder: how far links are followed, how much is read, what is said where it cannot be."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from pathlib import Path

import pytest

from nebula.files.beneath import (
    FILE_FLAGS,
    FOLDER_FLAGS,
    MAX_LINKS,
    _openat2_opener,
    best_opener,
    open_by_walking,
    without_links,
)
from nebula.files.reading import UnreadableFile, open_below, read_all, read_below, read_limited


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/file").write_bytes(b"12345")
    (tmp_path / "dotted").symlink_to("./sub//./file")
    (tmp_path / "out").symlink_to("..")
    (tmp_path / "absolute").symlink_to(tmp_path / "sub")
    os.mkfifo(tmp_path / "pipe")
    return tmp_path


def said(folder: Path, path: str, limit: int = 100) -> tuple[str, str, str]:
    with pytest.raises(UnreadableFile) as refused:
        read_below(str(folder), path, limit)
    return str(refused.value), refused.value.path, refused.value.reason


ELSEWHERE = "it is a link that leads elsewhere"
WHY = {
    "out": ELSEWHERE,
    "out/x": ELSEWHERE,
    "absolute/file": ELSEWHERE,
    "sub/file/x": "part of its path is not a folder",
    "pipe": "it is not a regular file",
    "sub": "it is not a regular file",
    "x" * 300: os.strerror(errno.ENAMETOOLONG),
}


@pytest.mark.parametrize("path", WHY, ids=lambda path: path[:20])
def test_what_cannot_be_read_is_named_with_the_reason(path: str, folder: Path) -> None:
    assert said(folder, path) == (f"{path} cannot be read: {WHY[path]}", path, WHY[path])


def test_a_file_of_the_limit_is_read_and_one_above_is_not(folder: Path) -> None:
    for path in ("sub/file", ".//sub/./file", "dotted"):
        assert read_below(str(folder), path, 5) == read_below(str(folder), path, 6) == b"12345"
    assert said(folder, "sub/file", 4)[2] == "it is larger than 4 bytes"
    (folder / "large").write_bytes(b"x" * 2000)
    assert said(folder, "large", 1999)[2] == "it is larger than 1,999 bytes"


def test_a_file_that_grows_while_it_is_read_is_not_read_on(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = os.stat(folder / "sub/file")
    (folder / "large").write_bytes(b"x" * 20)
    monkeypatch.setattr(os, "fstat", lambda _: small)
    handle = os.open(folder / "large", os.O_RDONLY)
    with pytest.raises(UnreadableFile, match="larger than 10 bytes"):
        read_limited(handle, "large", 10)
    assert os.lseek(handle, 0, os.SEEK_CUR) == 11
    os.close(handle)


def test_a_disk_that_fails_says_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for error, reason in ((OSError(errno.EIO, "words"), "words"), (OSError(), "the disk failed")):

        def failing(*_: object, error: OSError = error) -> bytes:
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(os, "read", failing)
            assert said(folder, "sub/file")[2] == reason


def test_reading_goes_on_until_all_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    for piece in (b"ab", b"cd", b"ef"):
        os.write(write, piece)
    os.close(write)
    whole = os.read
    monkeypatch.setattr(os, "read", lambda handle, size: whole(handle, min(size, 2)))
    assert read_all(read, 0) == b""
    assert read_all(read, 3) == b"abc"
    assert read_all(read, 1) == b"d"
    assert read_all(read, 10) == b"ef"
    assert read_all(read, 10) == b""
    os.close(read)


def test_links_are_followed_only_where_that_is_asked_for(folder: Path) -> None:
    os.close(open_below(str(folder), ["dotted"]))
    with pytest.raises(OSError):
        open_below(str(folder), ["dotted"], follow=False)
    with pytest.raises(NotADirectoryError):
        open_below(str(folder / "sub/file"), [])
    handle = os.open(folder, os.O_RDONLY)
    assert read_below(handle, "sub/file", 100) == b"12345"
    os.fstat(handle)  # it is the caller's
    os.close(handle)


def test_so_many_links_and_no_more(folder: Path) -> None:
    (folder / "0").symlink_to("sub")
    for number in range(1, MAX_LINKS + 1):
        (folder / str(number)).symlink_to(str(number - 1))
    handle = os.open(folder, os.O_RDONLY)
    for opener in (best_opener(), open_by_walking):
        assert without_links(opener, handle, [str(MAX_LINKS - 1), "file"]) == ["sub", "file"]
        with pytest.raises(OSError) as circle:
            without_links(opener, handle, [str(MAX_LINKS)])
        assert circle.value.errno == errno.ELOOP
        for path in ("out", "absolute"):
            with pytest.raises(OSError) as leaves:
                without_links(opener, handle, [path])
            assert leaves.value.errno == errno.EXDEV
        assert without_links(opener, handle, ["absolute", "file"], str(folder)) == ["sub", "file"]
        with pytest.raises(OSError):
            without_links(opener, handle, ["absolute"], str(folder)[:-1])
        root = opener(handle, (), FOLDER_FLAGS)
        assert os.path.samestat(os.fstat(root), os.stat(folder))
        os.close(root)
    os.close(handle)


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone has the call")
def test_where_the_kernel_opens_beneath_itself_it_is_let_to(folder: Path) -> None:
    how = b"".join(word.to_bytes(8, sys.byteorder) for word in (os.O_RDONLY, 0, 8))
    fd = ctypes.CDLL(None).syscall(437, -100, b".", how, ctypes.c_size_t(24))
    opener = _openat2_opener()
    assert (opener is None) is (best_opener() is open_by_walking) is (fd < 0)
    if opener is None:
        return
    os.close(fd)
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(2):
        found = opener(handle, ["sub", "file"], FILE_FLAGS)
        assert os.read(found, 9) == b"12345"
        assert not os.get_inheritable(found)
        os.close(found)
    for path, problem in (("x", errno.ENOENT), ("out", errno.ELOOP), ("dotted", errno.ELOOP), ("..", errno.EXDEV)):
        with pytest.raises(OSError) as refused:
            opener(handle, [path], FILE_FLAGS)
        assert (refused.value.errno, refused.value.strerror) == (problem, os.strerror(problem))
    os.close(handle)
