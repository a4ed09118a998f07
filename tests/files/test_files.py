"""The bottom room: reading and writing in folders that a stranger may have filled."""

from __future__ import annotations

import os
import sqlite3
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from nebula.files.database import ForeignDatabase, connect, transaction
from nebula.files.folder import Folder
from nebula.files.home import derived_folder, project_id
from nebula.files.reading import UnreadableFile, read_below


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    (folder / "sub").mkdir(parents=True)
    (folder / "sub" / "file.txt").write_text("inside")
    (tmp_path / "secret.txt").write_text("outside")
    return folder


def test_a_file_is_read_and_a_missing_one_is_none(project: Path) -> None:
    assert read_below(str(project), "sub/file.txt", 100) == b"inside"
    assert read_below(str(project), "sub/none.txt", 100) is None


def test_a_link_is_followed_only_inside(project: Path) -> None:
    (project / "near").symlink_to("sub/file.txt")
    (project / "folder").symlink_to("sub")
    (project / "sub" / "up").symlink_to("../near")
    for out in ("../secret.txt", "sub/../../secret.txt", str(project.parent / "secret.txt"), "/etc/hostname"):
        (project / "far").symlink_to(out)
        with pytest.raises(UnreadableFile, match="leads elsewhere"):
            read_below(str(project), "far", 100)
        (project / "far").unlink()
    assert read_below(str(project), "near", 100) == b"inside"
    assert read_below(str(project), "folder/up", 100) == b"inside"
    with pytest.raises(UnreadableFile):
        read_below(str(project), "near", 100, follow=False)
    (project / "loop").symlink_to("loop")
    with pytest.raises(UnreadableFile):
        read_below(str(project), "loop", 100)


def test_what_is_no_ordinary_file_is_refused_at_once(project: Path) -> None:
    os.mkfifo(project / "pipe")
    (project / "directory").mkdir()
    with (project / "sparse").open("wb") as file:
        file.truncate(1 << 32)
    (project / "zero").symlink_to("/dev/zero")
    for name in ("pipe", "directory", "sparse", "zero", "sub/file.txt/x"):
        with pytest.raises(UnreadableFile):
            read_below(str(project), name, 1000)


def test_a_folder_follows_no_link_at_all(project: Path, tmp_path: Path) -> None:
    (project / "near").symlink_to("sub")
    (project / "far").symlink_to(tmp_path)
    with Folder.at(str(project)) as folder:
        for name in ("near", "far"):
            with pytest.raises(UnreadableFile):
                folder.read(name, 100)
            with pytest.raises(OSError):
                folder.make_folder(f"{name}/made")
            with pytest.raises(OSError):
                folder.replace(f"{name}/made.txt", b"x")
            with pytest.raises(OSError):
                folder.open_for_append(f"{name}/log.txt")
            with pytest.raises(OSError):
                folder.open_for_append(name)
        with pytest.raises(OSError):
            folder.replace("../made.txt", b"x")
    assert sorted(os.listdir(tmp_path)) == ["project", "secret.txt"]


def test_a_folder_replaces_whole_files_and_keeps_their_mode(project: Path) -> None:
    (project / "sub" / "file.txt").chmod(0o640)
    with Folder.at(str(project)) as folder:
        folder.replace("sub/file.txt", b"new")
        assert folder.make_folder("a/b/c")
        assert not folder.make_folder("a/b/c")
        folder.replace("a/b/c/d.txt", b"deep", perm=0o600)
        assert folder.read("a/b/c/d.txt", 100) == b"deep"
        found = folder.status("sub/file.txt")
        assert found is not None and stat.S_IMODE(found.st_mode) == 0o640
        assert folder.listing("sub") == ["file.txt"]
        assert folder.remove("sub/file.txt") and not folder.remove("sub/file.txt")
        assert folder.status("sub/file.txt") is None and folder.listing("nowhere") == []


def test_replacing_a_link_replaces_the_link_itself(project: Path, tmp_path: Path) -> None:
    (project / "link").symlink_to(tmp_path / "secret.txt")
    with Folder.at(str(project)) as folder:
        folder.replace("link", b"mine")
    assert (tmp_path / "secret.txt").read_text() == "outside"
    assert (project / "link").read_bytes() == b"mine"


def test_derived_data_has_a_private_folder_for_each_real_path(project: Path, tmp_path: Path) -> None:
    home = str(tmp_path / "home")
    (tmp_path / "link").symlink_to(project)
    first = derived_folder(str(project), home)
    assert first == derived_folder(str(tmp_path / "link"), home)
    assert first != derived_folder(str(tmp_path), home)
    assert stat.S_IMODE(os.stat(first).st_mode) == 0o700
    assert os.path.basename(first).startswith("project-")
    assert "/" not in project_id("/") and project_id("/").startswith("root-")


def test_without_a_home_derived_data_is_private_and_temporary(project: Path, tmp_path: Path) -> None:
    (tmp_path / "home").write_text("a file in its place")
    folder = derived_folder(str(project), str(tmp_path / "home"))
    assert stat.S_IMODE(os.stat(folder).st_mode) == 0o700
    assert folder == derived_folder(str(project), str(tmp_path / "home"))


def test_what_a_killed_process_borrowed_is_cleared_by_the_next(tmp_path: Path) -> None:
    code = (
        "import os, sys; from nebula.files.home import derived_folder\n"
        "print(derived_folder('/', sys.argv[1]), flush=True)\n"
        "if len(sys.argv) > 2: os.kill(os.getpid(), 9)"
    )
    (tmp_path / "home").write_text("a file in its place")

    def borrow(*more: str) -> str:
        argv = [sys.executable, "-c", code, str(tmp_path / "home"), *more]
        return subprocess.run(argv, capture_output=True, text=True, env={"TMPDIR": str(tmp_path)}).stdout.strip()

    left = borrow("and die")
    assert os.path.isdir(left)
    assert borrow() != left
    assert not [name for name in os.listdir(tmp_path) if name.startswith("nebula-")]


def test_only_our_own_databases_are_opened(tmp_path: Path) -> None:
    path = str(tmp_path / "ours.db")
    connect(path, application_id=7, version=1).close()
    connection = connect(path, application_id=7, version=1)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(ForeignDatabase, match="newer"):
        connect(path, application_id=7, version=1)
    foreign = sqlite3.connect(tmp_path / "foreign.db")
    foreign.execute("CREATE TABLE t (x)")
    foreign.close()
    with pytest.raises(ForeignDatabase, match="another program"):
        connect(str(tmp_path / "foreign.db"), application_id=7, version=1)


# Databases


def full_database(path: Path) -> sqlite3.Connection:
    """One that has no room for more."""
    connection = connect(str(path), application_id=7, version=1)
    connection.execute("CREATE TABLE t (x)")
    connection.execute("PRAGMA max_page_count = 4")
    return connection


def test_a_full_disk_is_what_a_transaction_reports_and_the_next_one_works(tmp_path: Path) -> None:
    connection = full_database(tmp_path / "a.db")
    with pytest.raises(sqlite3.OperationalError, match="full"), transaction(connection):
        connection.execute("INSERT INTO t VALUES (1)")
        connection.executemany("INSERT INTO t VALUES (?)", [(b"x" * 5_000,)] * 9)
    with transaction(connection):
        connection.execute("INSERT INTO t VALUES (2)")
    assert connection.execute("SELECT x FROM t").fetchall() == [(2,)]
    connection.close()


def test_a_transaction_that_cannot_be_committed_does_not_stay_open(tmp_path: Path) -> None:
    connection = connect(str(tmp_path / "a.db"), application_id=7, version=1)
    connection.execute("PRAGMA foreign_keys = ON")
    connection.execute("CREATE TABLE a (id INTEGER PRIMARY KEY)")
    connection.execute("CREATE TABLE b (a INTEGER REFERENCES a DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(sqlite3.IntegrityError), transaction(connection):
        connection.execute("INSERT INTO b VALUES (1)")
    with transaction(connection):
        connection.execute("INSERT INTO a VALUES (1)")
    connection.close()


def test_what_stands_in_a_schema_may_call_nothing_dangerous(tmp_path: Path) -> None:
    connection = connect(str(tmp_path / "a.db"), application_id=7, version=1)
    assert connection.execute("PRAGMA trusted_schema").fetchone() == (0,)
    connection.create_function("reach_out", 0, lambda: 1)
    connection.execute("CREATE VIEW v AS SELECT reach_out()")
    with pytest.raises(sqlite3.OperationalError, match="unsafe"):
        connection.execute("SELECT * FROM v")
    connection.close()


@pytest.mark.parametrize("mask", [0, 0o022, 0o077])
def test_the_home_is_private_whatever_the_umask_says(tmp_path: Path, mask: int) -> None:
    home = tmp_path / "home" / ".nebula"
    home.parent.mkdir()
    before = os.umask(mask)
    try:
        folder = derived_folder(str(tmp_path), str(home))
    finally:
        os.umask(before)
    for each in (home, home / "projects", Path(folder)):
        assert stat.S_IMODE(each.stat().st_mode) == 0o700, each
