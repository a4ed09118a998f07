"""steer: what clients say into a running turn, over the socket."""

from __future__ import annotations

import threading
from dataclasses import replace

import pytest

from conversation_rig import Failed, serving, talk
from nebula.graph.graph import Graph
from scripted_model import Call, ScriptedModel, Turn

LOOK = Turn("Looking.", [Call("list", {"path": "."})])
HIDDEN = "\U000e0041"
"""A tag character: no reader sees it, a model does."""


async def refused(client, /, **data):
    with pytest.raises(Failed) as failed:
        await client.ask("steer", **data)
    return failed.value.code


def waiting(event, key="waiting"):
    return [each["text"] for each in event["data"][key]]


async def test_a_running_turn_hears_it_at_its_next_round(bench):
    first, last = threading.Event(), threading.Event()
    script = [replace(LOOK, until=first), Turn("Done.", until=last)]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        key = model.env()["OPENAI_API_KEY"]
        async with talk(server) as client, talk(server) as other:
            await other.ask("subscribe", flow_id="main")
            trace_id = (await client.ask("send_prompt", prompt="look"))["data"]["trace_id"]
            said = (await client.ask("steer", text=f"mind{HIDDEN} the tests, {key}"))["data"]
            assert said["trace_id"] == trace_id and said["steering_id"]
            assert waiting(await other.event("steering_waits", trace_id=trace_id))[0].startswith(f"mind{HIDDEN} the")
            await other.ask("steer", text="and the docs", trace_id=trace_id)
            told = await other.event("steering_waits")
            assert len(waiting(told)) == 2 and key not in str(told)
            [under_way] = (await client.ask("hello"))["data"]["turns"]
            assert under_way["waiting"] == told["data"]["waiting"]
            first.set()
            heard = await other.event("steering")
            assert key not in heard["data"]["text"] and heard["data"]["text"].endswith("\nand the docs")
            [under_way] = (await client.ask("hello"))["data"]["turns"]
            assert under_way["waiting"] == []
            last.set()
            final = (await client.turn())[-1]["data"]
            assert (final["status"], final["unheard"]) == ("ok", [])
        sent = model.turns[1].json["messages"]
    assert [each["role"] for each in sent[-2:]] == ["tool", "user"]
    assert sent[-1]["content"] == f"mind the tests, {key}\nand the docs"
    with Graph(bench.project / ".nebula/graph") as graph:
        tools = graph.get_node(trace_id).said_by("tool")
    assert '"said": "mind the tests, ' in tools and key not in tools
    assert "and the docs\n" in bench.read(".nebula/log.txt") and key not in bench.read(".nebula/log.txt")


async def test_what_came_too_late_is_told_at_the_end(bench):
    answer = threading.Event()
    with (
        ScriptedModel([Turn("Answer.", until=answer), Turn("Next.")]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with talk(server) as client:
            trace_id = (await client.ask("send_prompt", prompt="ask"))["data"]["trace_id"]
            said = (await client.ask("steer", text="also this"))["data"]["steering_id"]
            answer.set()
            final = (await client.turn())[-1]["data"]
            assert final["unheard"] == [{"steering_id": said, "text": "also this"}]
            assert await refused(client, text="more", trace_id=trace_id) == "not_found"
            await client.ask("send_prompt", prompt=final["unheard"][0]["text"])
            assert (await client.turn())[-1]["data"]["text"] == "Next."
    assert "also this" not in str(model.turns[0].json) and "also this" in str(model.turns[1].json["messages"][-1])


async def test_what_an_interrupted_turn_did_not_hear_is_told_as_well(bench):
    with (
        ScriptedModel([replace(LOOK, until=threading.Event())]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="look")
            await client.ask("steer", text="stop that")
            await client.ask("cancel")
            final = (await client.turn())[-1]
    assert final["data"]["status"] == "interrupted" and waiting(final, "unheard") == ["stop that"]


async def test_which_turn_is_meant(bench):
    both = threading.Event()
    with (
        ScriptedModel([Turn("a", until=both), Turn("b", until=both)]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with talk(server) as client, talk(server) as other:
            assert await refused(client, text="nobody works") == "not_found"
            first = (await client.ask("send_prompt", prompt="a"))["data"]["trace_id"]
            assert await refused(client, text=" ") == "bad_request"
            assert await refused(other, text="not mine") == "not_found"
            assert await refused(client, text="x" * 100_001) == "too_large"
            await client.ask("create_flow", name="side")
            await client.ask("send_prompt", prompt="b", flow_id="side", **{"from": []})
            assert await refused(client, text="which?") == "bad_request"
            assert (await client.ask("steer", text="the first", trace_id=first))["data"]["trace_id"] == first
            both.set()
            ends = [(await client.turn())[-1] for _ in range(2)]
    assert {end["data"]["trace_id"] == first: waiting(end, "unheard") for end in ends} == {
        True: ["the first"],
        False: [],
    }
