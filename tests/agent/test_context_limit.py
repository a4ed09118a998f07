"""What of the past is sent where it hardly fits, and a server that says how much it takes. Real HTTP."""

from __future__ import annotations

import json

import pytest

from conftest import Bench
from in_process import run_here
from scripted_model import Call, Fault, RecordedRequest, ScriptedModel, Turn

LONG = "A sentence that says little. " * 380
"""Some 11 KB."""


def answers_sent(request: RecordedRequest) -> list[int]:
    return [len(each["content"] or "") for each in request.json["messages"] if each["role"] == "assistant"]


@pytest.mark.parametrize("tokens", [8192, 16_000, 32_000])
def test_the_direct_predecessor_is_sent_whole_while_there_is_room(bench: Bench, tokens: int) -> None:
    (bench.home / ".nebula").mkdir()
    (bench.home / ".nebula" / "config.json").write_text(json.dumps({"context_tokens": tokens}))
    with ScriptedModel([Turn(LONG), Turn("Changed.")]) as server:
        run_here(bench, "nebula", "-p", "write it", **server.env())
        run_here(bench, "nebula", "-c", "-p", "change it", **server.env())
    assert answers_sent(server.turns[1]) == [len(LONG)]


def test_compact_holds_where_failed_turns_came_last(bench: Bench) -> None:
    refused = Fault.status_code(400)
    script = [Turn("First. " * 600), Turn("Second. " * 600), Turn("Third. " * 600), refused, refused, Turn("Now.")]

    def play(request: RecordedRequest) -> Turn | Fault:
        is_summary = "要約とタグ付けを行う専門家" in json.dumps(request.json, ensure_ascii=False)
        return Turn("要約: in short\nタグ: a") if is_summary else script.pop(0)

    with ScriptedModel(play) as server:
        run_here(bench, "nebula", "-p", "a", **server.env())
        for prompt in ("b", "c", "d", "e"):
            run_here(bench, "nebula", "-c", "-p", prompt, **server.env())
        told = run_here(bench, "nebula", "-c", "-p", "/compact", **server.env())
        run_here(bench, "nebula", "-c", "-p", "f", **server.env())
    assert "2 more turns" in told.out + told.err
    whole = [size for size in answers_sent(server.turns[-1]) if size > 1_000]
    assert whole == [len("Third. " * 600)]
    assert "in short" in server.turns[-1].json["messages"][0]["content"]


FORMS = {
    "llama.cpp": {"code": 400, "message": "the request exceeds the available context size", "n_ctx": 8192},
    "llama.cpp, in words": {"message": "request (12000 tokens) exceeds the available context size (8192 tokens)"},
    "vLLM": {"message": "This model's maximum context length is 8192 tokens. However, you requested 12000 tokens"},
    "LM Studio": {
        "message": "Trying to keep the first 12000 tokens when context the overflows. However, the model is loaded with "
        "context length of only 8192 tokens, which is not enough."
    },
    "OpenAI": {
        "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 12000 tokens.",
        "code": "context_length_exceeded",
    },
}


@pytest.mark.parametrize("form", FORMS)
def test_what_a_server_takes_is_learnt_from_its_refusal_and_the_request_made_smaller(bench: Bench, form: str) -> None:
    """The sizes count in bytes here: three for a token."""

    def play(request: RecordedRequest) -> Turn | Fault:
        if len(request.body) > 8192 * 3:
            return Fault.status_code(400, body=json.dumps({"error": FORMS[form]}))
        return Turn(LONG)

    with ScriptedModel(play) as server:
        run_here(bench, "nebula", "-p", "one", **server.env())
        for prompt in ("two", "three"):
            last = run_here(bench, "nebula", "-c", "-p", prompt, **server.env())
    assert (last.code, last.out.strip()) == (0, LONG.strip())
    assert "8,192 tokens" in last.err and "context_tokens" in last.err
    assert len(server.turns[-2].body) > 8192 * 3 > len(server.turns[-1].body)


def test_in_a_session_the_next_turns_keep_to_what_was_learnt(bench: Bench) -> None:
    def play(request: RecordedRequest) -> Turn | Fault:
        if len(request.body) > 8192 * 3:
            return Fault.status_code(400, body=json.dumps({"error": FORMS["llama.cpp"]}))
        return Turn(LONG)

    with ScriptedModel(play) as server:
        run_here(bench, "nebula", stdin="\none\ntwo\nthree\nfour\nfive\nexit\n", **server.env())
    refused = [len(turn.body) > 8192 * 3 for turn in server.turns]
    assert refused.count(True) == 1


def test_a_request_that_cannot_be_made_smaller_says_which_setting_helps(bench: Bench) -> None:
    refusal = Fault.status_code(400, body=json.dumps({"error": {"message": "maximum context length is 300 tokens"}}))
    with ScriptedModel([refusal]) as server:
        ran = run_here(bench, "nebula", "-p", "one", **server.env())
    assert ran.code == 1 and "`context_tokens`" in ran.err
    assert len(server.turns) == 1


def test_references_take_a_quarter_of_the_context_at_most_and_it_is_said(bench: Bench) -> None:
    (bench.home / ".nebula").mkdir()
    (bench.home / ".nebula" / "config.json").write_text(json.dumps({"context_tokens": 16_000}))
    with ScriptedModel([Turn("Small."), Turn("x y " * 9_000), Turn("ok"), Turn("ok")]) as server:
        small, large = (
            run_here(bench, "nebula", "-p", each, "--output-format", "json", **server.env()) for each in "ab"
        )
        fits = run_here(bench, "nebula", "-p", f"@{small.json['node_id'][:13]}の詳細は？", **server.env())
        cut = run_here(bench, "nebula", "-p", f"@{large.json['node_id'][:13]}の詳細は？", **server.env())
    assert "are sent as summaries" not in fits.err and "are sent as summaries" in cut.err
    shown = [turn.json["messages"][0]["content"] for turn in server.turns[2:]]
    assert "[prompt]\na\n[answer]\nSmall." in shown[0]
    assert large.json["node_id"] in shown[1] and len(shown[1]) - len(shown[0]) < 4_000


def test_the_model_may_name_a_turn_by_the_beginning_of_its_id(bench: Bench) -> None:
    with ScriptedModel(lambda request: Turn("Harbour.") if len(server.turns) == 1 else script.pop(0)) as server:
        first = run_here(bench, "nebula", "-p", "a", "--output-format", "json", **server.env()).json["node_id"]
        calls = [Call("readNode", {"id": first[:13]}), Call("readNode", {"id": "ffffffff"})]
        script = [Turn("", calls), Turn("ok")]
        run_here(bench, "nebula", "-p", "b", **server.env())
    results = [each["content"] for each in server.turns[-1].json["messages"] if each["role"] == "tool"]
    assert first in results[0] and "Harbour." in results[0]
    assert "no turn with the id" in results[1]


def test_with_summaries_the_past_goes_as_those_and_what_is_missing_is_made(bench: Bench) -> None:
    answers = iter(("First. " * 300, "Second. " * 300, "Third. " * 300, "Fourth."))

    def play(request: RecordedRequest) -> Turn:
        is_summary = "要約とタグ付けを行う専門家" in json.dumps(request.json, ensure_ascii=False)
        return Turn("要約: in short\nタグ: a") if is_summary else Turn(next(answers))

    with ScriptedModel(play) as server:
        said = run_here(bench, "vizprompt", "chat", "--openai", stdin="a\nb\nc\nd\n/q\n", **server.env())
    assert said.code == 0
    last = server.turns[-1]
    assert answers_sent(last) == [len("Third. " * 300)]
    assert last.json["messages"][0]["content"].count("in short") == 2
