"""The upper side on disk: private, bounded, and gone with its layer or swept up after it."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nebula.sandbox.command import run
from nebula.sandbox.contract import MIB, Command, CommandResult, Limits
from nebula.sandbox.disk import make_layer_folder
from nebula.sandbox.errors import SandboxError, Unavailable
from nebula.sandbox.launch import Launch
from nebula.sandbox.launcher import Launcher

HOLD = """
import sys
from nebula.sandbox.disk import make_layer_folder
held = make_layer_folder(*sys.argv[1:3])
print(held.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "nebula-home"


def layers_in(home: Path) -> list[Path]:
    return list(home.glob("projects/*/layers/*"))


def holder(home: Path, project: Path) -> subprocess.Popen[str]:
    """Another nebula with a layer; it says where."""
    words = [sys.executable, "-c", HOLD, str(home), str(project)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_a_layer_is_private_and_gone_when_it_is_closed(project: Path, home: Path) -> None:
    with run(Command(str(project), "mkdir -p d/e; echo x > d/e/f; chmod 000 d/e d", disk=str(home))) as done:
        (folder,) = layers_in(home)
        assert folder.parent.parent.name.startswith("project-")
        assert [stat.S_IMODE(path.stat().st_mode) for path in (folder.parent, folder)] == [0o700, 0o700]
        assert done.layer is not None and done.layer.read("d/e/f") == b"x\n"
    assert layers_in(home) == []


@pytest.mark.parametrize("line", ["exit 3", "cat /dev/zero > big"])
def test_nothing_is_left_of_one_that_failed_or_was_stopped(project: Path, home: Path, line: str) -> None:
    run(Command(str(project), line, Limits(layer_bytes=8 * MIB), disk=str(home)), read_back=False)
    assert layers_in(home) == []


def test_an_open_folder_is_made_private(project: Path, home: Path) -> None:
    make_layer_folder(str(home), str(project)).close()
    (folder,) = home.glob("projects/*/layers")
    folder.chmod(0o755)
    make_layer_folder(str(home), str(project)).close()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


@pytest.mark.slow
def test_what_a_killed_nebula_left_is_swept_up_and_a_running_ones_is_not(project: Path, home: Path) -> None:
    with holder(home, project) as killed, holder(home, project / "..") as running:
        assert killed.stdout and running.stdout
        orphan, in_use = Path(killed.stdout.readline().strip()), Path(running.stdout.readline().strip())
        (orphan / "upper" / "deep").mkdir(parents=True)
        (orphan / "upper" / "deep" / "file").write_text("left\n")
        (orphan / "upper" / "deep").chmod(0)
        os.kill(killed.pid, signal.SIGKILL)
        killed.wait()
        with holder(home, project) as third:
            assert third.stdout
            assert Path(third.stdout.readline().strip()).is_dir()
            assert (orphan.exists(), in_use.is_dir()) == (False, True)


@pytest.mark.slow
def test_the_first_process_of_a_layer_holds_it_too(project: Path, home: Path) -> None:
    """As long as anything of a killed nebula's command still writes, nobody takes its folder away."""
    seen = []

    def look(chunk: bytes) -> None:
        (folder,) = layers_in(home)
        locks = Path("/proc/locks").read_text("ascii")
        seen.append(sum(f":{folder.stat().st_ino} " in line for line in locks.splitlines()))

    run(Command(str(project), "echo x; sleep 0.1", disk=str(home)), on_output=look).close()
    assert seen == [2]


def full(project: Path, home: Path, line: str, mib: int = 16) -> CommandResult:
    limits = Limits(layer_bytes=mib * MIB, timeout_s=60)
    return run(Command(str(project), line, limits, disk=str(home)), read_back=False)


HIDDEN = "for n in {1..12}; do exec {open}>gone; rm gone; head -c 60M /dev/zero >&$open; done; sleep 60"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "mib"),
    [
        ("head -c 15M /dev/zero > a; head -c 15M /dev/zero > b", 16),
        ("head -c 15M /dev/zero > a; head -c 15M /dev/zero > b; sleep 60", 16),
        ("head -c 10M /dev/zero > a; head -c 10M /dev/zero > /tmp/b; sleep 60", 16),
        ("for n in {1..50}; do mkdir $n; touch $n/{1..100}; done; sleep 60", 16),
        (HIDDEN, 64),
        ("mkdir d; " + HIDDEN.replace("gone", "d/$n").replace("rm d/$n;", "chmod 300 d;"), 64),
    ],
    ids=["and ended", "and goes on", "half in memory", "small files", "deleted but open", "in a closed folder"],
)
def test_a_full_layer_ends_the_command(project: Path, home: Path, line: str, mib: int) -> None:
    done = full(project, home, line, mib)
    assert (done.exit_code, done.stopped) == (None, "layer")
    assert layers_in(home) == []


@pytest.mark.slow
def test_what_takes_no_room_does_not_count(project: Path, home: Path) -> None:
    """A sparse file, and one file under many names."""
    line = "truncate -s 15M a b c; head -c 8M /dev/zero > d; for n in {1..9}; do ln d $n; done; sleep 1.5; rm -f [1-9]"
    done = full(project, home, line)
    assert (done.exit_code, done.stopped) == (0, None), done.output


def test_a_home_inside_the_project_cannot_hold_its_layer(project: Path) -> None:
    with pytest.raises(SandboxError, match=r"cannot be inside the project\. Set NEBULA_HOME"):
        run(Command(str(project), "true", disk=str(project / ".nebula")))


@pytest.mark.parametrize("name", ["projects", "layers"])
def test_a_link_in_its_place_is_not_followed(project: Path, home: Path, tmp_path: Path, name: str) -> None:
    make_layer_folder(str(home), str(project)).close()
    (place,) = home.glob("projects/*/layers") if name == "layers" else [home / "projects"]
    elsewhere = place.rename(tmp_path / "elsewhere")
    place.symlink_to(elsewhere)
    before = sorted(elsewhere.rglob("*"))
    with pytest.raises(Unavailable):
        run(Command(str(project), "true", disk=str(home)))
    assert sorted(elsewhere.rglob("*")) == before


def test_a_folder_put_in_its_place_is_not_used(project: Path, home: Path) -> None:
    """Between its making and the mount, by whatever means."""
    folder = make_layer_folder(str(home), str(project))
    command = Command(str(project), "true", disk=str(home))
    Path(folder.path).rename(f"{folder.path}-moved")
    Path(folder.path).mkdir()
    with Launch(command, Launcher(), folder) as launch, os_folder(project) as root:
        launch.configure(root)
        with pytest.raises(Unavailable, match="Stale file handle"):
            launch.follow(None, None)
    folder.close()


@contextmanager
def os_folder(path: Path) -> Iterator[int]:
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    yield handle
    os.close(handle)
