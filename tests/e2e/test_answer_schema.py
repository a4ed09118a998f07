"""--output-schema and --output-last-message: an answer that a program reads."""

from __future__ import annotations

import json
import socket

import pytest

from scripted_model import Call, ScriptedModel, Turn

SCHEMA = {"type": "object", "properties": {"count": {"type": "integer"}}, "required": ["count"]}
PLAN = {"tasks": [{"id": "1", "title": "Look", "goal": "look at it"}]}
COMMANDS = {
    "nebula": ("nebula", "-p", "count", "--yes"),
    "evercontext": ("evercontext", "run", "--plan", "plan.json", "--task", "count"),
}


@pytest.fixture(params=COMMANDS)
def ask(request, bench):
    """Run one of the commands; the last turns are those of the answer, asked for in a schema."""
    bench.write("schema.json", json.dumps(SCHEMA))
    bench.write("plan.json", json.dumps(PLAN))
    before = [Turn("Looked.")] if request.param == "evercontext" else []

    def run(*turns: Turn, argv: tuple[str, ...] = ("--output-schema", "schema.json")):
        with ScriptedModel([*before, *turns]) as server:
            words = (*COMMANDS[request.param], "--output-format", "json", "--output-last-message", "last.txt", *argv)
            ran = bench.run(*words, **server.env())
            return ran, server.turns[len(before) :]

    return run


def test_an_answer_of_the_schema_is_told_for_and_given_bare(ask, bench):
    ran, asked = ask(Turn("", [Call("listFiles", {})]), Turn('```json\n{"count": 3}\n```'))
    assert (ran.code, ran.json["text"], bench.read("last.txt")) == (0, '{"count": 3}', '{"count": 3}'), ran.err
    assert len(asked) == 2 and all('"count"' in str(each.json["messages"][0]["content"]) for each in asked)


@pytest.mark.parametrize("wrong", ["three", '{"count": "three"}', "{}"])
def test_a_wrong_answer_is_asked_for_once_more(ask, wrong):
    ran, asked = ask(Turn(wrong), Turn('{"count": 3}'))
    assert (ran.code, ran.json["text"]) == (0, '{"count": 3}'), ran.err
    assert [each["role"] for each in asked[1].json["messages"][-2:]] == ["assistant", "user"]
    assert asked[1].json["messages"][-2]["content"] == wrong
    assert ran.json["usage"]["output_tokens"] >= 2 * 20


def test_two_wrong_answers_end_with_exit_code_3(ask):
    ran, asked = ask(Turn("three"), Turn("four"))
    assert (ran.code, ran.json["exit_code"], ran.json["status"], len(asked)) == (3, 3, "error", 2)
    assert "it is not JSON" in ran.json["remark"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "not JSON",
        '{"type": "no such type"}',
        '{"type": 3}',
        '{"$schema": 5}',
        '{"$ref": "#"}',
        '{"not": {"$ref": "#/x"}}',
    ],
    ids=["empty", "list", "words", "type", "3", "dialect", "circle", "nowhere"],
)
def test_a_schema_that_is_none_costs_no_request(ask, bench, text):
    bench.write("bad.json", text)
    ran, asked = ask(argv=("--output-schema", "bad.json"))
    assert ran.code == 64 and asked == []
    missing, asked = ask(argv=("--output-schema", "missing.json"))
    assert missing.code == 64 and asked == []


def test_nothing_is_fetched_for_a_schema(ask, bench):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        bench.write("far.json", json.dumps({"$ref": f"http://127.0.0.1:{listener.getsockname()[1]}/schema.json"}))
        ran, asked = ask(Turn('{"count": 3}'), argv=("--output-schema", "far.json"))
        listener.setblocking(False)
        with pytest.raises(BlockingIOError):
            listener.accept()
    assert ran.code == 64 and asked == [] and "which is not in it" in ran.err


def test_the_options_need_a_prompt(bench):
    assert bench.run("nebula", "--output-schema", "schema.json").code == 64
