"""A turn costs the same however long the history is: what was said before is put into wire form once."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import timeit
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest

from nebula.llm.contract import Model, ModelReply, ModelRequest
from nebula.llm.dialect.json_dialect import JsonDialect
from nebula.llm.gemini import GeminiModel
from nebula.llm.ollama import OllamaModel
from nebula.llm.openai import OpenAIModel
from nebula.messages import AssistantMessage, Message, ToolSpec, UserMessage
from scripted_model import ScriptedModel, Turn

TRIES = 3
"""The best counts: what others do on this machine does not."""


@dataclass(frozen=True)
class CountingMessage(UserMessage):
    """Counts how often it is read out."""

    readings: ClassVar[list[str]] = []

    def content_with_context(self) -> str:
        self.readings.append(self.prompt or "")
        return UserMessage.content_with_context(self)


@pytest.mark.parametrize("wire", ["openai", "gemini", "ollama", "dialect"])
async def test_each_message_is_rendered_once(wire: str) -> None:
    CountingMessage.readings.clear()
    turns = 6
    with ScriptedModel([Turn('{"final_answer": "ok"}')] * turns) as server:
        model: Model = {
            "openai": lambda: OpenAIModel(server.openai_url, "k", environ={}),
            "gemini": lambda: GeminiModel(server.url, "k", environ={}),
            "ollama": lambda: OllamaModel(server.url, environ={}),
            "dialect": lambda: JsonDialect(OllamaModel(server.url, environ={})),
        }[wire]()
        history: list[Message] = []
        tools = (ToolSpec("readFile", "Read", {"type": "object"}),)
        for number in range(turns):
            plain = UserMessage.new_prompt(f"prompt {number}")
            history.append(CountingMessage("", plain.env_context, plain.content))
            items = [item async for item in model.stream(ModelRequest("m", "", tuple(history), tools))]
            reply = items[-1]
            assert isinstance(reply, ModelReply)
            history.append(reply.message)
        await model.aclose()
        sent = server.turns[-1].json
    assert CountingMessage.readings == [f"prompt {number}" for number in range(turns)]
    told = sent["contents"] if wire == "gemini" else [each for each in sent["messages"] if each["role"] != "system"]
    assert len(told) == 2 * turns - 1


async def test_remembered_pieces_belong_to_their_message_alone() -> None:
    """Messages that come and go may get the same id; what is sent is always what was said."""
    with ScriptedModel([Turn("ok")] * 30) as server:
        model = OpenAIModel(server.openai_url, "k", environ={})
        for number in range(30):
            said: list[Message] = [
                UserMessage.new_prompt(f"{number}"),
                AssistantMessage.new_response(None, f"{number}!"),
                UserMessage.new_prompt(f"{number}?"),
            ]
            assert [item async for item in model.stream(ModelRequest("m", "", said))]
        await model.aclose()
        for number, turn in enumerate(server.turns):
            contents = [each["content"] for each in turn.json["messages"]]
            assert contents == [f"{number}", f"{number}!", f"{number}?"]


@pytest.mark.slow
def test_the_way_to_openai_loads_nothing_heavy() -> None:
    code = (
        "import sys, nebula.llm.catalog; nebula.llm.catalog.connect('openai', api_key='k'); "
        "print(' '.join(sorted(sys.modules)))"
    )
    loaded = set(
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    )
    assert "nebula.llm.openai" in loaded
    heavy = {"pydantic", "httpx", "urllib.request", "urllib.parse", "http.client", "email", "random", "ipaddress"}
    others = {"nebula.llm.gemini", "nebula.llm.ollama", "nebula.llm.dialect.json_dialect", "nebula.llm.replay"}
    assert not loaded & (heavy | others)


@pytest.mark.slow
async def test_a_long_reply_costs_little_for_each_piece_it_comes_in(tmp_path: Path) -> None:
    """A server sends a few letters at a time: what each piece costs is counted in readings of its JSON."""
    letters = {size: "x" * size for size in (50_000, 200_000)}
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": text} for text in letters.values()] * TRIES), encoding="utf-8")
    event = json.dumps({"id": "m", "choices": [{"index": 0, "delta": {"content": "xxxxx"}, "logprobs": None}]})
    one_reading = min(timeit.repeat(lambda: json.loads(event), timer=time.process_time, number=5_000)) / 5_000
    command = [sys.executable, "-m", "nebula.testing", "--script", str(script)]
    tests = str(Path(__file__).parents[1])
    with subprocess.Popen(  # noqa: ASYNC220 - it only has to be there
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, "PYTHONPATH": tests}
    ) as server:
        assert server.stdout is not None
        model = OpenAIModel(server.stdout.readline().decode().strip() + "/v1", "k", environ={})
        costs = dict.fromkeys(letters, float("inf"))
        for size in [*letters] * TRIES:
            begun = time.process_time()
            *_, reply = [item async for item in model.stream(ModelRequest("m", "", (UserMessage.new_prompt("p"),), ()))]
            costs[size] = min(costs[size], time.process_time() - begun)
            assert isinstance(reply, ModelReply) and len(reply.message.content) == size
        await model.aclose()
        server.communicate()
    assert costs[200_000] < 8 * costs[50_000], costs
    assert costs[200_000] / 40_000 < 10 * one_reading, (costs, one_reading)
