"""Commands at the terminal: what runs, what is asked, and what undo gives back."""

from __future__ import annotations

import os
import signal
import subprocess
import time

from file_history_rig import path_change
from nebula.files.syscalls import Syscalls
from nebula.workspace import open_workspace
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import CTRL_C, CTRL_D

ASK = "Go ahead? (y/N):"
ATTEMPTS = 6
"""And more, until one of them met a set half applied."""


def command(line: str, **args: object) -> list[Turn]:
    return [Turn("I'll run it.", [Call("runCommand", {"command": line, **args})]), Turn("Done.")]


def test_file_by_file_and_undo(bench, terminal):
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "one\n")
    with ScriptedModel(command("echo two > a.txt; chmod 755 b.txt; echo new > c.txt")) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("go")
        screen.wait(ASK)
        assert "A command wants to change 3 files:" in screen.lines
        named = ["changed  a.txt (+1 −1)", "mode  b.txt", "created  c.txt (+1 −0)"]
        assert [line.strip() for line in screen.lines if line.strip() in named] == named, "each once"
        assert "runCommand" not in screen.text
        assert "  $ echo two > a.txt; chmod 755 b.txt; echo new > c.txt" in screen.lines
        screen.line("d")
        screen.wait(ASK, times=2)
        assert "mode 644 → 755" in screen.text
        assert "+two" in screen.text
        screen.line("f")
        for number, answer in enumerate("yyn", 1):
            screen.wait(f"Take file {number} of 3? (y/N):")
            screen.line(answer)
        screen.wait("Done.")
        screen.prompt(times=2)
        assert bench.read("a.txt") == "two\n"
        assert os.stat(bench.project / "b.txt").st_mode & 0o777 == 0o755
        assert not (bench.project / "c.txt").exists()
        screen.line("/undo")
        screen.prompt(times=3)
        screen.send(CTRL_D)
        screen.ended()
    assert bench.read("a.txt") == "one\n"
    assert os.stat(bench.project / "b.txt").st_mode & 0o777 == 0o644
    told = server.turns[-1].json["messages"][-1]["content"]
    assert "The user left out: c.txt." in told


def test_a_sentence_refuses_in_japanese(bench, terminal):
    with ScriptedModel(command("echo x > a.txt")) as server:
        screen = terminal(server, NEBULA_LANG="ja")
        screen.prompt()
        screen.line("go")
        screen.wait("コマンドが 1 個のファイルを変更しようとしています:")
        screen.wait("(y/N)")
        screen.line("まだ早い")
        screen.wait("Done.")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
    assert not (bench.project / "a.txt").exists()
    assert "まだ早い" in server.turns[-1].json["messages"][-1]["content"]


def test_a_running_command_is_seen_and_stopped(bench, terminal):
    with ScriptedModel(command("echo x > a.txt; sleep 300")) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("go")
        screen.wait("running a command")
        screen.wait("Esc interrupts")
        assert "sleep" not in screen.text
        screen.send(CTRL_C)
        screen.wait("Interrupted")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
    assert not (bench.project / "a.txt").exists()


def test_the_network_is_asked_for_once_or_for_the_session(bench, terminal):
    calls = [Turn("", [Call("runCommand", {"command": f"echo {number}", "network": True})]) for number in "12"]
    with ScriptedModel([*calls, Turn("Done.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("go")
        screen.wait("A command asks for the network:")
        screen.wait(ASK)
        assert "loopback" in screen.text
        screen.line("a")
        screen.wait("Done.")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
    assert screen.text.count("A command asks for the network:") == 1


def test_yes_to_writes_is_no_yes_to_the_network(bench, terminal):
    with ScriptedModel([Turn("", [Call("runCommand", {"command": "id", "network": True})]), Turn("Done.")]) as server:
        screen = terminal(server, "--yes")
        screen.prompt()
        screen.line("go")
        screen.wait("A command asks for the network:")
        screen.wait(ASK)
        screen.line("n")
        screen.wait("Done.")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()


class _Slow(Syscalls):
    """Waits in the middle of a set, so that it can be killed there."""

    def mkdir(self, name: str, dir_fd: int, perm: int) -> None:
        super().mkdir(name, dir_fd, perm)
        if name == "stop-here":
            os.kill(os.getpid(), signal.SIGSTOP)


def test_the_next_start_takes_back_a_half_applied_set_and_says_so(bench):
    bench.write("a.txt", "one\n")
    pid = os.fork()
    if pid == 0:
        changes = [
            path_change("a.txt", "file", content=b"two\n"),
            path_change("b", "link", content=b"a.txt"),
            path_change("z", "folder", 0o755),
            path_change("z/stop-here", "folder", 0o755),
            path_change("z/stop-here/never", "file", content=b"x"),
        ]
        open_workspace(str(bench.project), calls=_Slow()).for_turn("turn-1").apply_changes(changes)
        os._exit(0)
    os.waitpid(pid, os.WUNTRACED)
    assert bench.read("a.txt") == "two\n"
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    with ScriptedModel([Turn("Hello.")]) as server:
        done = bench.run("nebula", "-p", "hi", **server.env())
    assert done.code == 0
    assert "taken back" in done.err
    assert "a.txt" in done.err
    assert bench.read("a.txt") == "one\n"
    assert sorted(path.name for path in bench.project.iterdir()) == [".nebula", "a.txt"]


def test_doctor_says_whether_commands_run(bench):
    done = bench.run("nebula", "doctor")
    assert "commands run in a layer over the project; you approve what they change" in " ".join(done.out.split())


def test_killed_at_any_moment_nothing_is_half_applied(bench):
    """`kill -9` of the whole program around the moment when a set of many files is applied."""
    line = "for i in $(seq 60); do mkdir -p d$i; echo $i > d$i/f; ln -s f d$i/l; done; echo two > a.txt"
    attempt, halves = -1, 0
    while (attempt := attempt + 1) < ATTEMPTS or not halves:
        project = bench.project / f"p{attempt}"
        project.mkdir()
        (project / "a.txt").write_text("one\n")
        with ScriptedModel(command(line)) as server:
            argv = bench.argv("nebula", "-p", "go", "--yes")
            turn = subprocess.Popen(
                argv, cwd=project, env=bench.env(**server.env()), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
            )
            marker = project / ".nebula/journal/applying.json"
            while turn.poll() is None and not marker.exists():
                time.sleep(0.001)
            time.sleep(attempt % ATTEMPTS * 0.01)
            turn.kill()
            turn.wait()
        halves += marker.exists()
        with ScriptedModel([Turn("Hello.")]) as server:
            again = subprocess.run(
                bench.argv("nebula", "-p", "hi"),
                cwd=project,
                env=bench.env(**server.env()),
                capture_output=True,
                check=False,
            )
        found = sorted(path.name for path in project.iterdir() if path.name != ".nebula")
        whole = ["a.txt", *sorted(f"d{number}" for number in range(1, 61))]
        assert found in (["a.txt"], sorted(whole)), again.stderr
        assert (project / "a.txt").read_text() == ("one\n" if found == ["a.txt"] else "two\n")


def test_checks_that_are_found_are_offered_and_accepted_once(bench, terminal):
    bench.write("pytest.ini", "[pytest]\n")
    write = [Turn("", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("Written.")]
    with ScriptedModel([*write, Turn("Hello.")]) as server:
        screen = terminal(server, "--yes")
        screen.prompt()
        screen.line("go")
        screen.wait("This project seems to be checked by: python -m pytest -q · /checks lets the agent run it")
        screen.prompt(times=2)
        screen.line("/checks")
        screen.wait("Trust this folder and let them run? (y/N):")
        screen.line("y")
        screen.wait("The agent may run these to check its work:")
        screen.prompt(times=3)
        screen.line("hi")
        screen.wait("Hello.")
        screen.prompt(times=4)
        assert "runCheck" not in tools_of(server.turns[0]) and "runCheck" in tools_of(server.turns[-1])
        screen.send(CTRL_D)
        screen.ended()
    with ScriptedModel([Turn("Again.")]) as server:
        bench.run("nebula", "-p", "hi", **server.env())
        assert "runCheck" in tools_of(server.turns[-1])


def tools_of(request) -> list[str]:
    return [tool["function"]["name"] for tool in request.json["tools"]]
