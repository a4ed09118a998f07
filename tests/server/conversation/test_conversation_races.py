"""Races over the socket: several tries of one prompt, heard by their numbers, and what one of them did taken."""

from __future__ import annotations

import pytest

from conversation_rig import Failed, serving, talk
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn


def script(request: RecordedRequest) -> Turn:
    if request.json["model"] == "gpt-4.1-mini":
        return Turn("I like the first.")
    answered = sum(each["role"] == "tool" for each in request.json["messages"])
    if not answered:
        lines = "one\n" + "line\n" * 20 + "last\n"
        return Turn("", [Call("runCommand", {"command": f"printf '{lines}' > b.txt; echo a >> a.txt; echo z > z.txt"})])
    return Turn("Done.")


async def test_a_race_and_taking_parts_of_it(bench):
    bench.write("a.txt", "one\n")
    bench.write("b.txt", "first\n" + "line\n" * 20 + "end\n")
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            for data in ({"tries": 1}, {}, {"tries": 2, "models": ["a", "b"]}, {"tries": 2, "from": ["nothing"]}):
                with pytest.raises(Failed):
                    await client.ask("race", prompt="do it", **data)
            assert model.turns == []
            begun = (await client.ask("race", prompt="do it", tries=2, judge="gpt-4.1-mini"))["data"]
            final = await client.event("final", trace_id=begun["trace_id"])
            tries = final["data"]["tries"]
            assert "try" not in final["data"] and final["data"]["opinion"] == "I like the first."
            assert [each["try"] for each in tries] == [1, 2] and final["data"]["taken"] is None
            assert bench.read("a.txt") == "one\n"
            node = tries[1]["node_id"]
            with pytest.raises(Failed):
                await client.ask("take", node_id=node, paths=["nothing.txt"])
            taken = (await client.ask("take", node_id=node, paths=["b.txt"], hunks=[2]))["data"]
            assert (taken["paths"], taken["conflicts"]) == (["b.txt"], [])
            assert bench.read("b.txt") == "first\n" + "line\n" * 20 + "last\n"
            taken = (await client.ask("take", node_id=node))["data"]
            assert (sorted(taken["paths"]), taken["conflicts"]) == (["a.txt", "z.txt"], ["b.txt"])
            assert bench.read("a.txt") == "one\na\n"


async def test_cancel_ends_all_tries(bench):
    sleeps = Turn("", [Call("runCommand", {"command": "sleep 60"})])
    with ScriptedModel(lambda _: sleeps) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            begun = (await client.ask("race", prompt="do it", tries=2))["data"]
            steps = [await client.event("step") for _ in range(2)]
            assert {each["data"]["try"] for each in steps} == {1, 2}
            await client.ask("cancel", trace_id=begun["trace_id"])
            final = await client.event("final", trace_id=begun["trace_id"])
            assert [each["status"] for each in final["data"]["tries"]] == ["interrupted", "interrupted"]
