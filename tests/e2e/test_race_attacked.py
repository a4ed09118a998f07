"""A hostile try: whatever its commands do, the project, what lies beside it and the other try stay as they are. The
commands are those that are tried against a layer, every one of them."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from marked_processes import a_mark, processes_with
from sandbox_rig import hostile_commands, shared_memory
from sandbox_rig.hostile_commands import MUCH_SHARED, NETWORK, PROCESSES, PYTHON, UNTIL_TIME_IS_OVER
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

LIMITS = {"command_timeout_s": 60, "command_memory_mb": 400, "command_processes": 60, "command_layer_mb": 24}
AT_A_TIME = 8
CANARY = "canary-4711"
"""Not the bare word, which commands find in the programs of the machine."""


def tree(folder):
    """Every file with its content, and every mode, below a folder; what nebula keeps aside."""
    found = {}
    for here, folders, files in os.walk(folder):
        if here == str(folder):
            folders[:] = [name for name in folders if name != ".nebula"]
        for name in (*folders, *files):
            path = os.path.join(here, name)
            status = os.lstat(path)
            content = Path(path).read_bytes() if stat.S_ISREG(status.st_mode) else b""
            found[path] = (status.st_mode, content)
    return found


@contextmanager
def targets(outside: Path) -> Iterator[tuple[dict[str, str], list[socket.socket]]]:
    """What lies about on the user's machine, as variables that the commands know, and those who would hear of it."""
    mark = a_mark()
    with ExitStack() as opened:
        listeners = [opened.enter_context(socket.create_server(("127.0.0.1", 0)))]
        for address in (str(outside / "s"), f"\0abstract-{mark}"):
            listeners.append(opened.enter_context(socket.socket(socket.AF_UNIX)))
            listeners[-1].bind(address)
            listeners[-1].listen()
        bystander = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        opened.callback(bystander.wait)
        opened.callback(bystander.kill)
        segment = 0x1000000 + os.getpid()
        made = ctypes.CDLL(None).shmget(segment, 4096, 0o1666)
        opened.callback(ctypes.CDLL(None).shmctl, made, 0, None)
        yield (
            {
                "OUTSIDE": str(outside),
                "HOST_PID": str(bystander.pid),
                "MARK": mark,
                "PORT": str(listeners[0].getsockname()[1]),
                "SOCKET": str(outside / "s"),
                "ABSTRACT": f"abstract-{mark}",
                "SEGMENT": hex(segment),
            },
            listeners,
        )
        assert bystander.poll() is None


def output_of(result: str) -> str:
    try:
        return str(json.loads(result).get("output", ""))
    except ValueError:  # it was cut for its length
        return result


def two_tries(lines: Mapping[str, str], said: list[str], kept: list[str]) -> Callable[[RecordedRequest], Turn]:
    """One try runs these commands, some at a time; the other does its work meanwhile, and looks at it in the end; it
    takes its time for as long as the first is at work."""
    calls = [
        Call("runCommand", {"command": line} | ({"timeout_s": 1} if name in UNTIL_TIME_IS_OVER else {}))
        for name, line in lines.items()
    ]
    hostile: list[str] = []

    def answer(request: RecordedRequest) -> Turn:
        messages = request.json["messages"]
        results = [str(each["content"]) for each in messages if each["role"] == "tool"]
        if not results and not hostile:
            hostile.append("")
            return Turn("hostile", calls[:AT_A_TIME])
        if any(each.get("content") == "hostile" for each in messages):
            said[:] = results
            rest = calls[len(results) : len(results) + AT_A_TIME]
            return Turn("", rest) if rest else Turn("Done.")
        if len(results) < 4:
            pause = "" if len(said) == len(calls) else "sleep 1; "
            return Turn("", [Call("runCommand", {"command": f"{pause}echo mine >> src/a.py; cat src/a.py; ls"})])
        kept[:] = results
        return Turn("Done.")

    return answer


@pytest.mark.timeout(400)
@pytest.mark.parametrize("kind", hostile_commands.KINDS)
def test_a_hostile_try_changes_nothing_but_its_place(bench, tmp_path, kind):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text(f"{CANARY} outside\n")
    for name in ("README.md", "src/a.py", "precious-inside"):
        bench.write(name, f"this is {name}\n")
    bench.write(".env", f"KEY={CANARY}-in-the-project\n")
    bench.write("deploy/server.pem", f"{CANARY}\n")
    bench.write(".nebula/.gitignore", "*\n")
    (bench.home / ".ssh").mkdir()
    (bench.home / ".ssh/id").write_text(f"{CANARY} key\n")
    (bench.home / ".nebula").mkdir(exist_ok=True)
    (bench.home / ".nebula/config.json").write_text(json.dumps(LIMITS))
    before, mounts = tree(bench.project), Path("/proc/self/mountinfo").read_text("utf-8")
    said: list[str] = []
    kept: list[str] = []
    commands = hostile_commands.KINDS[kind]
    with targets(outside) as (seen, listeners), shared_memory(alone=not MUCH_SHARED.isdisjoint(commands)):
        beside = tree(outside), tree(bench.home / ".ssh")
        exports = " ".join(f"{name}='{each}'" for name, each in seen.items())
        lines = {name: f"export {exports}\n{line}" for name, line in commands.items()}
        with ScriptedModel(two_tries(lines, said, kept)) as server:
            words = ("race", "do it", "--tries", "2", "--output-format", "json")
            ran = bench.run("nebula", *words, timeout=380, **server.env())
        for each in listeners:
            each.setblocking(False)
            with pytest.raises(BlockingIOError):
                each.accept()
        assert (tree(outside), tree(bench.home / ".ssh")) == beside
    final = json.loads(ran.out)
    assert len(final["tries"]) == 2, ran.err
    assert len(said) == len(lines)
    assert CANARY not in "".join(said) and CANARY not in json.dumps(final)
    assert not [each for each in map(output_of, said) if "HOLE" in each]
    assert [json.loads(each)["exit_code"] for each in kept] == [0, 0, 0, 0], kept
    own = output_of(kept[-1])
    assert own == "this is src/a.py\nmine\nmine\nmine\nmine\nREADME.md\ndeploy\nprecious-inside\nsrc\n"
    assert tree(bench.project) == before
    assert Path("/proc/self/mountinfo").read_text("utf-8") == mounts


VICTIM = """
import ctypes, os, signal, socket, sys
mark = sys.argv[1]
for folder in ("/tmp", "/dev/shm", os.path.expanduser("~"), "."):
    open(f"{folder}/{mark}", "w").write("of the victim")
ctypes.CDLL(None).shmget(0x2000000, 4096, 0o1666)
server = socket.create_server(("127.0.0.1", int(sys.argv[2])))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0" + mark)
abstract.listen()
signal.pause()
"""
ATTACK = f"""
exec 3<>/dev/tcp/127.0.0.1/$PORT && echo HOLE
{PYTHON} -c "import os, socket; socket.socket(socket.AF_UNIX).connect(chr(0) + os.environ['VICTIM'])" && echo HOLE
ipcrm -M 0x2000000 && echo HOLE
cat /proc/[0-9]*/cmdline | tr '\\0' '\\n' | grep -a 'signal[.]pause' && echo HOLE
for pid in $VICTIM_PIDS; do kill -9 $pid && echo HOLE; ls -d /proc/$pid/root && echo HOLE; done
find / -xdev -name "$VICTIM" 2>/dev/null | grep . && echo HOLE
find . /tmp /dev/shm ~ -name "$VICTIM" | grep . && echo HOLE
mount --bind / src && echo HOLE; mount -o remount,size=1k . && echo HOLE; mount -t tmpfs x . && echo HOLE
true
"""


@pytest.mark.timeout(120)
def test_a_try_reaches_nothing_of_what_another_has_at_work(bench):
    bench.write("src/a.py", "a\n")
    mark = a_mark()
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
    said: list[str] = []
    victim: list[str] = []

    def answer(request: RecordedRequest) -> Turn:
        messages = request.json["messages"]
        results = [str(each["content"]) for each in messages if each["role"] == "tool"]
        if results:
            is_attacker = any(each.get("content") == "attack" for each in messages)
            if is_attacker:
                said.append(output_of(results[0]))
                for pid in processes_with(mark):
                    with suppress(ProcessLookupError):  # it has ended since
                        os.kill(int(pid), signal.SIGTERM)
            return Turn("Done.")
        if not victim:
            victim.append(mark)
            line = f"{PYTHON} - {mark} {port} <<'END'\n{VICTIM}\nEND"
            return Turn("", [Call("runCommand", {"command": line})])
        while not any(f"@{mark}" in Path("/proc", pid, "net/unix").read_text("utf-8") for pid in processes_with(mark)):
            time.sleep(0.02)  # until it is at work; the test's own time limit is the bar
        known = f"VICTIM={mark} PORT={port} VICTIM_PIDS='{' '.join(processes_with(mark))}'"
        return Turn("attack", [Call("runCommand", {"command": f"export {known}\n{ATTACK}"})])

    with ScriptedModel(answer) as server:
        ran = bench.run(
            "nebula", "race", "do it", "--tries", "2", "--output-format", "json", timeout=100, **server.env()
        )
    assert [each["status"] for each in json.loads(ran.out)["tries"]] == ["ok", "ok"], ran.err
    [output] = said
    assert "HOLE" not in output, output


def scripted(*lines: str, said: list[str], **more: object) -> Callable[[RecordedRequest], Turn]:
    """Every try runs these commands at once, and what they say is kept."""

    def answer(request: RecordedRequest) -> Turn:
        results = [str(each["content"]) for each in request.json["messages"] if each["role"] == "tool"]
        said.extend(results)
        return Turn("Done.") if results else Turn("", [Call("runCommand", {"command": line} | more) for line in lines])

    return answer


@pytest.mark.timeout(120)
@pytest.mark.parametrize("wish", [{}, {"network": True}])
def test_a_try_reaches_no_network(bench, wish):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = str(listener.getsockname()[1])
        lines = [
            f"PORT={port}; export PORT; {NETWORK[name]}" for name in ("the user's server", "the world", "datagrams")
        ]
        said: list[str] = []
        with ScriptedModel(scripted(*lines, "echo al''ive", said=said, **wish)) as server:
            ran = bench.run("nebula", "race", "do it", "--tries", "2", timeout=100, **server.env())
        assert ran.code == (1 if wish else 0), ran.err
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert len(said) == 2 * (len(lines) + 1) and sum("alive" in each for each in said) == (0 if wish else 2)
    assert not any('"output": "HOLE' in each or "\\nHOLE" in each for each in said), said


@pytest.mark.timeout(180)
def test_a_process_bomb_ends_its_own_command_alone(bench):
    bombed: list[int] = []

    def answer(request: RecordedRequest) -> Turn:
        messages = request.json["messages"]
        results = [str(each["content"]) for each in messages if each["role"] == "tool"]
        if not results and not bombed:
            bombed.append(1)
            return Turn("bomb", [Call("runCommand", {"command": PROCESSES["fork bomb"]})])
        is_bomber = any(each.get("content") == "bomb" for each in messages)
        if not is_bomber and len(results) < 5:
            return Turn("", [Call("runCommand", {"command": "sleep 0.5; echo mine >> mine.txt"})])
        return Turn("Done.")

    (bench.home / ".nebula").mkdir(exist_ok=True)
    (bench.home / ".nebula/config.json").write_text(json.dumps({"command_timeout_s": 15}))
    with ScriptedModel(answer) as server:
        ran = bench.run(
            "nebula", "race", "do it", "--tries", "2", "--output-format", "json", timeout=160, **server.env()
        )
    tries = json.loads(ran.out)["tries"]
    assert [each["status"] for each in tries] == ["ok", "ok"], ran.err
    assert sorted(len(each["files_changed"]) for each in tries) == [0, 1]


EDITS: dict[str, Callable[[Path], object]] = {
    "content": lambda path: path.write_text("mine\n"),
    "mode": lambda path: path.chmod(0o700),
    "gone": lambda path: path.unlink(),
    "folder": lambda path: (path.unlink(), path.mkdir()),
    "link": lambda path: (path.unlink(), path.symlink_to("elsewhere")),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_the_user_edits_during_a_race_is_a_conflict_and_stays(bench, edit):
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "one\n")
    edited: list[object] = []

    def answer(request: RecordedRequest) -> Turn:
        if request.json["messages"][-1]["role"] == "tool":
            if not edited:
                edited.append(EDITS[edit](bench.project / "a.txt"))
                bench.write("new.txt", "mine\n")
            return Turn("Done.")
        line = "echo two > a.txt; echo two > b.txt; echo theirs > new.txt"
        return Turn("", [Call("runCommand", {"command": line})])

    with ScriptedModel(answer) as server:
        ran = bench.run(
            "nebula", "race", "do it", "--tries", "2", "--take", "1", "--yes", "--output-format", "json", **server.env()
        )
    after = tree(bench.project)
    assert ran.code == 1 and "a.txt, new.txt" in ran.err, ran.err
    assert (bench.read("b.txt"), bench.read("new.txt")) == ("two\n", "mine\n")
    path = bench.project / "a.txt"
    kept = {
        "content": lambda: path.read_text() == "mine\n",
        "mode": lambda: path.read_text() == "one\n" and path.stat().st_mode & 0o777 == 0o700,
        "gone": lambda: str(path) not in after,
        "folder": path.is_dir,
        "link": lambda: os.readlink(path) == "elsewhere",
    }
    assert kept[edit](), after
