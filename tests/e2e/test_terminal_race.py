"""/race and /take at a terminal, and nebula race there: live lines, stop, Esc."""

from __future__ import annotations

import threading
from dataclasses import replace

from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

ASK = "Go ahead? (y/N):"


def writes(request: RecordedRequest) -> Turn:
    if request.json["messages"][-1]["role"] != "tool":
        return Turn("", [Call("runCommand", {"command": "echo two > a.txt; echo b > b.txt"})])
    return Turn("Done.")


def test_a_race_in_a_session_and_parts_of_it_taken_and_taken_back(bench, terminal):
    bench.write("a.txt", "one\n")
    with ScriptedModel(writes) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("/race --tries 2 do it")
        screen.wait("/take 2 takes a try")
        assert bench.read("a.txt") == "one\n"
        screen.line("/compare a.txt")
        screen.wait("+two", times=2)
        screen.line("/compare nothing.txt")
        screen.wait("No try changed nothing.txt.")
        screen.line("/take 1:a.txt 2:b.txt")
        screen.wait("2 files change if you take this:")
        screen.wait(ASK)
        screen.line("y")
        screen.wait("b.txt (+1 −0)")
        screen.line("/undo")
        screen.wait("Taken back: a.txt, b.txt")
        assert bench.read("a.txt") == "one\n" and not (bench.project / "b.txt").exists()
        screen.line("/take 2 b.txt")
        screen.wait(ASK, times=2)
        screen.line("a")
        screen.wait("b.txt (+1 −0)", times=2)
        screen.line("/take 1")
        screen.wait(ASK, times=3)
        assert "From now on" not in screen.text  # the answer to the last question was no yes to anything else
        screen.line("y")
        screen.wait("The conversation goes on from this try.")
    assert (bench.read("a.txt"), bench.read("b.txt")) == ("two\n", "b\n")


def test_a_race_in_a_session_has_a_line_for_each_and_is_compared_before_its_end(bench, terminal):
    bench.write("a.txt", "one\n")
    go_on = threading.Event()

    def answer(request: RecordedRequest) -> Turn | Fault:
        results = [each for each in request.json["messages"] if each["role"] == "tool"]
        if request.json["model"] == "gpt-4.1-mini":
            return Fault.status_code(400, body='{"error": {"message": "not today"}}')
        if request.json["model"] == "gpt-4.1" or results:
            return replace(writes(request), until=go_on if request.json["model"] == "gpt-4.1" else None)
        return writes(request)

    with ScriptedModel(answer) as server:
        screen = terminal(server)
        screen.prompt()
        screen.line("/race do it")
        screen.wait("/race 3 TASK")
        screen.line("/race --models gpt-4.1-nano,gpt-4.1-mini,gpt-4.1 do it")
        screen.wait("1 gpt-4.1-nano: ok")
        screen.wait("2 gpt-4.1-mini: error: ")
        screen.wait("not today")
        screen.wait("3 gpt-4.1: asking the model · 0 rounds · 0 tokens · $0.0000")
        screen.line("compare a.txt")
        screen.wait("+two")
        screen.wait("Compared so far: 1, 2")
        go_on.set()
        screen.wait("3 gpt-4.1: ok")
        screen.wait("  2 error: ")
        screen.line("/race 2 once more")
        screen.wait("/take 2 takes a try", times=2)


def test_stop_ends_one_and_escape_all(bench, terminal):
    sleeps = Turn("", [Call("runCommand", {"command": "sleep 60"})])
    with ScriptedModel(lambda _: sleeps) as server:
        screen = terminal(server, "race", "do it", "--tries", "3")
        for number in (1, 2, 3):
            screen.wait(f"{number} gpt-4.1-nano: runCommand")
        for seconds in (2, 3):  # nothing happens, and the lines go on
            screen.wait(f" · {seconds} s")
        screen.line("stop 2")
        screen.wait("2 gpt-4.1-nano: interrupted")
        screen.send("\x1b")
        screen.wait("rounds")
        screen.wait("interrupted", times=3)


def test_a_try_is_taken_at_the_end_of_a_race(bench, terminal):
    bench.write("a.txt", "one\n")
    with ScriptedModel(writes) as server:
        screen = terminal(server, "race", "do it", "--tries", "2")
        screen.wait("Enter leaves them")
        screen.line("compare b.txt")
        screen.wait("b.txt: all alike")
        screen.wait("Enter leaves them", times=2)
        screen.line("take 9")
        screen.wait("There is no try 9 to take.")
        screen.line("take 2:a.txt")
        screen.wait("Take these 1 files? (y/N):")
        screen.line("y")
        screen.wait("a.txt (+1 −1)")
        screen.wait("Enter leaves them", times=4)
        screen.line("")
        assert screen.ended() == 0
    assert bench.read("a.txt") == "two\n" and not (bench.project / "b.txt").exists()
