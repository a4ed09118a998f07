"""A project from a stranger: looking at it, and working in it, touches nothing outside it and hangs on nothing."""

import os
import subprocess
import sys

import pytest

from scripted_model import Call, ScriptedModel, Turn

SCRIPT = [Turn("On it.", [Call("writeFile", {"path": "x.txt", "content": "1\n"})]), Turn("Done.")]


def run(bench):
    with ScriptedModel(SCRIPT) as server:
        return bench.run("nebula", "-p", "go", "--yes", **server.env())


@pytest.mark.parametrize("name", ["graph", "graph/nodes", "graph/flows", "journal", "journal/staging"])
def test_a_planted_folder_link_is_not_written_through(bench, tmp_path, name):
    victim = tmp_path / "victim"
    victim.mkdir()
    link = bench.project / ".nebula" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    ran = run(bench)
    assert os.listdir(victim) == []
    assert ran.err.startswith("nebula: ")
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["log.txt", "trace.jsonl", "audit.jsonl", ".gitignore"])
def test_a_planted_file_link_is_not_written_through(bench, tmp_path, name):
    victim = tmp_path / "victim"
    victim.write_text("precious\n", encoding="utf-8")
    (bench.project / ".nebula").mkdir()
    (bench.project / ".nebula" / name).symlink_to(victim)
    ran = run(bench)
    assert victim.read_text(encoding="utf-8") == "precious\n"
    assert "Traceback" not in ran.err


@pytest.mark.parametrize("name", ["log.txt", "trace.jsonl", "audit.jsonl"])
def test_a_planted_pipe_hangs_nobody(bench, name):
    (bench.project / ".nebula").mkdir()
    os.mkfifo(bench.project / ".nebula" / name)
    ran = run(bench)
    assert ran.code == 0
    assert f".nebula/{name} was not what it should be (a link, a pipe); it was set aside." in ran.err
    assert "Done." in ran.out
    assert (bench.project / ".nebula" / name).is_file()


@pytest.mark.parametrize(
    "name",
    [
        *("log.txt", "trace.jsonl", "audit.jsonl", "journal", "journal/objects", "journal/changes.jsonl"),
        *("journal/applying.json", "journal/objects/key"),
    ],
)
def test_a_planted_link_in_the_place_of_a_record_costs_no_turn(bench, tmp_path, name):
    link = bench.project / ".nebula" / name
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path)
    ran = run(bench)
    assert ran.code == 0
    assert (bench.project / "x.txt").read_text(encoding="utf-8") == "1\n"
    assert not link.is_symlink()


@pytest.mark.parametrize(
    "text", [b"[" * 1000, b"{", b"\xff", b'{"start": "x", "group": 1}', b'{"start": 0, "group": "a"}']
)
def test_a_planted_mark_of_a_half_applied_set_costs_no_turn(bench, text):
    marker = bench.project / ".nebula/journal/applying.json"
    marker.parent.mkdir(parents=True)
    marker.write_bytes(text)
    ran = run(bench)
    assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
    assert (bench.project / "x.txt").read_text(encoding="utf-8") == "1\n"


PLANTS = {
    "a link": lambda place, away: place.symlink_to(away),
    "a dangling link": lambda place, away: place.symlink_to(away / "nowhere"),
    "a pipe": lambda place, away: os.mkfifo(place),
    "a file": lambda place, away: place.write_bytes(b"x"),
}


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_state_folder_costs_one_remark_and_not_the_turn(bench, tmp_path, plant):
    away = tmp_path / "away"
    away.mkdir()
    PLANTS[plant](bench.project / ".nebula", away)
    with ScriptedModel([Turn("Nothing to it."), Turn("Nor now.")]) as server:
        ran = bench.run("nebula", "-p", "go", **server.env())
        assert (ran.code, ran.out) == (0, "Nothing to it.\n")
        assert ran.err.startswith("nebula: Nothing is recorded in the project: .nebula is a link or a file")
        assert len(ran.err.splitlines()) == 1
        again = bench.run("nebula", "-c", "-p", "and again", **server.env())
    assert again.code == 0 and os.listdir(away) == []
    assert "go" in str(server.turns[-1].json["messages"]), "the memory in the home has it"


@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_graph_costs_one_remark_and_not_the_turn(bench, tmp_path, plant):
    away = tmp_path / "away"
    away.mkdir()
    (bench.project / ".nebula").mkdir()
    PLANTS[plant](bench.project / ".nebula" / "graph", away)
    ran = run(bench)
    assert ran.code == 0 and (bench.project / "x.txt").exists()
    assert ran.err.count("The conversation is not kept in the project: .nebula/graph is a link or a file") == 1
    assert len(ran.err.splitlines()) == 2  # the other is how the turn ended
    assert bench.trace()[-1].get("node_id") is None and os.listdir(away) == []


def test_a_session_goes_on_where_nothing_can_be_taken_back(bench, tmp_path):
    (bench.project / ".nebula").symlink_to(tmp_path)
    commands = "hello\n/undo\n/redo\n/diff\n/tree\n/graph\n/fork\n/retry\n/cost\nexit\n"
    with ScriptedModel([Turn("Hello."), Turn("Once more.")]) as server:
        ran = bench.run("nebula", stdin=commands, **server.env())
    assert ran.code == 0 and ran.err == "" and "Once more." in ran.out


def test_a_write_that_no_journal_would_know_is_refused(bench, tmp_path):
    (bench.project / ".nebula").symlink_to(tmp_path)
    with ScriptedModel(SCRIPT) as server:
        bench.run("nebula", "-p", "go", "--yes", **server.env())
    assert not (bench.project / "x.txt").exists()
    assert ".nebula is a link" in str(server.turns[-1].json["messages"][-1])


# Drops the power of root to write where the permissions do not let it, then becomes the command.
WITHOUT_POWER = "import ctypes, os, sys; ctypes.CDLL(None).prctl(24, 1, 0, 0, 0); os.execv(sys.argv[1], sys.argv[1:])"


def without_power(bench, server, *words):
    argv = [sys.executable, "-c", WITHOUT_POWER, *bench.argv("nebula", "-p", *words)]
    env = bench.env(**server.env())
    return subprocess.run(argv, cwd=bench.project, env=env, capture_output=True, text=True, timeout=60, check=False)


def test_what_the_system_refuses_is_not_called_a_policy(bench):
    locked = bench.write("locked/a.txt", "x\n").parent
    write = Call("writeFile", {"path": "locked/b.txt", "content": "y\n"})
    with ScriptedModel([Turn("", [write]), Turn("It could not be written.")]) as server:
        locked.chmod(0o500)
        try:
            ran = without_power(bench, server, "write it", "--yes")
        finally:
            locked.chmod(0o700)
    told = server.turns[1].json["messages"][-1]["content"]
    assert told == '{"error":"locked/b.txt: the operating system denies access; check the permissions."}'
    assert "nebula: Something was refused and not done." in ran.stderr and "policy" not in ran.stderr


@pytest.mark.parametrize("mode", ["plan", "agent"])
@pytest.mark.parametrize("known", [False, True], ids=["new", "with a conversation"])
def test_a_read_only_project_can_be_talked_about(bench, mode, known):
    bench.write("readme.txt", "It is about stars.\n")
    look = Call("readFile", {"path": "readme.txt"})
    with ScriptedModel([Turn("Hello.")] * known + [Turn("", [look]), Turn("Stars.")]) as server:
        if known:
            bench.run("nebula", "-p", "hello", **server.env())
        before = sorted(bench.project.rglob("*"))
        folders = [bench.project, *(each for each in before if each.is_dir())]
        for folder in folders:
            folder.chmod(0o500)
        try:
            ran = without_power(bench, server, "what is it?", "--mode", mode)
        finally:
            for folder in folders:
                folder.chmod(0o700)
    assert (ran.returncode, ran.stdout) == (0, "Stars.\n"), ran.stderr
    assert ran.stderr.startswith("nebula: Nothing is recorded in the project: .nebula")
    assert len(ran.stderr.splitlines()) == 1
    assert sorted(bench.project.rglob("*")) == before
