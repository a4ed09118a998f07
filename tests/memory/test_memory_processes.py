"""Memory under several processes, and under kill -9: what was acknowledged is there."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from nebula.events import EventStream, Message, Step, Task, ToolResult
from nebula.memory.recorder import MemoryReader
from nebula.memory.sessions import Sessions
from nebula.messages import AssistantMessage, AssistantToolUse, Json, ToolResultStatus, ToolUseResult

TALKER = """
import sys
from nebula.events import EventStream, Message, Task, ToolResult
from nebula.memory.recorder import MemoryReader
from nebula.memory.sessions import Sessions
from nebula.messages import AssistantMessage, AssistantToolUse, Json, ToolResultStatus, ToolUseResult

path, project, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
sessions = Sessions(path)
session_id = sessions.start(project, "m")
stream = EventStream(session_id, recorders=(MemoryReader(sessions, session_id),))
def acknowledge(what):
    sys.stdout.write(f"{what}\\n")
    sys.stdout.flush()
acknowledge(session_id)
sys.stdin.readline()
for n in range(rounds):
    stream.emit(Task(f"prompt {n}", "agent", "m"))
    acknowledge(n)
    uses = [AssistantToolUse(f"c{n}", "readFile", "readFile", {"n": n}, {"n": n})]
    stream.emit(Message(AssistantMessage.new_tool_use(None, f"act {n}", uses)))
    acknowledge(n)
    stream.emit(ToolResult("readFile", ToolUseResult(f"c{n}", (Json({"n": n}),), ToolResultStatus.Success)))
    acknowledge(n)
    stream.emit(Message(AssistantMessage.new_response(None, f"end {n}")))
    acknowledge(n)
"""


def talker(path, project, rounds=10_000, stdin=subprocess.DEVNULL):
    """Begins its session, and talks when it is told to or nobody can tell it."""
    command = [sys.executable, "-c", TALKER, str(path), str(project), str(rounds)]
    return subprocess.Popen(command, stdin=stdin, stdout=subprocess.PIPE, text=True)


def assert_is_a_talk(messages):
    for place, message in enumerate(messages):
        n, kind = divmod(place, 4)
        if kind == 0:
            assert message.prompt == f"prompt {n}"
        elif kind == 1:
            assert (message.content, message.tool_uses[0].args) == (f"act {n}", {"n": n})
        elif kind == 2:
            assert message.tool_use_results[0].content == (Json({"n": n}),)
        else:
            assert message == AssistantMessage.new_response(None, f"end {n}")


@pytest.mark.slow
def test_killed_at_any_time_nothing_acknowledged_is_lost(tmp_path):
    path = tmp_path / "home" / "memory.db"
    chance = random.Random(7)
    for _ in range(24):
        pair = [talker(path, tmp_path, stdin=subprocess.PIPE) for _ in range(2)]
        # The first line comes with the session; only then does the clock of this kill run. Who began at once, and never
        # rested, might not let the other begin.
        firsts = [process.stdout.readline() for process in pair]
        for process in pair:
            process.stdin.write("\n")
            process.stdin.flush()
        time.sleep(chance.uniform(0, 0.15))
        for process in pair:
            process.send_signal(signal.SIGKILL)
        for process, first in zip(pair, firsts, strict=True):
            acknowledged = process.communicate()[0].count("\n")
            with Sessions(str(path)) as sessions:
                session_id = first.strip()
                assert sessions.find(session_id).status == "active"
                messages = sessions.messages(session_id)
                assert acknowledged <= len(messages) <= acknowledged + 1
                assert_is_a_talk(messages)
                sessions.resume(session_id)
                sessions.append_user(session_id, "and on")
                assert len(sessions.messages(session_id)) == len(messages) + 1


@pytest.mark.slow
def test_processes_that_meet_on_a_new_file_all_write(tmp_path):
    path = tmp_path / "home" / "memory.db"
    processes = [talker(path, tmp_path, rounds=15) for _ in range(5)]
    outputs = [process.communicate(timeout=60)[0].splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0] * 5
    with Sessions(str(path)) as sessions:
        assert {each.id for each in sessions.of_project(str(tmp_path))} == {output[0] for output in outputs}
        for output in outputs:
            messages = sessions.messages(output[0])
            assert len(messages) == 60
            assert_is_a_talk(messages)


def test_the_reader_stores_what_was_said_and_nothing_else(tmp_path):
    with Sessions(str(tmp_path / "memory.db")) as sessions, Sessions(str(tmp_path / "memory.db")) as another:
        session_id = sessions.start(str(tmp_path), "m")
        stream = EventStream(session_id, recorders=(MemoryReader(sessions, session_id),))
        uses = [AssistantToolUse("c1", "read_file", "readFile", {"path": "a"}, {"path": "a"})]
        said = AssistantMessage.new_tool_use(None, "", uses)
        seen_by_another = []
        for event in (
            Task("go", "agent", "m"),
            Message(said),
            Step("c1", "read_file", {"path": "a"}),
            ToolResult("readFile", ToolUseResult("c1", (Json({"content": ""}),), ToolResultStatus.Success)),
        ):
            stamped = stream.emit(event)
            seen_by_another.append(len(another.messages(session_id)))
        assert seen_by_another == [1, 2, 2, 3]
        prompt, stored, _ = another.messages(session_id)
        assert stored == said
        assert prompt.timestamp is not None
        assert stamped.session_id == session_id
        assert os.path.realpath(tmp_path) == another.find(session_id).project_path


@pytest.mark.slow
def test_killed_while_the_file_is_made_it_can_still_be_opened(tmp_path):
    chance = random.Random(11)
    for n in range(25):
        path = tmp_path / f"home{n}" / "memory.db"
        with talker(path, tmp_path, rounds=1) as process:
            while not path.exists() and process.poll() is None:
                time.sleep(0.0005)
            time.sleep(chance.uniform(0, 0.01))
            process.kill()
        with Sessions(str(path)) as sessions:
            assert sessions.find(sessions.start(str(tmp_path), "m")).status == "active"
