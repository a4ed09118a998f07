"""What a write promises: whole, durable, alone, with the mode kept and no litter."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from file_history_rig import undo
from nebula.files.atomic import TEMPORARY_PREFIX
from nebula.files.digest import digest
from nebula.files.syscalls import Syscalls
from nebula.workspace import ABSENT, LocalWorkspace, Policy, WorkspaceError
from nebula.workspace.audit import AuditLog
from nebula.workspace.errors import AlreadyExists, Forbidden, Stale

Open = Callable[..., LocalWorkspace]
See = Callable[[], dict[str, bytes | None]]
Litter = Callable[[], list[str]]


def test_modes(workspace: LocalWorkspace, see: See) -> None:
    created = workspace.write_file("a/b.txt", "one\n")
    assert (created.path, created.before, created.size) == ("a/b.txt", None, 4)
    assert created.after == digest(b"one\n")
    with pytest.raises(AlreadyExists):
        workspace.write_file("a/b.txt", "two\n", "create")
    replaced = workspace.write_file("./a/b.txt", "two\n", "overwrite")
    assert (replaced.before, replaced.after) == (created.after, digest(b"two\n"))
    workspace.write_file("a/b.txt", "three\n", "append")
    workspace.write_file("new-by-overwrite.txt", "x", "overwrite")
    workspace.write_file("new-by-append.txt", "y", "append")
    assert see() == {
        "a": None,
        "a/b.txt": b"two\nthree\n",
        "new-by-append.txt": b"y",
        "new-by-overwrite.txt": b"x",
    }


@pytest.mark.parametrize("content", ["\ufeffbom\n", "a\r\nb\r\n", "mixed\r\n\n\r", "no end", "", "日本語\u2028\0tail"])
def test_bytes_go_in_and_come_out_unchanged(content: str, workspace: LocalWorkspace, root: Path) -> None:
    workspace.write_file("a.txt", content)
    assert (root / "a.txt").read_bytes() == content.encode()
    assert workspace.read_file("a.txt").content == content
    workspace.write_file("a.txt", "end", "append")
    assert workspace.read_file("a.txt").content == content + "end"


@pytest.mark.parametrize("mode", [0o755, 0o600, 0o664])
def test_mode_is_kept(mode: int, workspace: LocalWorkspace, root: Path) -> None:
    file = root / "run.sh"
    file.write_text("old")
    file.chmod(mode)
    workspace.write_file("run.sh", "new", "overwrite")
    workspace.write_file("run.sh", "er", "append")
    assert stat.S_IMODE(file.stat().st_mode) == mode
    assert file.read_text() == "newer"


def test_new_files_follow_the_umask(workspace: LocalWorkspace, root: Path) -> None:
    before = os.umask(0o027)
    try:
        workspace.write_file("folder/new.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((root / "folder/new.txt").stat().st_mode) == 0o640
    assert stat.S_IMODE((root / "folder").stat().st_mode) == 0o750
    assert stat.S_IMODE((root / ".nebula").stat().st_mode) == 0o700


def test_file_marked_read_only_stays(workspace: LocalWorkspace, root: Path) -> None:
    (root / "a.txt").write_text("old")
    (root / "a.txt").chmod(0o444)
    with pytest.raises(Forbidden):
        workspace.write_file("a.txt", "new", "overwrite")
    assert (root / "a.txt").read_text() == "old"


def test_other_name_of_a_hard_link_is_untouched(workspace: LocalWorkspace, root: Path) -> None:
    outside = root.parent / "outside.txt"
    outside.write_text("old")
    os.link(outside, root / "a.txt")
    workspace.write_file("a.txt", "new", "overwrite")
    assert outside.read_text() == "old"


class TestExpected:
    def test_write_is_bound_to_what_was_seen(self, workspace: LocalWorkspace, root: Path) -> None:
        (root / "a.txt").write_text("seen")
        seen = workspace.read_file("a.txt").sha256
        (root / "a.txt").write_text("changed by the user")
        for mode in ("overwrite", "append"):
            with pytest.raises(Stale):
                workspace.write_file("a.txt", "new", mode, expected=seen)  # type: ignore[arg-type]
        assert (root / "a.txt").read_text() == "changed by the user"
        now = workspace.check_write("a.txt", "overwrite")
        workspace.write_file("a.txt", "new", "overwrite", expected=now.expected)
        assert (root / "a.txt").read_text() == "new"

    def test_absent_means_still_absent(self, workspace: LocalWorkspace, root: Path) -> None:
        state = workspace.check_write("a.txt", "overwrite")
        assert (state.kind, state.expected) == ("missing", ABSENT)
        (root / "a.txt").write_text("made by the user")
        with pytest.raises(Stale):
            workspace.write_file("a.txt", "new", "overwrite", expected=state.expected)

    def test_gone_meanwhile(self, workspace: LocalWorkspace, root: Path) -> None:
        (root / "a.txt").write_text("seen")
        seen = workspace.read_file("a.txt").sha256
        (root / "a.txt").unlink()
        with pytest.raises(Stale):
            workspace.write_file("a.txt", "new", "overwrite", expected=seen)
        assert not (root / "a.txt").exists()


def test_check_write_says_what_write_would(workspace: LocalWorkspace, root: Path, open_at: Open, see: See) -> None:
    (root / "old.txt").write_text("old")
    small = open_at(Policy(max_bytes=5))
    for path, mode, content in (
        ("old.txt", "create", "x"),
        ("new.txt", "create", "x" * 6),
        ("old.txt", "append", "xyz"),
    ):
        with pytest.raises(WorkspaceError) as checked:
            small.check_write(path, mode, content)  # type: ignore[arg-type]
        with pytest.raises(WorkspaceError) as written:
            small.write_file(path, content, mode)  # type: ignore[arg-type]
        assert str(checked.value) == str(written.value)
    assert see() == {"old.txt": b"old"}
    assert workspace.check_write("old.txt", "overwrite", "x").sha256 == digest(b"old")


@pytest.mark.slow
def test_two_hundred_appends_give_two_hundred_lines(workspace: LocalWorkspace, root: Path) -> None:
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda number: workspace.write_file("log.txt", f"{number}\n", "append"), range(200)))
    assert sorted(map(int, (root / "log.txt").read_text().split())) == list(range(200))


@pytest.mark.slow
def test_appends_of_several_processes(root: Path) -> None:
    program = textwrap.dedent("""
        import sys
        from nebula.workspace import open_workspace
        workspace = open_workspace(sys.argv[1])
        for number in range(50):
            workspace.write_file("log.txt", f"{sys.argv[2]} {number}\\n", "append")
    """)
    writers = [subprocess.Popen([sys.executable, "-c", program, str(root), str(name)]) for name in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    lines = (root / "log.txt").read_text().splitlines()
    assert sorted(lines) == sorted(f"{name} {number}" for name in range(4) for number in range(50))


def test_exactly_one_creator_wins(workspace: LocalWorkspace, open_at: Open, root: Path) -> None:
    other = open_at()
    gate = threading.Barrier(8)

    def create(number: int) -> int:
        gate.wait()
        try:
            (workspace, other)[number % 2].write_file("one.txt", f"{number}", "create")
        except AlreadyExists:
            return 0
        return 1

    for _ in range(10):
        with ThreadPoolExecutor(8) as pool:
            assert sum(pool.map(create, range(8))) == 1
        (root / "one.txt").unlink()


@pytest.mark.slow
def test_readers_never_see_a_mixture(workspace: LocalWorkspace) -> None:
    contents = [letter * 100_000 for letter in "abc"]
    workspace.write_file("a.txt", contents[0])
    stop = threading.Event()

    def keep_writing() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            workspace.write_file("a.txt", contents[number % 3], "overwrite")

    writer = threading.Thread(target=keep_writing)
    writer.start()
    try:
        for _ in range(20_000):
            assert workspace.read_file("a.txt").content in contents
    finally:
        stop.set()
        writer.join()


class OutsiderIsFaster(Syscalls):
    """Another program, which knows nothing of our locks, makes the file in the last moment."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def link(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        if new_name == self.path.name and not self.path.exists():
            self.path.write_text("outsider's")
        super().link(name, dir_fd, new_name, new_dir_fd)


def test_outsiders_file_is_not_lost(open_at: Open, root: Path) -> None:
    workspace = open_at(calls=OutsiderIsFaster(root / "a.txt")).for_turn("t")
    with pytest.raises(AlreadyExists):
        workspace.write_file("a.txt", "ours", "create")
    assert (root / "a.txt").read_text() == "outsider's"
    assert workspace.history.changes("t") == []
    (root / "a.txt").unlink()
    assert workspace.write_file("a.txt", "ours", "overwrite").before == digest(b"outsider's")
    undo(workspace.history, "t")
    assert (root / "a.txt").read_text() == "outsider's"


class OtherFileSystem(Syscalls):
    """As if the root's folders were mounts: nothing can be moved there from the staging directory."""

    def __init__(self) -> None:
        self.staging = -1

    def _refuse_from_staging(self, dir_fd: int, new_dir_fd: int) -> None:
        origin, target = (os.readlink(f"/proc/self/fd/{fd}") for fd in (dir_fd, new_dir_fd))
        if origin.endswith("/staging") and "/.nebula" not in target:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))

    def rename(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        self._refuse_from_staging(dir_fd, new_dir_fd)
        self._refuse_from_staging(new_dir_fd, dir_fd)
        super().rename(name, dir_fd, new_name, new_dir_fd)

    def exchange(self, name: str, dir_fd: int, other: str, other_dir_fd: int) -> None:
        self._refuse_from_staging(dir_fd, other_dir_fd)
        super().exchange(name, dir_fd, other, other_dir_fd)

    def link(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        self._refuse_from_staging(dir_fd, new_dir_fd)
        super().link(name, dir_fd, new_name, new_dir_fd)


class NoHardLinks(Syscalls):
    def link(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))


class NoExchange(Syscalls):
    def exchange(self, name: str, dir_fd: int, other: str, other_dir_fd: int) -> None:
        raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the fault needs to know where descriptors point")
@pytest.mark.parametrize(
    "calls", [OtherFileSystem(), NoHardLinks(), NoExchange()], ids=["mount", "no links", "no exchange"]
)
def test_unusual_file_systems(calls: Syscalls, open_at: Open, see: See, litter: Litter) -> None:
    workspace = open_at(calls=calls)
    workspace.write_file("sub/a.txt", "one")
    with pytest.raises(AlreadyExists):
        workspace.write_file("sub/a.txt", "two")
    workspace.write_file("sub/a.txt", "two", "overwrite")
    assert see() == {"sub": None, "sub/a.txt": b"two"}
    assert litter() == []
    undo(workspace.history)
    assert see() == {}
    assert litter() == []


class TestLitter:
    def test_of_the_dead_is_swept(
        self, workspace: LocalWorkspace, open_at: Open, root: Path, litter: Litter, see: See
    ) -> None:
        workspace.write_file("sub/a.txt", "x")
        staging = root / ".nebula/journal/staging"
        (staging / f"{TEMPORARY_PREFIX}dead").write_text("half")
        (root / f"sub/{TEMPORARY_PREFIX}beside").write_text("half")
        (staging / f"{TEMPORARY_PREFIX}beside.beside").write_text(f"sub/{TEMPORARY_PREFIX}beside")
        open_at().write_file("b.txt", "y")
        assert litter() == []
        assert see() == {"b.txt": b"y", "sub": None, "sub/a.txt": b"x"}

    def test_of_the_living_and_of_strangers_stays(
        self, workspace: LocalWorkspace, open_at: Open, root: Path, litter: Litter
    ) -> None:
        import fcntl

        workspace.write_file("a.txt", "x")
        staging = root / ".nebula/journal/staging"
        (staging / "somebody-elses").write_text("?")
        with (staging / f"{TEMPORARY_PREFIX}alive").open("w") as living:
            fcntl.flock(living, fcntl.LOCK_EX)
            open_at().write_file("b.txt", "y")
            assert litter() == sorted([f"{TEMPORARY_PREFIX}alive", "somebody-elses"])

    def test_a_planted_note_removes_nothing_else(self, workspace: LocalWorkspace, open_at: Open, root: Path) -> None:
        workspace.write_file("a.txt", "x")
        staging = root / ".nebula/journal/staging"
        outside = root.parent / f"{TEMPORARY_PREFIX}n"
        outside.write_text("not ours")
        for name, target in (("m", "a.txt"), ("n", f"../{TEMPORARY_PREFIX}n")):
            (staging / f"{TEMPORARY_PREFIX}{name}.beside").write_text(target)
        open_at().write_file("b.txt", "y")
        assert (root / "a.txt").exists()
        assert outside.exists()


def test_project_state_is_private_and_ignored(workspace: LocalWorkspace, root: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    workspace.write_file("a.txt", "x")
    (root / ".nebula/graph").mkdir()
    (root / ".nebula/graph/node.xml").write_text("<node/>")
    (root / ".nebula/log.txt").write_text("log")
    listed = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard"], cwd=root, check=True, capture_output=True, text=True
    )
    assert listed.stdout.split() == ["a.txt"]


@pytest.mark.parametrize("planted", ["", "!*\n", "# nothing\n", "x" * 5000, "link", "fifo"])
def test_planted_ignore_rules_let_git_stage_nothing(planted: str, workspace: LocalWorkspace, root: Path) -> None:
    subprocess.run(["git", "init", "-q"], cwd=root, check=True)
    (root / ".nebula/journal").mkdir(parents=True)
    (root / ".nebula/journal/.gitignore").write_text("!*\n")
    (root / ".gitignore").write_text("!/.nebula/**\n!*.jsonl\n")
    rules = root / ".nebula/.gitignore"
    if planted == "link":
        (root / "rules").write_text("!*\n")
        rules.symlink_to("../rules")
    elif planted == "fifo":
        os.mkfifo(rules)
    else:
        rules.write_text(planted)
    for name in ("log.txt", "trace.jsonl", "audit.jsonl"):
        (root / ".nebula" / name).write_text("private")
    workspace.write_file("a.txt", "x")
    workspace.write_file("a.txt", "y", "overwrite")
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    listed = subprocess.run(["git", "ls-files"], cwd=root, check=True, capture_output=True, text=True).stdout.split()
    assert [name for name in listed if name != "rules"] == [".gitignore", "a.txt"]
    assert rules.is_file()
    assert not rules.is_symlink()


def test_a_planted_state_that_all_may_read_is_closed(workspace: LocalWorkspace, root: Path) -> None:
    shelves = [root / ".nebula/journal/objects" / digest(text)[:2] for text in (b"x", b"y")]
    for folder in (*shelves, root / ".nebula/journal/staging", root / ".nebula/journal/locks"):
        folder.mkdir(parents=True)
    (root / ".nebula/audit.jsonl").write_text("")
    for path in [root / ".nebula", *(root / ".nebula").rglob("*")]:
        path.chmod(0o777 if path.is_dir() else 0o666)
    workspace.write_file("a.txt", "x")
    workspace.write_file("a.txt", "y", "overwrite")
    AuditLog(str(root)).record("t", "write_file", "a.txt", 1, 200)
    folders = [root / ".nebula", *(path for path in (root / ".nebula").rglob("*") if path.is_dir())]
    assert [path.name for path in folders if path.stat().st_mode & 0o077] == []
    assert (root / ".nebula/audit.jsonl").stat().st_mode & 0o077 == 0


class Recorded(Syscalls):
    """Notes the order of what reaches the disk, with the names of the places."""

    def __init__(self) -> None:
        self.calls: list[str] = []

    def _note(self, what: str, fd: int, name: str = "") -> None:
        place = os.readlink(f"/proc/self/fd/{fd}").partition("/app")[2]
        self.calls.append(f"{what} {place}{'/' + name if name else ''}")

    def fsync(self, fd: int) -> None:
        self._note("fsync", fd)
        super().fsync(fd)

    def fsync_dir(self, fd: int) -> None:
        self._note("fsync", fd)
        super().fsync_dir(fd)

    def rename(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        self._note("rename", new_dir_fd, new_name)
        super().rename(name, dir_fd, new_name, new_dir_fd)

    def exchange(self, name: str, dir_fd: int, other: str, other_dir_fd: int) -> None:
        self._note("exchange", other_dir_fd, other)
        super().exchange(name, dir_fd, other, other_dir_fd)

    def link(self, name: str, dir_fd: int, new_name: str, new_dir_fd: int) -> None:
        self._note("link", new_dir_fd, new_name)
        super().link(name, dir_fd, new_name, new_dir_fd)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the order needs to know where descriptors point")
def test_power_loss_order(open_at: Open, root: Path) -> None:
    """Old content and record are on the disk before the file changes; file and folder before the caller hears."""
    (root / "a.txt").write_text("old")
    calls = Recorded()
    workspace = open_at(calls=calls)
    workspace.check_write("a.txt", "overwrite")
    calls.calls.clear()
    workspace.write_file("a.txt", "new", "overwrite")
    old = digest(b"old")
    kept = f"/.nebula/journal/objects/{old[:2]}"
    order = [
        call for call in calls.calls if digest(b"new")[2:] not in call and call != "fsync /.nebula/journal/objects"
    ]
    staged = next(call for call in order if "staging" in call)
    assert (
        order
        == [
            staged,  # the old content, in full
            f"link {kept}/{old[2:]}",
            f"fsync {kept}",
            "fsync /.nebula/journal/changes.jsonl",
            order[4],
            "exchange /a.txt",
            "fsync ",
        ]
    )
    assert staged.startswith("fsync /.nebula/journal/staging/")
    assert order[4].startswith("fsync /.nebula/journal/staging/")
