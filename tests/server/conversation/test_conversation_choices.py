"""What a client may choose over the socket: the model, what is left out of the context, and filters of a search."""

from __future__ import annotations

import pytest

from conversation_rig import Failed, serving, talk
from scripted_model import ScriptedModel, Turn


async def turn(client, prompt, **data):
    await client.ask("send_prompt", prompt=prompt, **data)
    return (await client.event("final"))["data"]["node_id"]


async def test_a_prompt_chooses_its_model_and_the_next_does_not(bench):
    script = [Turn("one"), Turn("two"), Turn("three")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            listed = (await client.ask("list_models"))["data"]
            assert "openai/gpt-4.1-mini" in listed["models"] and listed["current"] == "openai/gpt-4.1-nano"
            first = await turn(client, "a", model="openai/gpt-4.1-mini")
            await turn(client, "b", **{"from": [first]})
            await turn(client, "c", **{"from": [first], "model": "openai/gpt-4.1-mini"})
        assert [each.json["model"] for each in model.turns] == ["gpt-4.1-mini", "gpt-4.1-nano", "gpt-4.1-mini"]


async def test_what_is_left_out_is_not_sent_and_costs_nothing(bench):
    script = [Turn("the first answer"), Turn("the second answer"), Turn("third")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            first = await turn(client, "the first prompt")
            second = await turn(client, "the second prompt", **{"from": [first]})
            data = {"node_ids": [second], "prompt": "p"}
            whole = (await client.ask("preview_context", **data))["data"]
            less = (await client.ask("preview_context", **data, without=[first]))["data"]
            assert [part["node_id"] for part in whole["parts"]] == [first, second]
            assert [part["node_id"] for part in less["parts"]] == [second]
            assert 0 < less["cost"] < whole["cost"]
            dear = (await client.ask("preview_context", **data, model="openai/gpt-4.1"))["data"]
            assert dear["cost"] == pytest.approx(20 * whole["cost"])
            await turn(client, "p", **{"from": [second], "without": [first]})
        sent = str(model.turns[2].json["messages"])
        assert "the second prompt" in sent and "the first prompt" not in sent


async def test_a_search_is_narrowed_by_model_time_and_file(bench):
    with serving(bench, "nebula") as server:
        async with talk(server) as client:
            for number, model in enumerate(("m1", "m2", "m2")):
                await client.ask("create_node", prompt=f"word {number}", model=model, tags=["t"] if number else [])
            filters = (await client.ask("list_filters"))["data"]
            assert (filters["models"], filters["tags"]) == ({"m2": 2, "m1": 1}, {"t": 2})

            async def found(**data):
                return (await client.ask("search_nodes", brief=True, **data))["data"]["total"]

            assert await found(text="word", model="m2") == 2
            assert await found(model="m1") == 1
            assert await found(text="word", tags=["t"], model="m1") == 0
            assert await found(since="2020-01-01") == 3
            assert await found(until="2020-01-01") == 0
            assert await found(path="app") == 0
            with pytest.raises(Failed, match="must be a date"):
                await found(since="yesterday")


async def test_a_search_finds_who_touched_a_file(bench):
    from scripted_model import Call

    script = [Turn("", [Call("writeFile", {"path": "src/app.py", "content": "x\n"})]), Turn("done"), Turn("plain")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="write")
            asked = await client.event("approval")
            await client.ask("approve", approval_id=asked["data"]["approval_id"], decision="yes")
            wrote = (await client.event("final"))["data"]["node_id"]
            await turn(client, "talk")
            found = (await client.ask("search_nodes", path="src/app", brief=True))["data"]
            assert [each["id"] for each in found["nodes"]] == [wrote]
