"""Which rung read a reply is on its message event, and so in the trace and in the figures."""

from __future__ import annotations

from typing import Any

import pytest

from nebula.agent.loop import Turn as LoopTurn
from nebula.events import EventStream, Message, Stamped
from nebula.llm.catalog import connect
from nebula.messages import ToolSpec
from nebula.tools.contract import Call, Outcome
from nebula.tools.toolset import ToolSet
from plain_turn import run_turn
from scripted_model import ScriptedModel, Turn

MODEL = "hermes3:8b"


class Look:
    spec = ToolSpec("look", "Looks.", {"type": "object", "properties": {"at": {"type": "string"}}})

    async def run(self, args: dict[str, Any], call: Call) -> Outcome:
        return Outcome.ok({"seen": args["at"]})


@pytest.mark.parametrize(
    ("reply", "rung"),
    [
        ('{"tool_calls": [{"name": "look", "parameters": {"at": "a"}}]}', "json"),
        ('<tool_call>{"name": "look", "arguments": {"at": "a"}}</tool_call>', "tags"),
        ("{'name': 'look', 'arguments': {'at': 'a'}}", "repair"),
    ],
)
async def test_the_message_event_names_the_rung(reply: str, rung: str) -> None:
    heard: list[Stamped] = []
    answer = '```json\n{"final_answer": "done"}\n```'
    with ScriptedModel([Turn(reply), Turn(answer)], capabilities={MODEL: ["completion"]}) as server:
        model = connect("ollama", base_url=server.url, environ={})
        turn = LoopTurn(EventStream("s", audience=(heard.append,)), model, MODEL, "system", [], ToolSet.of([Look()]))
        final = await run_turn(turn)
        await model.aclose()
    messages = [stamped.event for stamped in heard if isinstance(stamped.event, Message)]
    assert [(message.rung, message.to_json()["rung"]) for message in messages] == [(rung, rung), ("fence", "fence")]
    assert (final.status, final.exit_code) == ("ok", 0)
