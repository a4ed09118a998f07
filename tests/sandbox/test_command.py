"""A command in a layer: what it gets, what it gives back, what ends it."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import pytest

import sandbox_rig
from marked_processes import a_mark, processes_with
from nebula.sandbox.command import Stop, run
from nebula.sandbox.contract import MIB, Command, CommandResult, Limits
from nebula.sandbox.environment import TOOLS, certificates
from nebula.sandbox.errors import SandboxError
from nebula.sandbox.launcher import Launchers
from sandbox_rig import command_server


def ran(project: Path, line: str, **limits: float) -> CommandResult:
    result = run(Command(str(project), line, Limits(**limits)), read_back=False)  # type: ignore[arg-type]
    assert not os.path.exists(project / "outside")
    return result


def test_exit_code_and_output(project: Path) -> None:
    done = ran(project, "cat hello.txt; echo problem >&2; exit 3")
    assert (done.exit_code, done.stopped, done.output) == (3, None, "hello\nproblem\n")


def test_a_signal_is_an_exit_code_as_in_a_shell(project: Path) -> None:
    assert ran(project, "kill -TERM $$").exit_code == 128 + 15


def test_the_command_is_a_line_of_bash(project: Path) -> None:
    assert ran(project, "[[ a == a ]] && echo {1..3} | tr ' ' -").output == "1-2-3\n"


def test_it_stands_in_the_project_under_its_own_path(project: Path) -> None:
    assert ran(project, "pwd").output == f"{project}\n"


def test_a_project_may_lie_in_the_other_temporary_folder() -> None:
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        done = ran(Path(folder), "pwd; echo x > own.txt; echo y > /var/tmp/a; ls /tmp")
        assert done.output.split()[:2] == [folder, "a"] and not os.listdir(folder)


def test_output_arrives_while_the_command_runs(project: Path) -> None:
    arrived: list[bytes] = []
    stop = Stop()

    def take(chunk: bytes) -> None:
        arrived.append(chunk)
        stop.set()

    done = run(Command(str(project), "echo one; sleep 60; echo two"), on_output=take, stop=stop)
    stop.close()
    assert (b"".join(arrived), done.stopped) == (b"one\n", "cancelled")


def test_long_output_keeps_both_ends(project: Path) -> None:
    done = ran(project, "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last", output_bytes=1000)
    assert done.output.startswith("first\nxxx") and done.output.endswith("xxx\nlast\n")
    assert "[… 2999012 bytes left out …]" in done.output


def test_output_of_exactly_the_limit_is_whole(project: Path) -> None:
    assert ran(project, "printf %s 0123456789", output_bytes=10).output == "0123456789"


@pytest.mark.parametrize(("line", "problem"), [("echo " + "x" * 200_000, "too long"), ("echo \0", "null byte")])
def test_a_line_that_cannot_be_started(project: Path, line: str, problem: str) -> None:
    done = ran(project, line)
    assert done.exit_code == 127 and problem in done.output


def test_a_fault_of_our_own_is_shown(project: Path) -> None:
    with pytest.raises(SandboxError, match="TypeError"):
        ran(project, "true", layer_bytes="many")  # type: ignore[arg-type]


def test_the_environment_is_a_short_list(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    monkeypatch.setenv("LD_PRELOAD", "")
    for name in TOOLS:
        monkeypatch.setenv(name, "no folder")
    for name in certificates(os.environ):
        monkeypatch.setenv(name, "/no/such/file")
    names = {line.partition("=")[0] for line in ran(project, "env").output.splitlines()}
    assert names <= {
        "PATH", "LANG", "LANGUAGE", "LC_ALL", "TZ", "USER", "LOGNAME", "HOME", "SHELL", "TERM", "TMPDIR", "PWD", "SHLVL",
        "_", "LC_CTYPE", "RUSTUP_AUTO_INSTALL",
    }  # fmt: skip


def test_the_walls_do_not_stand_in_the_way_of_ordinary_work(project: Path) -> None:
    program = str(Path(sandbox_rig.__file__).parent / "ordinary_work.py")
    done = run(Command(str(project), f"/usr/bin/python3 {program}", read_only=(program,)), read_back=False)
    assert done.output.splitlines() == [
        "pool 100",
        "semaphore",
        "shared memory",
        "sqlite wal",
        "asyncio child",
        "temporary folder True",
        "debug True",
        "nicer by 5",
        "git b'?? hello.txt\\n'",
    ]


def test_loopback_works_for_the_command_itself(project: Path) -> None:
    script = (
        "import socket, threading\ns = socket.create_server(('127.0.0.1', 0))\n"
        "threading.Thread(target=lambda: s.accept()[0].sendall(b'pong')).start()\n"
        "print(socket.create_connection(s.getsockname()).recv(4))\n"
    )
    (project / "talk.py").write_text(script)
    assert ran(project, "/usr/bin/python3 talk.py").output == "b'pong'\n"


def test_terminals_can_be_made(project: Path) -> None:
    line = "/usr/bin/python3 -c \"import pty; pty.spawn(['/bin/echo', 'from a terminal'])\""
    assert "from a terminal" in ran(project, line).output


def test_the_home_is_empty_but_for_what_is_listed(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "home"
    (home / ".cargo").mkdir(parents=True)
    (home / ".cargo" / "config").write_text("listed\n")
    (home / ".gitconfig").write_text("[user]\n\tname = Somebody\n")
    (home / "diary").write_text("private\n")
    monkeypatch.setenv("HOME", str(home))
    listed = (str(home / ".cargo"), str(home / ".gitconfig"))
    line = "cd; ls -A; cat .cargo/config; git config user.name; echo x > .cargo/config; echo x > new && ls new"
    done = run(Command(str(project), line, read_only=listed), read_back=False)
    assert done.output.splitlines()[:4] == [".cargo", ".gitconfig", "listed", "Somebody"]
    assert "Read-only file system" in done.output and done.output.endswith("new\n")
    assert sorted(each.name for each in home.iterdir()) == [".cargo", ".gitconfig", "diary"]


def test_time_ends_it_with_all_its_children(project: Path) -> None:
    mark = a_mark()
    done = ran(project, f"(sleep 1000; : {mark}) & setsid sleep 1000 & wait", timeout_s=0.3)
    assert (done.exit_code, done.stopped) == (None, "time")
    assert processes_with(mark) == []


def test_a_background_process_does_not_outlive_the_command(project: Path) -> None:
    mark = a_mark()
    line = f"(setsid sh -c 'trap \"\" HUP TERM; : {mark}; sleep 1000' &) ; echo started"
    assert ran(project, line).output == "started\n"
    assert processes_with(mark) == []


def test_memory_ends_it(project: Path) -> None:
    line = "/usr/bin/python3 -c 'x = [bytearray(8 << 20) for _ in range(1000)]; input()'"
    done = ran(project, line, memory_bytes=200 * MIB, timeout_s=60)
    assert (done.exit_code, done.stopped) == (None, "memory")


@pytest.mark.slow  # it waits until nobody else measures shared memory, and takes a lot of it
def test_shared_memory_that_another_program_takes_for_a_moment_does_not_end_it(project: Path) -> None:
    taking = (
        "import os, time; file = os.memfd_create('taken'); "
        "[os.write(file, bytes(1 << 24)) for _ in range(80)]; time.sleep(1)"
    )
    with sandbox_rig.shared_memory(alone=True):
        other = threading.Timer(0.3, subprocess.run, [[sys.executable, "-c", taking]])
        other.start()
        done = ran(project, "sleep 4; echo done", memory_bytes=200 * MIB, timeout_s=60)
        other.join()
    assert (done.exit_code, done.stopped, done.output) == (0, None, "done\n")


@pytest.mark.slow
def test_shared_memory_that_nobody_is_seen_to_hold_ends_it_when_it_stays(project: Path) -> None:
    in_a_message = (
        "import os, socket, time; ours, theirs = socket.socketpair(); file = os.memfd_create('hidden')\n"
        "for _ in range(80): os.write(file, bytes(1 << 24))\n"
        "socket.send_fds(ours, [b'x'], [file]); os.close(file); time.sleep(50)"
    )
    with sandbox_rig.shared_memory(alone=True):
        done = ran(project, f'/usr/bin/python3 -c "{in_a_message}"', memory_bytes=200 * MIB, timeout_s=30)
    assert (done.exit_code, done.stopped) == (None, "memory")


IN_SOCKETS = """
import socket, sys, time
held, kept, wanted = 0, [], int(sys.argv[2]) << 20
def full(end):
    global held
    end.setblocking(False)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 23)
    try:
        while held < wanted: held += end.send(bytes(1 << 16))
    except BlockingIOError: pass
listener = socket.create_server(("127.0.0.1", 0))
while held < wanted:
    pair = socket.socketpair() if sys.argv[1] == "unix" else (
        socket.create_connection(listener.getsockname()), listener.accept()[0])
    full(pair[0])
    if sys.argv[1] == "unix" and sys.argv[3:]: pair[0].close()
    kept.append(pair)
print("held", flush=True)
time.sleep(float(sys.argv[2]) / 100)
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", ["tcp {}", "unix {}", "unix {} closed"])
def test_memory_in_its_sockets_ends_it(project: Path, how: str) -> None:
    (project / "hold.py").write_text(IN_SOCKETS)
    done = ran(project, f"/usr/bin/python3 hold.py {how.format(50)}", memory_bytes=200 * MIB, timeout_s=60)
    assert (done.exit_code, done.stopped, done.output) == (0, None, "held\n")
    done = ran(project, f"/usr/bin/python3 hold.py {how.format(400)}", memory_bytes=200 * MIB, timeout_s=60)
    assert (done.exit_code, done.stopped) == (None, "memory")


def test_too_many_processes_end_it(project: Path) -> None:
    done = ran(project, "while :; do sleep 100 & done", processes=40, timeout_s=60)
    assert (done.exit_code, done.stopped) == (None, "processes")


MANY_THREADS = (
    "import threading; threading.stack_size(1 << 16); leave = threading.Event(); made = []\n"
    "while len(made) < {wanted}:\n"
    "    made.append(threading.Thread(target=leave.wait))\n"
    "    try: made[-1].start()\n"
    "    except RuntimeError: made.pop(); break\n"
    "print(len(made)); leave.set()"
)


def test_threads_are_no_processes_and_have_a_bound_of_their_own(project: Path) -> None:
    done = ran(project, f'/usr/bin/python3 -c "{MANY_THREADS.format(wanted=1000)}"', processes=400)
    assert (done.exit_code, done.output) == (0, "1000\n"), "as many as a server's test suite has"
    done = ran(project, f'/usr/bin/python3 -c "{MANY_THREADS.format(wanted=2000)}"', processes=40)
    assert done.exit_code == 0 and int(done.output) <= 40 * 8 + 16


def test_a_full_layer_ends_it_and_proposes_nothing(project: Path) -> None:
    done = run(Command(str(project), "cat /dev/zero > big; sleep 60", Limits(layer_bytes=8 * MIB, timeout_s=60)))
    assert (done.exit_code, done.stopped, done.changes.paths) == (None, "layer", ())


def test_stop_from_another_thread(project: Path) -> None:
    stop = Stop()
    threading.Timer(0.3, stop.set).start()
    done = run(Command(str(project), "sleep 1000"), stop=stop)
    stop.close()
    assert (done.exit_code, done.stopped) == (None, "cancelled")


def test_an_error_in_the_callback_ends_the_command(project: Path) -> None:
    mark = a_mark()

    def fail(chunk: bytes) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        run(Command(str(project), f"echo x; sleep 1000; : {mark}"), on_output=fail)
    assert processes_with(mark) == []


def test_many_at_once_in_threads(project: Path) -> None:
    results: list[str] = []

    def work(number: int) -> None:
        with run(Command(str(project), f"echo {number} > mine; cat mine")) as done:
            results.append(done.output + str(done.changes.paths))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [f"{number}\n('mine',)" for number in range(8)]


def test_no_descriptor_is_left_open(project: Path) -> None:
    def descriptors() -> int:
        return len(os.listdir("/proc/self/fd"))

    ran(project, "true")
    before = descriptors()
    for line in ("echo x > new", "exit 1"):
        run(Command(str(project), line)).close()
    ran(project, "sleep 100", timeout_s=0.1)
    assert descriptors() <= before


def test_the_whole_machine_is_no_project() -> None:
    with pytest.raises(SandboxError, match="/ cannot be a project"):
        run(Command("/", "true"))


def test_a_project_that_is_not_there() -> None:
    with pytest.raises(SandboxError, match="/nowhere/at/all cannot be opened: No such file or directory"):
        run(Command("/nowhere/at/all", "true"))


def test_a_file_system_mounted_inside_the_project_is_named(project: Path) -> None:
    (project / "data").mkdir()
    script = (
        "import sys\nfrom nebula.sandbox.command import run\nfrom nebula.sandbox.contract import Command\n"
        "try: run(Command(sys.argv[1], 'true'))\nexcept Exception as error: print(error)"
    )
    line = 'mount -t tmpfs x "$1/data" && "$0" -c "$2" "$1"'
    words = ["unshare", "-Urm", "sh", "-c", line, sys.executable, str(project), script]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(f"A file system is mounted inside the project, at {project}/data")


@pytest.mark.parametrize("name", ["two words", "a,b:c\\d=e", "日本語", "line\nbreak", "bytes-\udcff", "'\"$(id)"])
def test_a_project_under_any_name(project: Path, name: str) -> None:
    odd = project.rename(project.parent / name)
    with run(Command(str(odd), "echo x > new; cat hello.txt; pwd > place")) as done:
        assert (done.output, done.changes.paths) == ("hello\n", ("new", "place"))
        assert done.layer is not None and done.layer.read("place") == os.fsencode(f"{odd}\n")


def test_a_project_behind_a_link(project: Path) -> None:
    (project.parent / "link").symlink_to(project)
    with run(Command(str(project.parent / "link"), "pwd; echo x > new")) as done:
        assert (done.output, done.changes.paths) == (f"{project}\n", ("new",))


def test_what_is_closed_to_everyone_comes_back(project: Path) -> None:
    (project / "kept").mkdir()
    (project / "kept" / "old").write_text("old\n")
    line = "mkdir -p d/e; echo x > d/e/f; chmod 000 d/e/f d/e d; echo y > kept/new; chmod 000 kept/* kept; chmod 100 ."
    with run(Command(str(project), line)) as done:
        modes = {change.path: change.after.mode for change in done.changes.changes if change.after is not None}
        assert modes == dict.fromkeys(["d", "d/e", "d/e/f", "kept", "kept/new", "kept/old"], 0)
        assert done.layer is not None
        assert (done.layer.read("d/e/f"), done.layer.read("kept/new")) == (b"x\n", b"y\n")


def test_the_folder_of_nebula_itself_is_covered(project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nebula-home").mkdir()
    (tmp_path / "nebula-home" / "memory.db").write_text("canary\n")
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "nebula-home"))
    done = run(Command(str(project), "ls -A ../nebula-home", read_only=(str(tmp_path),)), read_back=False)
    assert (done.exit_code, done.output) == (0, "")


def test_as_root_it_works_as_the_owner_of_the_project(project: Path) -> None:
    uid = 54321 if os.geteuid() == 0 else os.geteuid()
    for path in (project, project / "hello.txt"):
        os.chown(path, uid, os.getegid() if uid == os.geteuid() else uid)
    (project / "hello.txt").chmod(0o600)
    with run(
        Command(str(project), "id -u; echo more >> hello.txt; echo x > new; mkdir ~/made; touch /tmp/made")
    ) as done:
        assert (done.output, done.changes.paths) == (f"{uid}\n", ("hello.txt", "new"))


@pytest.mark.slow
@pytest.mark.parametrize("on_disk", [False, True])
def test_a_project_of_somebody_else_has_a_layer_too(on_disk: bool) -> None:
    """Shared with us, and with a secret file of theirs in it."""
    uid = 54321 if os.geteuid() == 0 else os.geteuid()
    with tempfile.TemporaryDirectory(prefix="shared-") as name:
        theirs, home = Path(name, "project"), Path(name, "home")
        for folder in (theirs, home):
            folder.mkdir()
        (theirs / "read").write_text("read\n")
        (theirs / ".env").write_text("KEY=canary\n")
        os.chown(home, uid, uid)
        Path(name).chmod(0o755)
        theirs.chmod(0o777)
        with command_server(uid, home, on_disk=on_disk) as server:
            outcome = server.run(theirs, "cat read .env; echo x > new")
    assert (outcome.exit_code, outcome.output, outcome.paths) == (0, "read\n", ["new"])


def test_a_launcher_is_ready_before_the_second_command(project: Path) -> None:
    others = children()
    launchers = Launchers()
    run(Command(str(project), "true"), launchers=launchers).close()
    (ready,) = children() - others
    with run(Command(str(project), "echo again"), launchers=launchers) as done:
        assert done.output == "again\n"
    assert ready not in children()
    launchers.close()
    assert children() <= others


def test_a_launcher_that_was_killed_meanwhile_is_replaced(project: Path) -> None:
    others = children()
    launchers = Launchers()
    launchers.prepare()
    (ready,) = children() - others
    os.kill(int(ready), 9)
    os.waitid(os.P_PID, int(ready), os.WEXITED | os.WNOWAIT)
    assert run(Command(str(project), "exit 4"), launchers=launchers).exit_code == 4
    launchers.close()
    assert children() <= others


def test_a_command_that_ends_after_the_launchers_were_closed_leaves_none_behind(project: Path) -> None:
    others = children()
    launchers = Launchers()
    launchers.close()
    assert run(Command(str(project), "exit 4"), launchers=launchers).exit_code == 4
    assert children() <= others


def test_a_readable_folder_around_the_project_does_not_cover_it(project: Path) -> None:
    (project.parent / "beside").write_text("beside\n")
    line = f"cat ../beside; echo x > ../new; echo x > mine; cat {project.parent}/missing"
    with run(Command(str(project), line, read_only=(str(project.parent), "/not/there"))) as done:
        assert done.output.startswith("beside\n") and "Read-only file system" in done.output
        assert done.changes.paths == ("mine",)


def children() -> set[str]:
    """Processes that we started and that have not ended, those that another test may have left us included."""
    return {*Path(f"/proc/self/task/{threading.get_native_id()}/children").read_text("ascii").split()}
