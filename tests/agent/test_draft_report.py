"""What is shown of a message while it is written: how much, and the draft; never in a record, never a secret."""

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.agent.draft_report import DraftReport
from nebula.agent.loop import Turn
from nebula.events import Activity, Delta, EventStream, Message, Retry
from nebula.language import Sentence
from nebula.llm.contract import ModelReply, Retrying, TextDelta, Working
from nebula.messages import AssistantMessage
from nebula.messages.redaction import Redactor
from nebula.messages.redaction.arriving import ArrivingText
from nebula.tools.toolset import ToolSet
from plain_turn import run_turn


class Writing:
    """A model that sends these items, and then what they come to."""

    provider = "writing"

    def __init__(self, *items, content=None):
        self._items, self._content = items, content

    async def stream(self, request):
        text = ""
        for item in self._items:
            text = "" if isinstance(item, Retrying) else text + getattr(item, "text", "")
            yield item
        yield ModelReply(AssistantMessage.new_response("m", text if self._content is None else self._content))


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr("nebula.agent.draft_report.EVERY_S", 0.0)


def watch(model, secrets=()):
    recorded, shown = [], []
    stream = EventStream("s", recorders=(recorded.append,), audience=(), redactor=Redactor(secrets))
    stream.watchers = (shown.append,)
    stream.audience = (shown.append,)
    asyncio.run(run_turn(Turn(stream, model, "m", tools=ToolSet({}))))
    return [each.event for each in recorded], [each.event for each in shown], shown


def joined(events):
    """The text of the deltas as a reader of `--partial` puts it together."""
    text = ""
    for event in events:
        if isinstance(event, Retry) or (isinstance(event, Delta) and event.anew):
            text = ""
        if isinstance(event, Delta):
            text += event.text
        if isinstance(event, Message):
            return text
    return None


def test_it_is_told_what_the_model_does(at_once):
    pieces = Working("thinking"), TextDelta("Two wor"), TextDelta("ds 日本"), Working("calling", 2_000)
    _, shown, _ = watch(Writing(*pieces))
    assert [(str(each.sentence), each.words, each.characters) for each in shown if isinstance(each, Activity)] == [
        ("waiting for the model", None, None),
        ("thinking", None, None),
        ("answering", 2, None),
        ("answering", 4, None),
        ("writing tool calls", None, 2_000),
    ]


def test_no_record_holds_a_draft_and_numbers_have_no_gaps(at_once):
    recorded, _, stamped = watch(Writing(TextDelta("a b")))
    assert [each.type for each in recorded] == ["task", "message", "final"]
    assert [each.seq for each in stamped if each.event.type in ("task", "message", "final")] == [1, 2, 3]
    assert {each.seq for each in stamped if each.event.type == "delta"} == {1}


def test_the_deltas_are_the_message_also_after_a_retry(at_once):
    again = Retrying(Sentence("cut off"), 2, 0.0, 4)
    _, shown, _ = watch(Writing(TextDelta("half of "), again, TextDelta("The "), TextDelta("whole.\n")))
    assert joined(shown) == "The whole.\n"
    _, shown, _ = watch(Writing(TextDelta('{"name": "list"} '), content="Looking."))
    assert joined(shown) == "Looking."


def test_a_report_comes_at_most_ten_times_a_second():
    _, shown, _ = watch(Writing(*(TextDelta(f"{n} ") for n in range(500))))
    assert joined(shown) == "".join(f"{n} " for n in range(500))
    assert sum(isinstance(each, Activity) for each in shown) < 20


def test_without_anybody_who_watches_nothing_is_counted():
    stream = EventStream("s")
    report = DraftReport(stream)
    report.hear(TextDelta("word"))
    assert (report._pieces, report._text, report._words) == ([], [], 0)


SECRET = "correct horse battery"
KEY = "sk-abcdefghijklmnop1234567890"
PRIVATE = "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7x\n-----END RSA PRIVATE KEY-----"


def test_a_draft_shows_no_secret_either(at_once):
    parts = (
        "the word is correct ho",
        "rse batt",
        "ery, and ",
        KEY[:9],
        KEY[9:] + " too. ",
        f"Again: {SECRET}, ",
        "so.",
    )
    _, shown, _ = watch(Writing(*map(TextDelta, parts)), [SECRET])
    drafts = "".join(each.text for each in shown if isinstance(each, Delta))
    assert "the word is " in drafts and "Again: " in drafts
    assert not [each for each in ("correct", "horse", "batt", "ery,", KEY[9:]) if each in drafts]


@given(
    st.lists(st.sampled_from([SECRET, KEY, PRIVATE, " ", "\n", "word", "文字。", "correct ", "-", KEY[:9]])), st.data()
)
def test_however_it_is_cut_no_secret_is_seen(parts, data):
    redactor, text = Redactor([SECRET]), "".join(parts)
    arriving, seen = ArrivingText(redactor), ""
    start = 0
    while start < len(text):
        size = data.draw(st.integers(1, 12))
        seen += arriving.add(text[start : start + size])
        start += size
        assert redactor.text(text).startswith(seen)
    assert seen + arriving.end() == redactor.text(text)


async def test_until_it_is_asked_for_anew_it_is_not_said_to_be_waited_for():
    shown = []
    stream = EventStream("s", watchers=(shown.append,))
    draft = DraftReport(stream)
    draft.begin(Retrying(Sentence("too much"), 2, 0.2, 4, "limit"))
    assert [str(each.event.sentence) for each in shown] == ["waiting for the model", "rate limited, again in 1 s"]
    await asyncio.sleep(0.25)
    assert str(shown[-1].event.sentence) == "waiting for the model" and len(shown) == 3
    draft.begin(Retrying(Sentence("away"), 3, 0.01, 4, "unavailable"))
    draft.close()
    await asyncio.sleep(0.02)
    assert str(shown[-1].event.sentence) == "no answer from the provider, again in 1 s"
