"""Hostile commands, as root (where the tests are) and as an ordinary user, with the upper side in memory and, as on an older
kernel that has no Landlock either, on disk: nothing outside the layer changes, nothing secret is read, everything ends."""

from __future__ import annotations

import ctypes
import hashlib
import os
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_rig import CommandServer, Outcome, Tree, command_server, hostile_commands, shared_memory, tree

pytestmark = pytest.mark.slow
ORDINARY_USER = 54321
WATCHED = (
    "/etc/passwd",
    "/etc/group",
    "/usr/bin/git",
    "/bin/sh",
    "/dev/null",
    "/proc/sys/kernel/core_pattern",
    "/proc/sys/kernel/hostname",
)
LIMITS = {
    "timeout_s": 60.0,
    "memory_bytes": 400 << 20,
    "processes": 60,
    "layer_bytes": 24 << 20,
    "output_bytes": 100_000,
}
ENDED_BY = {
    "fork bomb": {"processes", "time"},
    "memory bomb": {"memory"},
    "memory bomb by many": {"memory"},
    "fill the project": {"layer"},
    "fill the temporary folder": {"layer"},
    "fill shared memory": {"layer"},
    "files without end": {"layer"},
    "huge output": {"time"},
    "memory of nobody": {"memory"},
    "memory of a segment": {"memory"},
    "room of deleted files": {"layer"},
    "large by holes": {"layer"},
    "large by names": {"layer"},
}
"""The limit that ends what has no end; nothing of it is proposed."""
REFUSED = {
    "a pipe for the reader": [["p", "fifo"], ["src/pipe", "fifo"]],
    "a socket for the reader": [["sock", "socket"]],
    "nebula settings": [[".nebula", "hidden"]],
    "own set-user-ID program": [["rootsh", "set-user-ID"]],
}
"""Odd things that are named, and never proposed."""


@dataclass
class Place:
    """A user's machine: a project, a home, a folder beside it, a process, servers."""

    server: CommandServer
    folder: Path
    env: dict[str, str]
    listeners: list[socket.socket]
    bystander: subprocess.Popen[bytes]
    on_disk: bool
    before: tuple[Tree, dict[str, object]] | None = None

    @property
    def project(self) -> Path:
        return self.folder / "project"

    def state(self) -> tuple[Tree, dict[str, object]]:
        system: dict[str, object] = {path: fingerprint(path) for path in WATCHED}
        mounts = Path("/proc/self/mountinfo").read_text("utf-8")
        return tree(self.folder), {**system, "mounts": mounts, "alive": self.bystander.poll()}

    def run(self, name: str, line: str) -> Outcome:
        exports = " ".join(f"{key}='{value}'" for key, value in self.env.items())
        limits = LIMITS | ({"timeout_s": 1.0} if name in hostile_commands.UNTIL_TIME_IS_OVER else {})
        with shared_memory(alone=name in hostile_commands.MUCH_SHARED):
            return self.server.run(self.project, f"export {exports}\n{line}", limits=limits)


USERS = sorted({os.geteuid(), ORDINARY_USER if os.geteuid() == 0 else os.geteuid()})


@pytest.fixture(scope="module", params=[f"{uid} {side}" for uid in USERS for side in ("memory", "disk")])
def place(request: pytest.FixtureRequest) -> Iterator[Place]:
    user, side = request.param.split()
    uid = int(user)
    mark = f"bystander-{os.getpid()}-{uid}"
    with tempfile.TemporaryDirectory(prefix="layer-") as name:
        folder = Path(os.path.realpath(name))
        fill(folder)
        listeners = [socket.create_server(("127.0.0.1", 0)), listener(str(folder / "outside/outside.sock"))]
        listeners += [listener(str(folder / "project/project.sock")), listener(f"\0abstract-{mark}")]
        for path in (folder, *folder.rglob("*")):
            os.chown(path, uid, uid, follow_symlinks=False)
        bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True, user=uid)
        segment = 0x1000000 + os.getpid()
        made = ctypes.CDLL(None).shmget(segment, 4096, 0o1666)
        env = {
            "OUTSIDE": str(folder / "outside"),
            "HOST_PID": str(bystander.pid),
            "MARK": mark,
            "PORT": str(listeners[0].getsockname()[1]),
            "SOCKET": str(folder / "outside/outside.sock"),
            "ABSTRACT": f"abstract-{mark}",
            "SEGMENT": hex(segment),
        }
        secret = {"OPENAI_API_KEY": "canary", "SSH_AUTH_SOCK": env["SOCKET"]}
        try:
            with command_server(uid, folder / "home", on_disk=side == "disk", **secret) as server:
                server.run(folder / "project", "true")  # makes the folder for layers, where there is to be one
                yield Place(server, folder, env, listeners, bystander, side == "disk")
        finally:
            ctypes.CDLL(None).shmctl(made, 0, None)
            bystander.kill()
            bystander.wait()
            for each in listeners:
                each.close()


def fill(folder: Path) -> None:
    files = {
        "project/README.md": "# project\n",
        "project/src/app.py": "print(1)\n",
        "project/.env": "KEY=canary\n",
        "project/deploy/server.pem": "canary\n",
        "project/.nebula/log.txt": "canary\n",
        "outside/precious": "canary\n",
        "home/.ssh/id_rsa": "canary\n",
        "home/.aws/credentials": "canary\n",
        "home/.nebula/memory.db": "canary\n",
        "home/.bashrc": "# canary\n",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1"}
    for words in (
        ["init", "-q"],
        ["remote", "add", "origin", "https://u:canary@example.com/x"],
        ["add", "README.md", "src"],
    ):
        subprocess.run(["git", *words], cwd=folder / "project", check=True, env=env)


def listener(address: str) -> socket.socket:
    made = socket.socket(socket.AF_UNIX)
    made.bind(address)
    made.listen()
    return made


def fingerprint(path: str) -> tuple[object, ...]:
    found = os.stat(path)
    number = 0 if path.startswith("/proc/") else found.st_ino  # there it is another one when memory was short
    content = hashlib.sha256(Path(path).read_bytes()).hexdigest() if os.path.isfile(path) else ""
    return found.st_mode, found.st_uid, number, content, found.st_mtime_ns if path.startswith("/etc") else 0


@pytest.mark.parametrize("name", hostile_commands.ALL)
def test_a_hostile_command_does_no_harm(place: Place, name: str) -> None:
    before = place.before or place.state()
    place.before = None
    outcome = place.run(name, hostile_commands.ALL[name])
    after = place.state()
    assert after == before
    place.before = after  # of the next command, so that nobody looks through all of it twice
    assert "canary" not in outcome.output, outcome.output
    assert "HOLE" not in outcome.output, outcome.output
    assert children_of(place.server.pid) == []
    for each in place.listeners:
        each.setblocking(False)
        with pytest.raises(BlockingIOError):
            each.accept()
    assert not [path for path in outcome.paths if path.startswith((".nebula", ".git/", "../", "/"))]
    if name in ENDED_BY:
        assert outcome.exit_code is None and outcome.stopped in ENDED_BY[name] and outcome.paths == []
    assert outcome.refused == REFUSED.get(name, outcome.refused)


def test_the_table_is_long_enough() -> None:
    assert len(hostile_commands.ALL) >= 60 and {*ENDED_BY, *REFUSED} <= {*hostile_commands.ALL}


def children_of(pid: int) -> list[str]:
    """What the server started and has not ended, with all that was started by it."""
    return Path(f"/proc/{pid}/task/{pid}/children").read_text("ascii").split()


def test_hooks_and_settings_of_git_are_named(place: Place) -> None:
    assert place.run("", hostile_commands.PLANTING["a hook"]).git == ["hook .git/hooks/pre-commit"]
    assert place.run("", hostile_commands.PLANTING["git settings"]).git == ["config .git/config"]


def test_deleting_secrets_is_known_as_such(place: Place) -> None:
    outcome = place.run("", hostile_commands.DELETING["delete the project"])
    assert outcome.secret == [".env", "deploy/server.pem"]
    assert outcome.git == ["repository .git"]


def test_with_network_the_machine_is_reached_but_abstract_sockets_are_not(place: Place) -> None:
    """These only where the kernel has Landlock; `nebula doctor` says so."""
    line = f"export PORT={place.env['PORT']} ABSTRACT={place.env['ABSTRACT']}\n"
    line += "exec 3<>/dev/tcp/127.0.0.1/$PORT && echo reached; " + hostile_commands.NETWORK["abstract socket"]
    outcome = place.server.run(place.project, line, network=True)
    assert outcome.output.startswith("reached\n")
    assert ("HOLE" in outcome.output) == place.on_disk
    for each in place.listeners[:: 3 if place.on_disk else 4]:
        each.setblocking(True)
        each.accept()[0].close()
