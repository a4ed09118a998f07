"""A session taken up again: what memory says of it follows what really happens."""

import json
import os
import signal
import sqlite3

import pytest

from nebula.files.home import derived_folder
from nebula.memory.session_lock import SessionLock
from scripted_model import Call, Fault, ScriptedModel, Turn


def sessions(bench):
    memory = sqlite3.connect(bench.home / ".nebula" / "memory.db")
    try:
        return memory.execute("SELECT id, model_used, ended_at IS NULL FROM sessions").fetchall()
    finally:
        memory.close()


def test_the_model_that_answers_is_the_one_recorded(bench):
    with ScriptedModel([Turn("one"), Turn("two")]) as server:
        assert bench.run("nebula", "-p", "go", **server.env()).code == 0
        ((session, model, active),) = sessions(bench)
        assert (model, active) == ("gpt-4.1-nano", 0)
        assert bench.run("nebula", "-p", "go on", "--resume", "--model", "gpt-4.1-mini", **server.env()).code == 0
    assert server.turns[1].json["model"] == "gpt-4.1-mini"
    assert sessions(bench) == [(session, "gpt-4.1-mini", 0)]


@pytest.mark.parametrize("args", [["-p", "go on", "--resume"], ["--resume"]], ids=["headless", "session"])
def test_a_session_in_use_is_joined_with_a_warning(bench, args):
    with ScriptedModel([Turn("one"), Turn("two")]) as server:
        assert bench.run("nebula", "-p", "go", **server.env()).code == 0
        ((session, _, _),) = sessions(bench)
        lock = SessionLock(
            os.path.join(derived_folder(str(bench.project), str(bench.home / ".nebula")), "sessions"), session
        )
        assert lock.take()
        ran = bench.run("nebula", *args, stdin="1\ngo on\nexit\n", **server.env())
        lock.release()
    assert ran.code == 0
    assert (ran.out + ran.err).count(f"{session} is in use by another process") == 1


def test_an_interrupted_prompt_does_not_join_the_next(bench):
    with ScriptedModel([Turn("late", fault=Fault.slow(30)), Turn("Only listed.")]) as server:
        with bench.start("nebula", "-p", "delete every test file", **server.env()) as running:
            server.wait_until(lambda: len(server.turns) == 1)
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
        assert running.returncode == 130
        assert bench.run("nebula", "-p", "no, only list them", "--resume", **server.env()).code == 0
    said = [(message["role"], message["content"]) for message in server.turns[1].json["messages"][1:]]
    assert [role for role, _ in said] == ["user", "assistant", "user"]
    assert "withdrew" in said[1][1]
    assert "delete every" not in said[2][1]


def test_a_killed_turn_is_there_however_often_the_session_is_resumed(bench):
    write = Call("writeFile", {"path": "a.txt", "content": "1\n"})
    script = [Turn("zero"), Turn("Writing.", [write]), Turn("late", fault=Fault.slow(30)), Turn("one"), Turn("two")]
    with ScriptedModel(script) as server:
        assert bench.run("nebula", "-p", "begin", **server.env()).code == 0
        with bench.start("nebula", "-p", "do it", "--resume", "--yes", **server.env()) as running:
            server.wait_until(lambda: len(server.turns) == 3)
            running.kill()
        for prompt in ("go on", "and on"):
            assert bench.run("nebula", "-p", prompt, "--resume", **server.env()).code == 0
    first, second = ([message["role"] for message in request.json["messages"][1:]] for request in server.turns[3:])
    killed = ["user", "assistant", "tool", "assistant"]
    assert first == ["user", "assistant", *killed, "user"]
    assert second == ["user", "assistant", *killed, "user", "assistant", "user"]


def test_a_killed_turn_of_a_session_that_branched_is_there_too(bench):
    write = Call("writeFile", {"path": "a.txt", "content": "1\n"})
    killed = [Turn("Writing.", [write]), Turn("late", fault=Fault.slow(30))]
    with ScriptedModel([Turn("zero"), Turn("nought"), *killed, Turn("one"), Turn("two"), Turn("three")]) as server:
        bench.run("nebula", stdin="begin\n/retry\nexit\n", **server.env())
        with bench.start("nebula", "-p", "do it", "--resume", "--yes", **server.env()) as running:
            server.wait_until(lambda: len(server.turns) == 4)
            running.kill()
        for prompt in ("go on", "and on", "and on"):
            assert bench.run("nebula", "-p", prompt, "--resume", **server.env()).code == 0
    sent = [[message["content"] for message in request.json["messages"][1:]] for request in server.turns[4:]]
    for said, ends in zip(sent, ([], ["one"], ["one", "two"]), strict=True):
        assert said[1] == "nought" and "do it" in said[2] and said[3] == "Writing." and "cut short" in said[5]
        assert [each for each in said[6:] if each in ("one", "two")] == ends


def test_a_killed_turn_stays_with_the_branch_it_was_asked_on(bench):
    """It is no part of a branch that begins before it, and there again for whoever goes back."""
    write = Call("writeFile", {"path": "a.txt", "content": "1\n"})
    killed = [Turn("Writing.", [write]), Turn("late", fault=Fault.slow(30))]
    answers = [Turn(each) for each in ("elsewhere", "still elsewhere")]
    with ScriptedModel([Turn("zero"), Turn("one"), *killed, *answers]) as server:
        bench.run("nebula", stdin="begin\ngo on\nexit\n", **server.env())
        with bench.start("nebula", "-p", "do it", "--resume", "--yes", **server.env()) as running:
            server.wait_until(lambda: len(server.turns) == 4)
            running.kill()
        first = next(each["node_id"] for each in bench.trace() if each["type"] == "final")
        bench.run("nebula", "--resume", stdin=f"/fork {first}\nanother way\nexit\n", **server.env())
        assert bench.run("nebula", "-p", "and then?", "--resume", **server.env()).code == 0
    said = [message["content"] for message in server.turns[5].json["messages"][1:]]
    assert [each for each in said if each in ("zero", "one", "elsewhere")] == ["zero", "elsewhere"]
    assert "Writing." not in said


def test_a_killed_session_is_listed_as_cut_short_and_a_living_one_as_active(bench):
    def listed():
        return [each["status"] for each in json.loads(bench.run("nebula", "sessions", "--json").out)]

    with ScriptedModel([Turn("late", fault=Fault.slow(60)), Turn("one")]) as server:
        with bench.start("nebula", "-p", "do it", **server.env()) as running:
            server.wait_until(lambda: len(server.turns) == 1)
            assert listed() == ["active"]
            running.kill()
        assert listed() == ["interrupted"]
        assert "cut short" in bench.run("nebula", "sessions").out
        assert "途中まで" in bench.run("nebula", "sessions", NEBULA_LANG="ja").out
        assert bench.run("nebula", "-p", "go on", "-c", **server.env()).code == 0
    assert listed() == ["completed"]


def test_a_session_killed_between_turns_lost_nothing(bench, terminal):
    with ScriptedModel([Turn("one")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("go")
        screen.prompt(times=2)
        screen.child.kill(signal.SIGKILL)
        screen.child.wait()
    (listed,) = json.loads(bench.run("nebula", "sessions", "--json").out)
    assert (listed["status"], listed["ended_at"]) == ("completed", None)
