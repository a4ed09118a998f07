"""The stream: redacted once, before anybody reads it."""

from nebula.events import Approval, Diff, EventStream, Message, Notice, ProposedChange, Task, ToolResult
from nebula.language import Sentence, explain_to
from nebula.messages import AssistantMessage, Json, ToolResultStatus, ToolUseResult
from nebula.messages.redaction import REDACTED, SECRET_CONTENT, Redactor

KEY = "sk-test-1234567890"


def stream_of(*secrets):
    recorded, shown = [], []
    return EventStream("s", recorders=(recorded.append,), audience=(shown.append,), redactor=Redactor(secrets)), (
        recorded,
        shown,
    )


def test_every_reader_gets_the_redacted_event():
    stream, (recorded, shown) = stream_of(KEY)
    stream.emit(Task(f"use {KEY}", "agent", "m"))
    assert recorded[0].event.prompt == shown[0].event.prompt == f"use {REDACTED}"


def test_what_somebody_approves_is_seen_by_them_and_by_nobody_else():
    stream, (recorded, shown) = stream_of(KEY)
    change = (ProposedChange("p", "changed", diff=f"+{KEY}"),)
    stream.emit(Approval("a", "write", "writeFile", change))
    stream.emit(Approval("b", "write", "writeFile", change, decision="yes"))
    assert [stamped.event.diff for stamped in recorded] == [f"+{REDACTED}"] * 2
    assert [stamped.event.diff for stamped in shown] == [f"+{KEY}", f"+{REDACTED}"]


def test_what_a_secret_file_holds_is_in_no_event_and_nor_are_its_values_later():
    stream, (recorded, shown) = stream_of()
    result = ToolUseResult("c", (Json({"content": "PASSWORD=hunter2-hunter2"}),), ToolResultStatus.Success)
    stream.emit(ToolResult("readFile", result, secret=True))
    stream.emit(Message(AssistantMessage.new_response(None, "It is hunter2-hunter2.")))
    stream.emit(Diff("a.py", "+p = 'hunter2-hunter2'", 1, 0))
    for events in (recorded, shown):
        assert events[0].event.result.content[0].text == SECRET_CONTENT
        assert "hunter2" not in str([stamped.to_json() for stamped in events])


def test_a_notice_is_english_on_the_wire_and_in_the_readers_language():
    notice = Notice(Sentence("The prompt is longer than {limit} bytes; its end was not sent.", limit="4"))
    assert notice.to_json() == {
        "type": "notice",
        "message": "The prompt is longer than 4 bytes; its end was not sent.",
    }
    assert "4 バイト" in explain_to("ja", notice.sentence)


def test_an_error_inside_a_sentence_is_redacted_too():
    stream, (recorded, _) = stream_of(KEY)
    stream.emit(Notice(Sentence("It failed: {problem}", problem=OSError(f"no {KEY} here"), count=3)))
    assert str(recorded[0].event.sentence) == f"It failed: no {REDACTED} here"
    assert recorded[0].event.sentence.values["count"] == 3
