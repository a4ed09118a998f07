"""One line a request, whatever the request held, also when the log is rotated away."""

from __future__ import annotations

import json
import os
import resource
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from file_history_rig import undo
from nebula.workspace import LocalWorkspace
from nebula.workspace.audit import AuditLog
from nebula.workspace.errors import StorageFailed

Open = Callable[..., LocalWorkspace]


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def log(root: Path) -> AuditLog:
    return AuditLog(str(root))


@pytest.mark.parametrize("path", ["a\nb", '"}\n{"forged": 1}', "\ud800", "\x1b[2J", "x" * 5000, "日本\u2028"])
def test_a_line_is_a_line(path: str, root: Path, log: AuditLog) -> None:
    log.record("t", "read_file", path, None, 400)
    (line,) = lines(root / ".nebula/audit.jsonl")
    assert line["path"] == path[:1024]
    assert (root / ".nebula/audit.jsonl").read_bytes().isascii()


@pytest.mark.parametrize("again", [False, True], ids=["the same process", "the next one"])
def test_a_line_that_a_full_disk_cut_short_takes_no_other_with_it(again: bool, root: Path, log: AuditLog) -> None:
    path = root / ".nebula/audit.jsonl"
    log.record("t", "read_file", "before", None, 200)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 20, hard))
    try:
        with pytest.raises(StorageFailed):
            log.record("t", "read_file", "no room", None, 200)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    (AuditLog(str(root)) if again else log).record("t", "read_file", "after", None, 200)
    first, torn, last = path.read_text(encoding="utf-8").splitlines()
    assert (json.loads(first)["path"], len(torn), json.loads(last)["path"]) == ("before", 20, "after")


KEY = "my-own-key-of-no-known-shape"


@pytest.mark.parametrize(
    "key",
    [
        KEY,
        "sk-proj-0123456789abcdefABCDEF",
        "AIzaSyA0123456789abcdefghijklmnopqrstuv",
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-1234567890-abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-def",
    ],
)
def test_a_key_used_as_a_path_is_left_out(key: str, root: Path) -> None:
    log = AuditLog(str(root), secrets=[KEY])
    log.record("t", "read_file", f"src/{key}/x.py", None, 404)
    assert [line["path"] for line in lines(root / ".nebula/audit.jsonl")] == ["src/[redacted]/x.py"]


@pytest.mark.parametrize(
    "path", ["src/sk-learn/model.py", "docs/pk_list.md", "tests/ghp_test.py", "a/sketch-of-a-plan.md"]
)
def test_ordinary_paths_stay(path: str, root: Path, log: AuditLog) -> None:
    log.record("t", "read_file", path, 1, 200)
    assert [line["path"] for line in lines(root / ".nebula/audit.jsonl")] == [path]


def test_rotation(root: Path, log: AuditLog) -> None:
    file = root / ".nebula/audit.jsonl"
    log.record("t", "read_file", "1", 1, 200)
    file.rename(file.with_suffix(".1"))
    log.record("t", "read_file", "2", 1, 200)
    file.unlink()
    log.record("t", "read_file", "3", 1, 200)
    assert [line["path"] for line in lines(file)] == ["3"]
    assert [line["path"] for line in lines(file.with_suffix(".1"))] == ["1"]


def test_lines_of_many_threads_do_not_mix(root: Path, log: AuditLog) -> None:
    other = AuditLog(str(root))
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: (log, other)[n % 2].record("t", "read_file", f"{n} " * 200, n, 200), range(400)))
    assert sorted(int(str(line["size"])) for line in lines(root / ".nebula/audit.jsonl")) == list(range(400))


def test_where_the_user_wants_it(root: Path) -> None:
    place = root.parent / "logs/audit.jsonl"
    AuditLog("", str(place)).record("t", "read_file", "a", 1, 200)
    assert len(lines(place)) == 1


def test_planted_link_is_not_followed(root: Path) -> None:
    victim = root.parent / "victim"
    victim.write_text("precious")
    (root / ".nebula").mkdir()
    (root / ".nebula/audit.jsonl").symlink_to(victim)
    log = AuditLog(str(root))
    (root / ".nebula/audit.jsonl").unlink()
    os.mkfifo(root / ".nebula/audit.jsonl")
    log.record("t", "read_file", "a", 1, 200)
    assert len(lines(root / ".nebula/audit.jsonl")) == 1
    assert victim.read_text() == "precious"


def test_state_removed_under_a_running_session(root: Path, workspace: LocalWorkspace, log: AuditLog) -> None:
    workspace.write_file("a.txt", "x")
    log.record("t", "write_file", "a.txt", 1, 200)
    shutil.rmtree(root / ".nebula")
    workspace.write_file("a.txt", "y", "overwrite")
    log.record("t", "write_file", "a.txt", 1, 200)
    assert (root / "a.txt").read_text() == "y"
    assert len(lines(root / ".nebula/audit.jsonl")) == 1
    undo(workspace.history)
    assert (root / "a.txt").read_text() == "x"
