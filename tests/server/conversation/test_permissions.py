"""What goes without asking, listed and taken back over the socket: by conversation, in a turn at work and after it."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from conftest import Bench
from conversation_rig import Failed, Talk
from conversation_rig.in_process import serving_here
from nebula.config import load_settings
from nebula.graph.graph import Graph
from nebula.server.conversation.app import AGENT_MODES
from nebula.server.conversation.turns.agent import AgentTurns
from scripted_model import Call, ScriptedModel, Turn

ALL = [{"name": "*", "about": "every change of ordinary files, what commands delete as well"}]


@asynccontextmanager
async def two_clients(bench: Bench, model: ScriptedModel) -> AsyncIterator[tuple[Talk, Talk]]:
    settings = load_settings(str(bench.project), bench.env(**model.env()))
    graph = Graph(bench.project / ".nebula/graph")
    running = serving_here(settings, graph, AgentTurns(settings, graph), AGENT_MODES)
    async with running as server, server.talk() as client, server.talk() as other:
        await other.ask("subscribe", event="permissions_changed")
        yield client, other


def write(name: str) -> Turn:
    return Turn("", [Call("writeFile", {"path": name, "content": "x\n"})])


async def listed(client: Talk, action: str = "list_permissions", /, **data: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = (await client.ask(action, **data))["data"]["permissions"]
    return found


async def refused(client: Talk, **data: str) -> str:
    with pytest.raises(Failed) as failed:
        await client.ask("revoke_permissions", **data)
    return failed.value.code


async def send(client: Talk, prompt: str, *parents: str) -> str:
    asked: dict[str, Any] = {"prompt": prompt, "from": list(parents)}
    return str((await client.ask("send_prompt", **asked))["data"]["trace_id"])


async def answer(client: Talk, decision: str) -> None:
    asked = (await client.event("approval"))["data"]
    await client.ask("approve", approval_id=asked["approval_id"], decision=decision)


async def test_a_yes_to_all_belongs_to_its_conversation_and_is_taken_back(bench: Bench) -> None:
    gate = threading.Event()
    third = [write("c.txt"), replace(write("d.txt"), until=gate), Turn("Three.")]
    with ScriptedModel([write("a.txt"), Turn("One."), write("b.txt"), Turn("Two."), *third]) as model:
        async with two_clients(bench, model) as (client, other):
            first = await send(client, "a")
            await answer(client, "all")
            assert (await other.event("permissions_changed"))["data"] == {"node_id": ""}
            assert await listed(other, node_id=first) == ALL
            await client.turn()
            assert await listed(other, node_id=first[:20]) == await listed(other) == ALL

            second = await send(client, "b")
            await answer(client, "no")
            assert await listed(other, node_id=second) == []
            await client.turn()

            third_id = await send(client, "c", first)
            await client.event("tool_result")
            assert await refused(other, node_id=third_id, name="*.md") == "not_found"
            assert await refused(other, node_id="nowhere") == "not_found"
            assert await listed(other, node_id=third_id) == await listed(other) == ALL
            assert await listed(other, node_id=first) == [], "a prompt there is asked about by now"
            assert await listed(other, "revoke_permissions", node_id=third_id, name="*") == []
            assert (await other.event("permissions_changed"))["data"] == {"node_id": third_id}
            gate.set()
            await answer(client, "all")
            await client.turn()
            assert await listed(other) == ALL
            assert await listed(other, "revoke_permissions") == await listed(other, node_id=third_id) == []
    assert (bench.project / "a.txt").exists() and (bench.project / "c.txt").exists()
    assert not (bench.project / "b.txt").exists()
