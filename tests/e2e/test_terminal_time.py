"""Sessions and time at the terminal: going on, going back, trying again."""

import json
import os
import re
import signal
import sqlite3

from scripted_model import Call, Fault, ScriptedModel, Turn
from terminal_driver import CTRL_D, ENTER

ASK = "Go ahead? (y/N):"


def write(path, content):
    return Turn("", [Call("writeFile", {"path": path, "content": content})])


def session_ids(bench):
    rows = sqlite3.connect(bench.home / ".nebula" / "memory.db").execute("SELECT id FROM sessions ORDER BY rowid")
    return [row[0] for row in rows]


def test_undo_redo_and_diff(bench, terminal):
    with ScriptedModel([write("notes.txt", "one\n"), Turn("Done.")]) as server:
        screen = terminal(server, "--yes")
        screen.prompt()
        screen.line("write")
        screen.prompt(times=2)
        screen.line("/diff")
        screen.wait("+one")
        screen.prompt(times=3)
        screen.line("/undo")
        screen.wait("Taken back: notes.txt")
        assert not (bench.project / "notes.txt").exists()
        screen.prompt(times=4)
        screen.line("/undo")
        screen.wait("There is nothing to undo.")
        screen.prompt(times=5)
        screen.line("/redo")
        screen.wait("Done again: notes.txt")
        assert bench.read("notes.txt") == "one\n"


def test_undo_touches_nothing_that_changed_since(bench, terminal):
    with ScriptedModel([write("notes.txt", "one\n"), Turn("Done.")]) as server:
        screen = terminal(server, "--yes")
        screen.prompt()
        screen.line("write")
        screen.prompt(times=2)
        bench.write("notes.txt", "mine now\n")
        screen.line("/undo")
        screen.wait("nothing was touched")
        assert bench.read("notes.txt") == "mine now\n"


def test_retry_and_edit_make_branches(bench, terminal):
    answers = [Turn(f"Answer {number}.") for number in (1, 2, 3, 4)]
    with ScriptedModel(answers) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("root question")
        screen.prompt(times=2)
        screen.line("second question")
        screen.prompt(times=3)
        screen.line("/retry")
        screen.wait("Answer 3.")
        screen.prompt(times=4)
        screen.line("/edit")
        screen.prompt("[AGENT] You: second question")
        screen.send(" changed" + ENTER)
        screen.wait("Answer 4.")
        screen.prompt(times=6)
        screen.line("/graph")
        screen.wait("1<")
        screen.prompt(times=7)
        screen.line("/tree")
        screen.wait("└ *")
    assert "  1<2\n  1<3\n  1<4" in screen.text
    assert re.search(r"├   [\w-]+  second question", screen.text)
    assert re.search(r"└ \* [\w-]+  second question changed", screen.text)
    sent = [json.dumps(request.json["messages"]) for request in server.turns]
    assert "Answer 2." not in sent[2] and "Answer 1." in sent[2]
    assert "Answer 3." not in sent[3] and "second question changed" in sent[3]


def test_fork_goes_back_with_the_files(bench, terminal):
    script = [
        write("notes.txt", "one\n"),
        Turn("First."),
        Turn("", [Call("editFile", {"path": "notes.txt", "new_content": "two\n"})]),
        write("extra.txt", "x"),
        Turn("Second."),
        Turn("Third."),
    ]
    with ScriptedModel(script) as server:
        screen = terminal(server, "--yes")
        screen.prompt()
        screen.line("first")
        screen.prompt(times=2)
        screen.line("second")
        screen.prompt(times=3)
        screen.line("/fork")
        screen.wait("Number of the turn to go on from")
        screen.line("2")
        screen.wait("2 files are not as that turn left them: extra.txt, notes.txt")
        screen.prompt(times=4)
        screen.line("/restore")
        screen.wait("Put back: extra.txt, notes.txt")
        screen.prompt(times=5)
        assert bench.read("notes.txt") == "one\n"
        assert not (bench.project / "extra.txt").exists()
        screen.line("third")
        screen.wait("Third.")
    sent = json.dumps(server.turns[-1].json["messages"])
    assert "First." in sent and "Second." not in sent


def test_the_list_of_sessions_and_resuming_one(bench, terminal):
    with ScriptedModel([Turn("最初の答え" * 20), Turn("Other."), Turn("Back again.")]) as server:
        for prompt in ("first topic", "other topic"):
            screen = terminal(server)
            screen.prompt()
            screen.line(prompt)
            screen.prompt(times=2)
            screen.send(CTRL_D)
            assert screen.ended() == 0
        screen = terminal(server, "-r", columns=80)
        screen.wait("or Enter for a new one:")
        first, second = session_ids(bench)
        listed = [line for line in screen.lines if re.match(r" +\d  \d{4}-\d\d-\d\d \d\d:\d\d  completed", line)]
        assert len(listed) == 2 and "Other." in listed[0] and "最初の答え" in listed[1]
        assert listed[1].endswith("…")
        screen.line("2")
        screen.wait(f"Resumed {first}")
        screen.prompt()
        assert "You: first topic" in screen.lines
        screen.line("go on")
        screen.wait("Back again.")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
        assert f"nebula --resume {first}" in screen.text
    assert "最初の答え" in json.dumps(server.turns[2].json, ensure_ascii=False)
    assert second not in screen.text


def test_continue_and_resume_skip_the_list(bench, terminal):
    with ScriptedModel([Turn("Once."), Turn("Twice."), Turn("Thrice.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("one")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
        (session_id,) = session_ids(bench)
        for args in (("-c",), ("--resume", session_id)):
            screen = terminal(server, *args)
            screen.prompt()
            screen.line("again")
            screen.prompt(times=2)
            screen.send(CTRL_D)
            screen.ended()
    assert session_ids(bench) == [session_id]
    assert "Once." in json.dumps(server.turns[2].json)


def test_no_sessions_of_another_directory(bench, terminal):
    with ScriptedModel([Turn("Here.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("hi")
        screen.prompt(times=2)
        screen.send(CTRL_D)
        screen.ended()
        (bench.project / "inner").mkdir()
        screen = terminal(server, "--root", "inner")
        screen.prompt()
        assert "Here." not in screen.text


def test_clear_begins_a_new_session_and_resume_goes_back(bench, terminal):
    with ScriptedModel([Turn("Old answer."), Turn("New answer."), Turn("Old again.")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("old")
        screen.prompt(times=2)
        screen.line("/clear")
        screen.wait("A new session begins")
        screen.prompt(times=3)
        screen.line("new")
        screen.prompt(times=4)
        assert "Old answer." not in json.dumps(server.turns[1].json)
        screen.line("/resume")
        screen.wait("or Enter for a new one:")
        screen.line("1")
        screen.wait("Resumed")
        screen.prompt(times=5)
        screen.line("old question")
        screen.wait("Old again.")
    assert "Old answer." in json.dumps(server.turns[2].json)
    assert "New answer." not in json.dumps(server.turns[2].json)


def test_the_model_chosen_stays_when_a_new_session_begins(bench, terminal):
    with ScriptedModel([Turn("ok")]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("model gpt-4.1-mini")
        screen.wait("Model: gpt-4.1-mini")
        screen.prompt(times=2)
        screen.line("/clear")
        screen.prompt(times=3)
        screen.line("hi")
        screen.prompt(times=4)
    assert server.turns[0].json["model"] == "gpt-4.1-mini"


def test_killed_in_the_middle_it_resumes_with_all_that_was_recorded(bench, terminal):
    bench.write("a.txt", "alpha\n")
    script = [
        Turn("Looking.", [Call("readFile", {"path": "a.txt"})]),
        Turn("never", fault=Fault.slow(30)),
        Turn("I remember."),
    ]
    with ScriptedModel(script) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("read a")
        screen.wait("Looking.")
        server.wait_until(lambda: len(server.turns) == 2)
        os.kill(screen.child.pid, signal.SIGKILL)
        screen.ended()
        screen = terminal(server, "-r")
        screen.wait("cut short")
        screen.line("1")
        screen.wait("Resumed")
        screen.prompt()
        screen.line("what did you see?")
        screen.wait("I remember.")
    sent = json.dumps(server.turns[2].json)
    assert "alpha" in sent and "readFile" in sent and "read a" in sent


def test_what_it_cost_and_what_is_sent(bench, terminal):
    with ScriptedModel([Turn("ok", input_tokens=1_000_000, output_tokens=100_000)]) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("/cost")
        screen.wait("Nothing was asked")
        screen.prompt(times=2)
        screen.line("hi")
        screen.prompt(times=3)
        screen.line("/cost")
        screen.wait("gpt-4.1-nano: 1,000,000 tokens in, 100,000 out · $0.1400")
        screen.prompt(times=4)
        screen.line("/context")
        screen.wait("past turns: 1 in full, 0 as summaries, 0 left out")
        screen.prompt(times=5)
        screen.line("/tools")
        screen.wait("writeFile")
        screen.prompt(times=6)
        screen.line("/compact")
        screen.wait("nothing to compact")
        screen.prompt(times=7)
        screen.line("/sessions")
        screen.wait("session_")
        screen.prompt(times=8)
        screen.line("/help")
        screen.wait("Ctrl+G")
    assert len(server.turns) == 1


def test_sessions_on_the_command_line(bench, terminal):
    with ScriptedModel([Turn("The answer 🌌.")]) as server:
        empty = bench.run("nebula", "sessions", "--json")
        assert (empty.code, empty.json) == (0, [])
        bench.run("nebula", "-p", "hi", **server.env())
    ran = bench.run("nebula", "sessions")
    (session_id,) = session_ids(bench)
    assert ran.code == 0
    assert ran.out.startswith(session_id)
    assert "completed" in ran.out and "gpt-4.1-nano" in ran.out and "The answer 🌌." in ran.out
    (listed,) = bench.run("nebula", "sessions", "--json").json
    assert listed["id"] == session_id
    assert {"started_at", "ended_at", "status", "model", "last_words", "messages"} <= listed.keys()
    assert bench.run("nebula", "sessions", "--root", "nowhere").code == 64
