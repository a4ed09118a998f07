"""A "yes to all" over the socket: it holds for what follows the turn it was said in, in this process."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from conftest import Bench
from conversation_rig import Talk
from conversation_rig.in_process import serving_here
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.server.conversation.app import AGENT_MODES
from nebula.server.conversation.turns.agent import AgentTurns
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn


def writes_what_is_asked_for(request: RecordedRequest) -> Turn:
    """Write the file that the prompt asks for."""
    last = request.json["messages"][-1]
    if last["role"] == "user" and (asked := re.search(r"write (\w+\.txt)", last["content"])):
        return Turn("", [Call("writeFile", {"path": asked[1], "content": "x\n"})])
    return Turn("Done.")


@asynccontextmanager
async def talking(bench: Bench) -> AsyncIterator[Talk]:
    with ScriptedModel(writes_what_is_asked_for) as model:
        settings = Settings(
            home=str(bench.home), root=str(bench.project), openai_api_key="k" * 8, openai_base_url=model.openai_url
        )
        graph = Graph(bench.project / ".nebula/graph")
        runner = AgentTurns(settings, graph)
        async with serving_here(settings, graph, runner, AGENT_MODES) as server, server.talk() as client:
            yield client


async def begin(client: Talk, prompt: str, *parents: str) -> str:
    return str((await client.ask("send_prompt", prompt=prompt, **{"from": list(parents)}))["data"]["trace_id"])


async def answer(client: Talk, prompt: str, *parents: str, decision: str = "no") -> tuple[str, bool]:
    """Return the node of a turn, and whether somebody was asked in it."""
    trace_id, asked = await begin(client, prompt, *parents), False
    while (event := await client.event("approval", "final", trace_id=trace_id))["event"] == "approval":
        asked = True
        await client.ask("approve", approval_id=event["data"]["approval_id"], decision=decision)
    return str(event["data"]["node_id"]), asked


async def test_yes_to_all_reaches_no_branch_from_before_it_and_no_conversation_that_was_merged(bench: Bench) -> None:
    async with talking(bench) as client:
        first, _ = await answer(client, "hello")
        other, _ = await answer(client, "hello to another")
        said, _ = await answer(client, "write a.txt", first, decision="all")
        assert (await answer(client, "write branch.txt", first))[1]
        merged, _ = await answer(client, "both", said, other)
        waiting = await begin(
            client, "write busy.txt", other
        )  # so the session of the other conversation is not at rest
        question = await client.event("approval", trace_id=waiting)
        assert (await answer(client, "write c.txt", other))[1]
        await client.ask("approve", approval_id=question["data"]["approval_id"], decision="no")
        await client.event("final", trace_id=waiting)
        assert (await answer(client, "write d.txt", merged))[1] is False, "it holds for what follows"
    assert {each.name for each in bench.project.glob("*.txt")} == {"a.txt", "d.txt"}
