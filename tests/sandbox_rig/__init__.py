"""What tests of the layer share: trees as values, a change set applied, commands run as another user."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nebula
from nebula.sandbox.contract import ChangeSet
from nebula.sandbox.layer import Layer

Tree = dict[str, tuple[Any, ...]]


def tree(folder: str | Path) -> Tree:
    """Every path with its kind, permission bits and content; a link's target."""
    found: Tree = {}
    for here, folders, files in os.walk(os.fsencode(folder)):
        for name in folders + files:
            path = os.path.join(here, name)
            status = os.lstat(path)
            key = os.fsdecode(os.path.relpath(path, os.fsencode(folder)))
            mode = stat.S_IMODE(status.st_mode)
            if stat.S_ISLNK(status.st_mode):
                found[key] = "link", os.fsdecode(os.readlink(path))
            elif stat.S_ISDIR(status.st_mode):
                found[key] = "folder", mode
            elif stat.S_ISREG(status.st_mode):
                found[key] = "file", mode, Path(os.fsdecode(path)).read_bytes()
            else:
                found[key] = "odd", status.st_mode
    return found


def apply(changes: ChangeSet, layer: Layer, folder: Path) -> None:
    """As the contract says: deletions first, deepest paths first, then the rest in order."""
    every = [*changes.changes, *changes.git_files]
    for change in sorted((each for each in every if each.kind == "deleted"), key=lambda each: each.path, reverse=True):
        place = folder / change.path
        if change.before is not None and change.before.kind == "folder":
            place.rmdir()
        else:
            place.unlink()
    for change in sorted((each for each in every if each.kind != "deleted"), key=lambda each: each.path):
        place, after = folder / change.path, change.after
        assert after is not None
        if after.kind == "folder":
            place.mkdir(exist_ok=change.before is not None)
        elif after.kind == "link":
            place.unlink(missing_ok=True)
            os.symlink(after.target or "", place)
        elif change.kind != "mode":
            if place.is_symlink():
                place.unlink()
            content = layer.read(change.path)
            assert len(content) == after.size
            place.write_bytes(content)
        if after.kind != "link":
            place.chmod(after.mode)


@dataclass(frozen=True)
class Outcome:
    exit_code: int | None
    stopped: str | None
    output: str
    paths: list[str]
    git: list[str]
    refused: list[list[str]]
    secret: list[str]


class CommandServer:
    """Runs commands in layers from a process of its own, perhaps as another user."""

    def __init__(self, argv: list[str], env: dict[str, str], user: dict[str, Any]) -> None:
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd="/", **user)

    @property
    def pid(self) -> int:
        return self._process.pid

    def run(self, root: Path, line: str, **options: Any) -> Outcome:
        assert self._process.stdin and self._process.stdout
        request = {"root": str(root), "line": line, **options}
        self._process.stdin.write(json.dumps(request).encode() + b"\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        assert answer, "the command server died"
        return Outcome(**json.loads(answer))

    def close(self) -> None:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait(60)


@contextmanager
def command_server(uid: int, home: Path, *, on_disk: bool, **env: str) -> Iterator[CommandServer]:
    """As this user, if that is not us: with a copy of the program that the user may read. `on_disk`: as on an older
    kernel, the upper sides lie in the user's home."""
    variables = {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(home), "LANG": "C.UTF-8", **env}
    with tempfile.TemporaryDirectory(prefix="layer-program-") as program:
        os.chmod(program, 0o755)
        python, user = sys.executable, as_user(uid)
        source = Path(nebula.__file__).parent
        variables["PYTHONPATH"] = str(source.parent)
        if user:
            shutil.copytree(source, Path(program, "nebula"), ignore=shutil.ignore_patterns("web", "demo", "server"))
            variables["PYTHONPATH"] = program
            python = python_for(uid)
        for name in ("serve_commands.py", "old_kernel.py"):
            shutil.copy(Path(__file__).parent / name, program)
        disk = [str(home / ".nebula")] if on_disk else []
        server = CommandServer([python, str(Path(program, "serve_commands.py")), *disk], variables, user)
        try:
            yield server
        finally:
            server.close()


def as_user(uid: int) -> dict[str, Any]:
    """Arguments for subprocess."""
    return {} if uid == os.geteuid() else {"user": uid, "group": uid, "extra_groups": []}


def python_for(uid: int) -> str:
    """An interpreter that this user may run: ours may lie in somebody's home."""
    for program in (sys.executable, "/usr/bin/python3", "/usr/local/bin/python3"):
        script = "import sys; print(sys.version_info >= (3, 11))"
        try:
            found = subprocess.run([program, "-c", script], capture_output=True, check=False, cwd="/", **as_user(uid))
        except OSError:
            continue
        if found.stdout == b"True\n":
            return program
    raise AssertionError("no Python 3.11 that another user may run")


@contextmanager
def shared_memory(*, alone: bool) -> Iterator[None]:
    """The machine's shared memory counts for every command that runs: whoever takes a lot of it waits for the others,
    those of another worker included."""
    with open(f"{tempfile.gettempdir()}/nebula-tests-shared-memory-{os.getuid()}", "a", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        yield
