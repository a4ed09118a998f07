"""A model without tool calls of its own is told of exactly what it is offered, and retold exactly what it did."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from conftest import Bench
from in_process import run_here
from nebula.tools.registry import TOOLS
from scripted_model import RecordedRequest, ScriptedModel, Turn

SPEAKS_JSON = {"hermes3:8b": ("completion",)}


def say(answer: str = "", **calls: dict[str, Any]) -> Turn:
    entries = [{"name": name, "parameters": parameters} for name, parameters in calls.items()]
    return Turn(json.dumps({"thought": "", "tool_calls": entries, "final_answer": answer}))


def system_of(request: RecordedRequest) -> str:
    return str(request.json["messages"][0]["content"])


def offered(system: str) -> dict[str, Any]:
    listed = re.search(r"<tools>\n(.*)\n</tools>", system, re.DOTALL)
    assert listed is not None
    return {spec["name"]: spec for spec in map(json.loads, listed[1].split("\n"))}


@pytest.mark.parametrize("mode", ["agent", "plan"])
def test_the_prompt_names_only_what_is_offered(bench: Bench, mode: str) -> None:
    with ScriptedModel([say("Done.")], capabilities=SPEAKS_JSON) as server:
        ran = run_here(bench, "nebula", "-p", "look", "--mode", mode, **server.env("ollama"))
    assert ran.out == "Done.\n"
    system = system_of(server.turns[0])
    tools = offered(system)
    ours = {tool.name for tool in TOOLS if not tool.name.islower()} | {"`list`", "new_content"}
    assert [name for name in ours if name in system] == []
    for name in re.findall(r"`(\w+)`(?= with mode| with `edits`)", system):
        assert name in tools
    if mode == "agent":
        assert tools["write_file"]["parameters"]["properties"]["mode"]["enum"] == ["create", "overwrite", "append"]
        shown = re.findall(r"\bcall (\w+) (\{.*?\})\.", system)
        assert [name for name, _ in shown] == ["read_file", "write_file"]
        for name, arguments in shown:
            assert json.loads(arguments).keys() <= tools[name]["parameters"]["properties"].keys()


def test_calls_are_retold_with_every_argument(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\n")
    calls = [
        {"read_file": {"path": "a.txt", "start_line": 1, "end_line": 2}},
        {"edit_file": {"path": "a.txt", "edits": [{"old_text": "one\n", "new_text": "ONE\n", "all": True}]}},
        {"write_file": {"path": "a.txt", "content": "three\n", "mode": "append"}},
        {"write_file": {"path": "new.txt", "content": "x\n", "mode": "create"}},
        {"write_file": {"path": "new.txt", "content": "y\n", "mode": "overwrite"}},
        {"list_files": {"path": ".", "recursive": True}},
    ]
    script = [*(say("", **call) for call in calls), say("Done."), say("Again.")]
    with ScriptedModel(script, capabilities=SPEAKS_JSON) as server:
        ran = run_here(bench, "nebula", "-p", "work", "--yes", **server.env("ollama"))
        assert (ran.code, bench.read("a.txt"), bench.read("new.txt")) == (0, "ONE\ntwo\nthree\n", "y\n")
        run_here(bench, "nebula", "-c", "-p", "and now?", **server.env("ollama"))
    for request in server.turns[len(calls)], server.turns[-1]:
        retold = [json.loads(each["content"]) for each in request.json["messages"] if each["role"] == "assistant"]
        made = [{call["name"]: call["parameters"]} for each in retold for call in each["tool_calls"]]
        assert made == calls


def test_append_makes_a_file_and_needs_no_reading(bench: Bench) -> None:
    bench.write("log.txt", "old\n")
    script = [
        say("", write_file={"path": "log.txt", "content": "more\n", "mode": "append"}),
        say("", write_file={"path": "fresh.txt", "content": "first\n", "mode": "append"}),
        say("Done."),
    ]
    with ScriptedModel(script, capabilities=SPEAKS_JSON) as server:
        run_here(bench, "nebula", "-p", "append", "--yes", **server.env("ollama"))
    assert (bench.read("log.txt"), bench.read("fresh.txt")) == ("old\nmore\n", "first\n")


@pytest.mark.parametrize("command", [("nebula", "-p", "go"), ("evercontext", "run", "--task", "go")])
def test_replies_that_cannot_be_read_count_in_what_the_turn_used(bench: Bench, command: tuple[str, ...]) -> None:
    plan = [Turn(json.dumps({"tasks": [{"id": "1", "title": "t", "goal": "look"}]}))] if "run" in command else []
    script = [*plan, say(list_files={"path": "."}), Turn("Prose."), Turn("Prose again.")]
    model = "ollama/hermes3:8b"
    models = ("--planner", model, "--executor", model) if plan else ("--model", model)
    with ScriptedModel(script, capabilities=SPEAKS_JSON) as server:
        ran = run_here(bench, *command, *models, "--output-format", "json", **server.env("ollama"))
    assert ran.code == 3 and len(server.turns) == len(script)
    used = ran.json["usage"]
    assert (used["input_tokens"], used["output_tokens"]) == (100 * len(script), 20 * len(script))
