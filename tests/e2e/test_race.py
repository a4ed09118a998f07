"""nebula race and nebula take, from outside: real processes, real places, scripted model."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from conftest import Bench
from nebula.graph.graph import Graph
from nebula.sandbox.remembered import ON_DISK, remember
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

Script = Callable[[RecordedRequest], Turn | Fault]


def replies(*turns: Turn) -> Script:
    """The same turns for each try, whatever the order in which they ask."""

    def answer(request: RecordedRequest) -> Turn:
        said = [message for message in request.json["messages"] if message["role"] == "assistant"]
        return turns[len(said)]

    return answer


def results(request: RecordedRequest) -> list[str]:
    return [str(message["content"]) for message in request.json["messages"] if message["role"] == "tool"]


def race(bench: Bench, server: ScriptedModel, *argv: str) -> tuple[int, dict[str, Any], str]:
    ran = bench.run("nebula", "race", "do it", "--output-format", "json", *argv, **server.env())
    return ran.code, (json.loads(ran.out) if ran.out else {}), ran.err


def nodes_of(bench: Bench) -> list[str]:
    return sorted(path.stem for path in (bench.project / ".nebula/graph/nodes").rglob("*.xml"))


WRITES = replies(
    Turn("", [Call("writeFile", {"path": "new.txt", "content": "new\n"})]),
    Turn("", [Call("readFile", {"path": "a.txt"})]),
    Turn("", [Call("editFile", {"path": "a.txt", "new_content": "two\n"})]),
    Turn("Done."),
)


def test_tries_become_siblings_and_the_project_is_not_touched(bench):
    bench.write("a.txt", "one\n")
    with ScriptedModel(WRITES) as server:
        ran = bench.run("nebula", "race", "do it", "--tries", "3", "--output-format", "stream-json", **server.env())
    assert ran.code == 0, ran.err
    *events, final = ran.events
    assert {event["try"] for event in events} == {1, 2, 3}
    assert (final["type"], "try" in final, final["taken"]) == ("final", False, None)
    tries = final["tries"]
    assert [each["try"] for each in tries] == [1, 2, 3]
    assert {each["status"] for each in tries} == {"ok"} and {each["verified"] for each in tries} == {None}
    assert all(sorted(file["path"] for file in each["files_changed"]) == ["a.txt", "new.txt"] for each in tries)
    assert all({"model", "usage", "cost", "duration_s"} <= each.keys() for each in tries)
    assert len({each["node_id"] for each in tries}) == 3
    traces = {event["try"]: event["trace_id"] for event in events}
    assert len(set(traces.values())) == 3
    assert {tuple(event["parents"]) for event in events if event["type"] == "task"} == {()}
    graph = Graph(str(bench.project / ".nebula" / "graph"))
    assert sorted(graph.list_tries(graph.get_node(tries[2]["node_id"]))) == sorted(each["node_id"] for each in tries)
    assert bench.read("a.txt") == "one\n" and not (bench.project / "new.txt").exists()
    recorded = {event["trace_id"]: event["try"] for event in bench.trace() if event["type"] == "final"}
    assert recorded == {trace: number for number, trace in traces.items()}


def test_a_race_continues_from_a_node(bench):
    with ScriptedModel([Turn("Hello.")]) as server:
        first = bench.run("nebula", "-p", "hi", "--output-format", "json", **server.env()).json["node_id"]
    with ScriptedModel(lambda _: Turn("Done.")) as server:
        code, final, err = race(bench, server, "--tries", "2", "--from", first[:13])
        assert "Hello." in json.dumps(server.turns[0].json)
    assert code == 0, err
    tasks = [event for event in bench.trace() if event["type"] == "task"]
    assert [event["parents"] for event in tasks[1:]] == [[first], [first]]
    assert len({each["node_id"] for each in final["tries"]}) == 2


@pytest.mark.parametrize("copies", [False, True])
def test_commands_run_in_the_tries_of_a_project_with_a_conversation(bench, copies):
    if copies:
        remember(str(bench.home / ".nebula"), ON_DISK, 0)
    with ScriptedModel([Turn("Hello.")]) as server:
        first = bench.run("nebula", "-p", "hi", "--output-format", "json", **server.env()).json["node_id"]

    def answer(request: RecordedRequest) -> Turn:
        if results(request):
            return Turn("Done.")
        asked = [Call("readNode", {"id": first}), Call("runCommand", {"command": "echo two > a.txt"})]
        return Turn("", asked)

    with ScriptedModel(answer) as server:
        code, final, err = race(bench, server, "--tries", "2")
        told = [results(each) for each in server.turns if results(each)]
    assert code == 0, err
    assert [(each["status"], len(each["files_changed"])) for each in final["tries"]] == [("ok", 1)] * 2
    assert len(told) == 2 and all("Hello." in node for node, _ in told)


@pytest.mark.parametrize("copies", [False, True])
def test_a_try_has_the_project_as_it_was_at_the_start(bench, copies):
    subprocess.run(["git", "init", "-q", str(bench.project)], check=True)
    bench.write(".gitignore", "ignored/\n")
    bench.write("ignored/tool.txt", "tool\n")
    bench.write("sub/deep.txt", "deep\n")
    bench.write(".env", "KEY=hidden-from-tries\n")
    bench.write("a.txt", "one\n")
    if copies:
        remember(str(bench.home / ".nebula"), ON_DISK, 0)
    seen: list[list[str]] = []

    def answer(request: RecordedRequest) -> Turn:
        found = results(request)
        if not found:
            bench.write("a.txt", "somebody else\n")  # in place, as many editors save
            bench.write("later.txt", "later\n")
            (bench.project / "sub/deep.txt").unlink(missing_ok=True)
            look = "cat a.txt ignored/tool.txt sub/deep.txt .env; ls; test -e .nebula && echo records"
            return Turn("", [Call("readFile", {"path": "a.txt"}), Call("runCommand", {"command": look})])
        seen.append(found)
        return Turn("Seen.")

    with ScriptedModel(answer) as server:
        code, _, err = race(bench, server, "--tries", "2")
        told = [str(each.json["messages"][0]["content"]) for each in server.turns]
    assert code == 0, err
    assert ("no overlays" in err) == copies
    assert all("- git: No commits yet" in each and "?? sub/" in each and "later" not in each for each in told)
    assert len(seen) == 2
    for read, ran in seen:
        assert "one" in read and "somebody else" not in read + ran
        assert "one\\ntool\\ndeep\\n" in ran and "later" not in ran and "hidden-from-tries" not in ran
        assert "records" not in ran
    assert list((bench.home / ".nebula").glob("projects/*/layers/*")) == []


def test_a_try_sees_no_other(bench):
    marks = iter("AB")
    seen: list[str] = []

    def answer(request: RecordedRequest) -> Turn:
        found = results(request)
        if not found:
            mark = next(marks)
            line = f"echo {mark} > mine-{mark}; echo {mark} >> a.txt; sleep 1"
            return Turn("", [Call("runCommand", {"command": line})])
        if len(found) == 1:
            return Turn("", [Call("runCommand", {"command": "ls; cat a.txt; ls -R /tmp /proc/1/root/tmp | head -50"})])
        seen.append(found[1])
        return Turn("Seen.")

    bench.write("a.txt", "one\n")
    with ScriptedModel(answer) as server:
        code, final, err = race(bench, server, "--tries", "2")
    assert code == 0, err
    assert sorted(("mine-A" in text, "mine-B" in text) for text in seen) == [(False, True), (True, False)]
    assert sorted(("one\\nA" in text, "one\\nB" in text) for text in seen) == [(False, True), (True, False)]
    assert bench.read("a.txt") == "one\n"
    changed = [sorted(file["path"] for file in each["files_changed"]) for each in final["tries"]]
    assert sorted(changed) == [["a.txt", "mine-A"], ["a.txt", "mine-B"]]


def test_take_whole_in_parts_and_with_conflicts(bench):
    for name in ("a.txt", "b.txt", "gone.txt"):
        bench.write(name, "one\n")
    turn = "echo two > a.txt; echo two > b.txt; rm gone.txt; mkdir src; echo x > src/x.py; chmod +x src/x.py; ln -s a.txt l"
    with ScriptedModel(replies(Turn("", [Call("runCommand", {"command": turn})]), Turn("Done."))) as server:
        code, final, err = race(bench, server, "--tries", "2")
    assert code == 0, err
    node, other = (each["node_id"] for each in final["tries"])

    def take(*words: str, code: int = 0) -> str:
        ran = bench.run("nebula", "take", *words)
        assert ran.code == code, ran.err
        return ran.err

    take(f"{node}:nothing.txt", "--yes", code=64)
    take("0000", "--yes", code=64)
    take(node, code=2)
    assert bench.read("a.txt") == "one\n"
    take(f"{node}:src/", f"{other}:l", "--yes")
    assert bench.read("src/x.py") == "x\n" and os.access(bench.project / "src/x.py", os.X_OK)
    assert os.readlink(bench.project / "l") == "a.txt" and bench.read("a.txt") == "one\n"
    bench.write("a.txt", "mine\n")
    (bench.project / "b.txt").chmod(0o755)
    said = take(node, "--yes", code=1)
    assert "a.txt" in said and "b.txt" in said
    assert bench.read("a.txt") == "mine\n" and bench.read("b.txt") == "one\n"
    assert not (bench.project / "gone.txt").exists()
    bench.write("a.txt", "two\n")  # what the try has itself is no conflict
    (bench.project / "b.txt").chmod(0o644)
    take(other, "--yes")
    assert bench.read("b.txt") == "two\n"


def test_a_secret_file_that_a_try_made_is_taken_though_its_node_does_not_name_the_content(bench):
    turn = Turn("", [Call("writeFile", {"path": "new.env", "content": "PIN=1234\n"})])
    with ScriptedModel(replies(turn, Turn("Done."))) as server:
        code, final, err = race(bench, server, "--tries", "2", "--allow", "new.env")
    assert code == 0, err
    assert hashlib.sha256(b"PIN=1234\n").hexdigest() not in "".join(
        path.read_text() for path in (bench.project / ".nebula/graph").rglob("*.xml")
    )
    ran = bench.run("nebula", "take", final["tries"][0]["node_id"], "--yes", "--allow", "new.env")
    assert (ran.code, bench.read("new.env")) == (0, "PIN=1234\n"), ran.err


def test_lines_taken_from_several_tries_keep_their_authors(bench):
    """Here, in the figures, and in a clone that has no journal."""

    def answer(request: RecordedRequest) -> Turn:
        if results(request):
            return Turn("Done.")
        name = str(request.json["model"])
        return Turn("", [Call("writeFile", {"path": each, "content": f"{each} by {name}\n"}) for each in ("a", "b")])

    git(bench, "init", "-q")
    assert bench.run("nebula", "graph", "share", "--yes").code == 0
    with ScriptedModel(answer) as server:
        code, final, err = race(bench, server, "--models", "gpt-4.1-nano,gpt-4.1-mini")
    assert code == 0, err
    node, other = (each["node_id"] for each in final["tries"])
    assert bench.run("nebula", "take", f"{node}:a", f"{other}:b", "--yes").code == 0
    table = bench.run("nebula", "kpi", "--by", "model").out.splitlines()
    assert ["gpt-4.1-nano", "1", "–", "1"] in [line.split() for line in table], "there were no checks to pass"
    counts = [{"model": model, "written": 1, "alive": 1} for model in ("gpt-4.1-mini", "gpt-4.1-nano")]
    assert bench.run("nebula", "kpi", "--json").json["surviving_lines"] == counts
    git(bench, "add", "-A")
    git(bench, "-c", "user.name=t", "-c", "user.email=t@localhost", "commit", "-qm", "Take")
    clone = str(bench.home / "clone")
    git(bench, "clone", "-q", ".", clone)
    for root in (str(bench.project), clone):
        for path, author in (("a", node), ("b", other)):
            [run] = bench.run("nebula", "blame", path, "--json", "--root", root).json
            assert run["node_id"] == author, (root, path, run)


def git(bench: Bench, *words: str) -> None:
    subprocess.run(["git", *words], cwd=bench.project, check=True)


def test_the_first_whose_checks_pass_is_taken(bench):
    bench.write(".nebula/config.json", json.dumps({"checks": ["grep -q good a.txt"], "repair": False}))
    bench.write("a.txt", "one\n")
    words = iter(("bad\n", "good\n", "good\n"))

    def answer(request: RecordedRequest) -> Turn:
        if not results(request):
            return Turn("", [Call("readFile", {"path": "a.txt"})])
        if len(results(request)) == 1:
            return Turn("", [Call("editFile", {"path": "a.txt", "new_content": next(words)})])
        return Turn("Done.")

    with ScriptedModel(answer) as server:
        code, final, err = race(bench, server, "--tries", "3", "--trust", "--take", "first-passing", "--yes")
    assert code == 0, err
    verified = [each["verified"] for each in final["tries"]]
    assert sorted(verified) == [False, True, True]
    assert final["taken"] == verified.index(True) + 1
    assert bench.read("a.txt") == "good\n"
    races = bench.run("nebula", "kpi", "--json").json["races"]
    assert races == [{"model": "gpt-4.1-nano", "tries": 3, "checked": 3, "passed": 2, "taken": 1}]
    table = bench.run("nebula", "kpi", "--by", "model").out.splitlines()
    assert ["gpt-4.1-nano", "3", "2", "1"] in [line.split() for line in table]
    assert "passed  taken" not in bench.run("nebula", "kpi", "--by", "day").out


def test_nothing_is_taken_where_nothing_passed_or_nobody_is_asked(bench):
    with ScriptedModel(WRITES) as server:
        bench.write("a.txt", "one\n")
        code, final, _ = race(bench, server, "--tries", "2", "--take", "first-passing", "--yes")
        assert (code, final["taken"]) == (1, None)
        asked = len(server.turns)
        code, final, err = race(bench, server, "--tries", "2", "--take", "1")
        assert (code, final["taken"], bench.read("a.txt")) == (2, None, "one\n")
        assert len(server.turns) == asked
        assert err == "nebula: Nobody is there to ask: add --yes to take it.\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("--tries", "1"),
        ("--tries", "9"),
        (),
        ("--tries", "2", "--models", "gpt-4.1-nano,gpt-4.1-mini"),
        ("--models", "gpt-4.1-nano,no-such-model"),
        ("--models", "gpt-4.1-nano,"),
        ("--tries", "2", "--from", "0123456789"),
        ("--tries", "2", "--take", "3"),
        ("--tries", "2", "--take", "best"),
        ("--tries", "2", "--judge", "no-such-model"),
    ],
)
def test_what_cannot_be_raced_costs_no_request(bench, argv: Sequence[str]):
    with ScriptedModel(lambda _: Turn("no")) as server:
        code, _, err = race(bench, server, *argv)
        assert code == 64, err
        assert server.turns == []
    assert err.startswith("nebula: ") and "Traceback" not in err


def test_one_that_is_killed_ends_alone(bench):
    bench.write("a.txt", "one\n")
    first: list[int] = []

    def answer(request: RecordedRequest) -> Turn:
        if not results(request):
            return Turn("", [Call("runCommand", {"command": "echo x > x.txt"})])
        if not first:
            first.append(1)
            os.kill(tries_of(bench)[0], signal.SIGKILL)
            time.sleep(0.5)
        return Turn("Done.")

    with ScriptedModel(answer) as server:
        code, final, err = race(bench, server, "--tries", "3")
    assert code == 0, err
    assert sorted(each["status"] for each in final["tries"]) == ["error", "ok", "ok"]


@contextmanager
def race_at_work(bench: Bench) -> Iterator[subprocess.Popen[bytes]]:
    """A race of two tries whose commands are both at work."""
    asked: list[int] = []

    def answer(_: RecordedRequest) -> Turn:
        asked.append(1)
        return Turn("", [Call("runCommand", {"command": "sleep 30"})])

    with ScriptedModel(answer) as server:
        running = bench.start("nebula", "race", "do it", "--tries", "2", **server.env())
        while len(asked) < 2:
            time.sleep(0.02)
        yield running


def test_a_killed_race_leaves_nothing(bench):
    bench.write("a.txt", "one\n")
    with race_at_work(bench) as running:
        assert len(tries_of(bench)) == 2
        running.kill()
        running.communicate()
    while inside(bench):  # the test's own time limit is the bar
        time.sleep(0.02)
    assert bench.read("a.txt") == "one\n"
    assert not (bench.home / ".nebula/projects").exists() or not list(
        (bench.home / ".nebula").glob("projects/*/layers/*")
    )


def test_copies_that_a_killed_race_left_are_removed_at_the_next_start(bench):
    bench.write("a.txt", "one\n")
    home = bench.home / ".nebula"
    remember(str(home), ON_DISK, 0)
    with race_at_work(bench) as running:
        for pid in (running.pid, *inside(bench)):
            with suppress(ProcessLookupError):  # gone with the first one
                os.kill(pid, signal.SIGKILL)
        running.communicate()
        assert list(home.glob("projects/*/layers/*/*/project"))
    while inside(bench):
        time.sleep(0.02)
    with ScriptedModel([Turn("Hello.")]) as server:
        assert bench.run("nebula", "-p", "hi", **server.env()).code == 0
    assert list(home.glob("projects/*/layers/*/*/project")) == []


@pytest.mark.parametrize("copies", [False, True])
def test_another_start_leaves_a_living_race_alone(bench, copies):
    bench.write("a.txt", "one\n")
    if copies:
        remember(str(bench.home / ".nebula"), ON_DISK, 0)
    others: list[int] = []

    def answer(request: RecordedRequest) -> Turn:
        if results(request):
            return Turn("Done.")
        if not others:
            with ScriptedModel([Turn("", [Call("runCommand", {"command": "true"})]), Turn("Hello.")]) as another:
                others.append(bench.run("nebula", "-p", "hi", **another.env()).code)
        return Turn("", [Call("runCommand", {"command": "cat a.txt > b.txt"})])

    with ScriptedModel(answer) as server:
        code, final, err = race(bench, server, "--tries", "2")
    assert (code, others) == (0, [0]), err
    assert [[each["path"] for each in one["files_changed"]] for one in final["tries"]] == [["b.txt"]] * 2


def tries_of(bench: Bench) -> list[int]:
    """The processes of the tries that work in the project."""
    return [pid for pid in inside(bench) if pid_parent(pid) in inside(bench)]


def inside(bench: Bench) -> list[int]:
    found = []
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        try:
            words = Path("/proc", pid, "cmdline").read_bytes()
            here = os.readlink(f"/proc/{pid}/cwd")
        except OSError:
            continue
        if b"places.host" in words and here.startswith((str(bench.project), str(bench.home))):
            found.append(int(pid))
    return found


def pid_parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[1])


def test_a_judge_gives_an_opinion_and_decides_nothing(bench):
    bench.write("a.txt", "one\n")

    def answer(request: RecordedRequest) -> Turn:
        if request.json["model"] == "gpt-4.1-mini":
            assert "+two" in json.dumps(request.json)
            return Turn("I would take the second one.")
        return WRITES(request)

    with ScriptedModel(answer) as server:
        code, final, err = race(bench, server, "--tries", "2", "--judge", "gpt-4.1-mini")
    assert (code, final["taken"], final["opinion"]) == (0, None, "I would take the second one."), err
    assert bench.read("a.txt") == "one\n"


def test_why_a_try_failed_is_said_once_for_each(bench):
    refusal = Fault.status_code(400, body='{"error": {"message": "not today"}}')
    with ScriptedModel(lambda _: refusal) as server:
        ran = bench.run("nebula", "race", "do it", "--tries", "2", **server.env())
    assert ran.code == 1
    below = [line for line in ran.out.splitlines() if "not today" in line]
    assert [line.split()[0] for line in below] == ["1", "2"], ran.out
    assert ran.err.count("not today") == 2, "one line for each when it ended, and no more"
