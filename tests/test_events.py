"""The stream: redacted once, before anybody reads it."""

from nebula.events import Approval, Diff, EventStream, Message, Notice, ProposedChange, Step, Task, ToolResult
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


def test_only_who_is_asked_gets_the_whole_texts_and_nobody_looks_through_them(monkeypatch):
    looked = []
    monkeypatch.setattr("nebula.messages.redaction.holds_key", lambda text: bool(looked.append(text)))
    stream, (recorded, shown) = stream_of()
    old, new = "old\n" * 5000, "new\n" * 5000
    stream.emit(Approval("a", "write", "editFile", (ProposedChange("a.py", "changed", diff="+x", old=old, new=new),)))
    assert [each.event.changes[0].new for each in (*recorded, *shown)] == [None, new]
    assert "+x" in looked and not {old, new}.intersection(looked)


def test_what_a_secret_file_holds_is_in_no_event_and_nor_are_its_values_later():
    stream, (recorded, shown) = stream_of()
    result = ToolUseResult("c", (Json({"content": "PASSWORD=hunter2-hunter2"}),), ToolResultStatus.Success)
    stream.emit(ToolResult("readFile", result, secret=True))
    stream.emit(Message(AssistantMessage.new_response(None, "It is hunter2-hunter2.")))
    stream.emit(Diff("a.py", "+p = 'hunter2-hunter2'", 1, 0))
    for events in (recorded, shown):
        assert events[0].event.result.content[0].text == SECRET_CONTENT
        assert "hunter2" not in str([stamped.to_json() for stamped in events])


def test_what_names_a_secret_file_is_recorded_without_its_content():
    stream, (recorded, shown) = stream_of()
    change = ProposedChange("conf/.env", "changed", 1, 2, "+short", old="old", new="short")
    moved = ProposedChange("notes.txt", "changed", diff="+short", renamed_from="id_rsa")
    plain = ProposedChange("a.txt", "changed", diff="+plain")
    stream.emit(Approval("a", "command", "runCommand", (change, moved, plain), text="make"))
    stream.emit(Diff("conf/.env", "+short", 1, 2, "b" * 64, "a" * 64, "step 1"))
    stream.emit(Step("c", "writeFile", {"path": "conf/.env", "content": "", "edits": [{"new_text": "short"}], "n": 1}))
    question, diff, step = (stamped.event for stamped in recorded)
    assert [each.diff for each in question.changes] == [SECRET_CONTENT, SECRET_CONTENT, "+plain"]
    assert (question.changes[0].kind, question.changes[0].added, question.changes[0].new) == (
        "changed",
        1,
        SECRET_CONTENT,
    )
    assert (question.text, question.changes[1].renamed_from) == ("make", "id_rsa")
    assert diff == Diff("conf/.env", SECRET_CONTENT, 1, 2, "b" * 64, "a" * 64, "step 1")
    assert step.args == {"path": "conf/.env", "content": "", "edits": SECRET_CONTENT, "n": 1}
    assert [each.diff for each in shown[0].event.changes] == ["+short", "+short", "+plain"]


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
