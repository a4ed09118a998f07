"""The wire form of every event and value, to the letter, and the stream that numbers and stamps them."""

from __future__ import annotations

import importlib
import os
import pkgutil
import time
import uuid
from datetime import datetime
from typing import Any

import pytest

import nebula.events
from nebula.attachments import Attachment
from nebula.events import (
    Approval,
    Checked,
    CheckRun,
    Citations,
    Diff,
    Error,
    Event,
    EventStream,
    Evidence,
    Final,
    Message,
    Notice,
    Output,
    Plan,
    ProposedChange,
    RecordingFailed,
    Retry,
    Stamped,
    Step,
    StepOutcome,
    Task,
    ToolResult,
    TurnNotKept,
    Usage,
    new_trace_id,
)
from nebula.language import Sentence
from nebula.messages import AssistantMessage, AssistantToolUse, Text, ToolResultStatus, ToolUseResult
from rows import each_row

WHY = Sentence("It took {seconds} s.", seconds=3)
CALL = AssistantToolUse("c1", "list", "ls", {"path": "."}, {"path": "."})
CALLING = AssistantMessage.new_tool_use("m1", "I look.", [CALL])
RESULT = ToolUseResult("c1", (Text("a"),), ToolResultStatus.Success)
NOTHING = {"input_tokens": 0, "output_tokens": 0, "cached_input_tokens": 0}


@each_row(
    ("fact", "body"),
    [
        (Usage(1, 2), {"input_tokens": 1, "output_tokens": 2, "cached_input_tokens": 0}),
        (
            Usage(9, 2, 4, 3),
            {"input_tokens": 9, "output_tokens": 2, "cached_input_tokens": 4, "cache_write_tokens": 3},
        ),
        (CheckRun("ruff", True, "fine"), {"name": "ruff", "passed": True, "summary": "fine"}),
        (CheckRun("ruff", False, "1", 2), {"name": "ruff", "passed": False, "summary": "1", "exit_code": 2}),
        (
            StepOutcome("1", "failed", "Look", WHY, 1.5, 2),
            {"id": "1", "state": "failed", "title": "Look", "remark": "It took 3 s.", "duration_s": 1.5, "attempts": 2},
        ),
        (
            StepOutcome("1", "done"),
            {"id": "1", "state": "done", "title": "", "remark": "", "duration_s": 0.0, "attempts": 1},
        ),
        (Evidence("a", "L1-2", "b", "c"), {"path": "a", "span": "L1-2", "blob": "b", "commit": "c"}),
        (Citations(1, 2), {"held": 1, "total": 2}),
        (
            ProposedChange("a", "created", 1, 2, "+x", "b"),
            {"path": "a", "kind": "created", "added": 1, "removed": 2, "diff": "+x", "renamed_from": "b"},
        ),
        (ProposedChange("a", "mode"), {"path": "a", "kind": "mode", "added": 0, "removed": 0, "diff": ""}),
    ],
)
def test_a_value_on_the_wire(fact: Any, body: dict[str, Any]) -> None:
    assert fact.to_json() == body


@each_row(
    ("event", "body"),
    [
        (
            Message(CALLING, Usage(1, 2), "fenced", "t1", 1.5, "length"),
            {
                "type": "message",
                "role": "assistant",
                "text": "I look.",
                "tool_calls": [{"id": "c1", "name": "list", "args": {"path": "."}}],
                "message": CALLING.to_json(),
                "usage": {"input_tokens": 1, "output_tokens": 2, "cached_input_tokens": 0},
                "rung": "fenced",
                "task_id": "t1",
                "duration_s": 1.5,
                "stop": "length",
            },
        ),
        (
            Message(AssistantMessage.new_response(None, "Done.")),
            {
                "type": "message",
                "role": "assistant",
                "text": "Done.",
                "tool_calls": [],
                "message": AssistantMessage.new_response(None, "Done.").to_json(),
                "usage": NOTHING,
            },
        ),
        (
            ToolResult("list", RESULT, "yes", 1.5, "t1", True, CheckRun("ruff", True), False, (Evidence("a", "L1-2"),)),
            {
                "type": "tool_result",
                "tool": "list",
                "tool_use_id": "c1",
                "status": "Success",
                "result": RESULT.to_json(),
                "decision": "yes",
                "duration_s": 1.5,
                "task_id": "t1",
                "refused": True,
                "check": {"name": "ruff", "passed": True, "summary": ""},
                "evidence": [{"path": "a", "span": "L1-2", "blob": "", "commit": ""}],
            },
        ),
        (
            ToolResult("list", RESULT),
            {
                "type": "tool_result",
                "tool": "list",
                "tool_use_id": "c1",
                "status": "Success",
                "result": RESULT.to_json(),
            },
        ),
        (Notice(Sentence("Look."), task_id="t1"), {"type": "notice", "message": "Look.", "task_id": "t1"}),
        (Notice(Sentence("{braces} stay")), {"type": "notice", "message": "{braces} stay"}),
        (
            Error("llm", Sentence("No {name}.", name="x"), "t1", "line 3"),
            {"type": "error", "kind": "llm", "message": "No x.", "task_id": "t1", "detail": "line 3"},
        ),
        (Error("llm", Sentence("No.")), {"type": "error", "kind": "llm", "message": "No."}),
        (Output("c1"), {"type": "output", "tool_use_id": "c1", "text": ""}),
        (
            Step("c1", "list", {"a": (1, 2)}),
            {"type": "step", "tool_use_id": "c1", "name": "list", "args": {"a": [1, 2]}},
        ),
        (Checked(CheckRun("ruff", False)), {"type": "check", "check": CheckRun("ruff", False).to_json(), "round": 0}),
        (
            Plan({"tasks": [WHY]}, evidence=(Evidence("a", "L1-2"),)),
            {"type": "plan", "plan": {"tasks": [WHY.to_json()]}, "evidence": [Evidence("a", "L1-2").to_json()]},
        ),
        (Retry(WHY, 2), {"type": "retry", "reason": WHY.to_json(), "attempt": 2, "delay_s": 0.0}),
        (
            Final("A", "ok", 0, (Diff("a", "", 1, 2, "b", "c"),), remark=WHY, steps=(StepOutcome("1", "done"),)),
            {
                "type": "final",
                "text": "A",
                "status": "ok",
                "exit_code": 0,
                "files_changed": [{"path": "a", "added": 1, "removed": 2, "before": "b", "after": "c"}],
                "usage": NOTHING,
                "duration_s": 0.0,
                "node_id": None,
                "remark": "It took 3 s.",
                "checks": [],
                "steps": [StepOutcome("1", "done").to_json()],
            },
        ),
    ],
)
def test_an_event_on_the_wire(event: Event, body: dict[str, Any]) -> None:
    assert event.to_json() == body


def test_a_final_always_has_a_node_and_a_remark() -> None:
    body = Final("", "ok", 0, node_id="n1").to_json()
    assert (body["node_id"], body["remark"]) == ("n1", "")


def test_a_stamp_on_the_wire() -> None:
    assert Stamped(Output("c1"), "t", "s", 7, "2025-05-08").to_json() == {
        "type": "output",
        "trace_id": "t",
        "session_id": "s",
        "seq": 7,
        "ts": "2025-05-08",
        "tool_use_id": "c1",
        "text": "",
    }


def test_usage_is_summed() -> None:
    assert Usage(1, 2) + Usage(10, 20) == Usage(11, 22)


def test_a_trace_id_is_a_uuid_that_sorts_by_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time_ns", lambda: 0xF123456789ABC * 1_000_000 + 999_999)
    monkeypatch.setattr(os, "urandom", lambda size: bytes.fromhex("fed0112233445566778899aa")[:size])
    made = uuid.UUID(new_trace_id())
    assert str(made) == "12345678-9abc-7fed-9122-334455667788"
    assert (made.version, made.variant) == (7, uuid.RFC_4122)


# The stream


def test_events_are_numbered_from_one_and_carry_where_they_stand() -> None:
    stream = EventStream("s", "t")
    stamps = [stream.emit(Output(name)) for name in "abc"]
    assert [(each.trace_id, each.session_id, each.seq) for each in stamps] == [
        ("t", "s", 1),
        ("t", "s", 2),
        ("t", "s", 3),
    ]
    for each in stamps:
        assert datetime.fromisoformat(each.ts).tzinfo is not None
        assert len(each.ts.partition(".")[2].partition("+")[0].partition("-")[0]) == 3, "milliseconds"


def test_the_one_who_reads_first_comes_before_the_others_and_the_audience() -> None:
    heard: list[str] = []
    stream = EventStream(
        "s", recorders=(lambda _: heard.append("recorder"),), audience=(lambda _: heard.append("audience"),)
    )
    stream.read_first_by(lambda _: heard.append("first"))
    stream.emit(Output("c"))
    assert heard == ["first", "recorder", "audience"]


def failing(problem: Exception) -> EventStream:
    def record(_: Stamped) -> None:
        raise problem

    return EventStream("s", recorders=(record,))


def test_what_cannot_be_recorded_ends_the_turn_and_has_its_number() -> None:
    stream = failing(OSError("disk full"))
    for number in (1, 2):
        with pytest.raises(RecordingFailed) as caught:
            stream.emit(Output("c"))
        assert stream.seq == number
    assert str(caught.value) == (
        "This turn could not be recorded (disk full). Make room or repair the file, then go on."
    )
    assert isinstance(caught.value.__cause__, OSError)


def test_a_turn_that_is_no_node_keeps_its_number_for_the_next_event() -> None:
    def keep(stamped: Stamped) -> None:
        if isinstance(stamped.event, Final) and stamped.event.node_id:
            raise TurnNotKept("no room")

    heard: list[Stamped] = []
    stream = EventStream("s", recorders=(keep,), audience=(heard.append,))
    stamped = stream.emit(Final("", "ok", 0, node_id="n"))
    assert [(each.event.type, each.seq) for each in heard] == [("error", 1), ("final", 2)]
    assert stamped == heard[-1] and isinstance(stamped.event, Final) and stamped.event.node_id is None


def test_the_end_of_a_turn_is_heard_where_it_cannot_be_recorded() -> None:
    heard: list[Stamped] = []
    stream = failing(OSError("disk full"))
    stream.audience = (heard.append,)
    stamped = stream.emit(Final("", "error", 1), must_record=False)
    assert (heard, stamped.seq, stream.seq) == ([stamped], 1, 1)


def test_a_secret_attachment_is_read_by_nobody_and_nor_are_its_values_later() -> None:
    stream = EventStream("s")
    attachments = (
        Attachment("env", "file", 24, "PASSWORD=hunter2-hunter2", secret=True),
        Attachment("a.txt", "file", 2, "hi"),
    )
    task = stream.emit(Task("look", "agent", "m", attachments=attachments)).event
    assert isinstance(task, Task) and task.prompt == "look"
    assert [(each.name, each.text) for each in task.attachments] == [
        ("env", attachments[0].recorded().text),
        ("a.txt", "hi"),
    ]
    change = ProposedChange("p", "changed", diff="+hunter2-hunter2")
    later = stream.emit(Approval("a", "write", "t", (change,), decision="yes")).event
    assert isinstance(later, Approval) and "hunter2" not in later.diff
    untouched = stream.emit(Task("look", "agent", "m", attachments=attachments[1:])).event
    assert isinstance(untouched, Task) and untouched.attachments == attachments[1:]


@pytest.mark.parametrize("path", [".env", "deploy/id_rsa", "x.pem"])
def test_no_hash_of_a_secret_file_is_on_the_wire(path: str) -> None:
    made, gone = Diff(path, "", 1, 0, "", "a" * 64), Diff(path, "", 0, 1, "b" * 64, "")
    for event in (made, gone):
        final = Final("", "ok", 0, (event,)).to_json()["files_changed"][0]
        assert "a" * 64 not in str((event.to_json(), final)) and "b" * 64 not in str((event.to_json(), final))
        states = {"before": event.before and "[redacted]", "after": event.after and "[redacted]"}
        assert event.to_json().items() >= states.items() <= final.items()
    assert Diff("a.txt", "", 1, 0, "", "a" * 64).to_json()["after"] == "a" * 64


def test_every_event_is_offered_and_so_described() -> None:
    """The reference lists what `nebula.events` exports: an event that is left out there would be in no document."""
    for module in pkgutil.iter_modules(nebula.events.__path__):
        importlib.import_module(f"nebula.events.{module.name}")
    kinds = [each for each in of_kind(Event) if each.type and each.__module__.startswith("nebula.events.")]
    assert len(kinds) > 15
    assert [each.__name__ for each in kinds if each.__name__ not in nebula.events.__all__] == []


def of_kind(kind: type[Event]) -> list[type[Event]]:
    return [found for each in kind.__subclasses__() for found in (each, *of_kind(each))]
