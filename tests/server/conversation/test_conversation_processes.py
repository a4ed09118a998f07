"""The conversation server as a process of its own beside others, over a real socket."""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest

from conversation_rig import Failed, Server, serving, talk
from nebula.events import Message, Usage
from nebula.graph.graph import Graph
from nebula.messages import AssistantMessage
from scripted_model import Fault, ScriptedModel, Turn
from trace_lines import write_task


async def test_both_paths_speak(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server, path="/ws") as client:
            assert (await client.ask("hello"))["data"]["epoch"]


def test_two_processes_share_a_graph(bench):
    """The command line and the server at once: nothing is lost."""
    import asyncio

    async def work(server: Server) -> None:
        async with talk(server) as client:
            for number in range(20):
                await client.ask("create_node", prompt=f"server {number}")

    with serving(bench, "vizprompt") as server:
        graph = Graph(bench.project / "data")
        own = threading.Thread(target=lambda: [graph.create_node(f"own {number}") for number in range(20)])
        own.start()
        asyncio.run(work(server))
        own.join()
    assert len(Graph(bench.project / "data").get_flow().nodes) == 40


async def test_the_figures_of_the_page_are_those_of_the_trace(bench):
    write_task(bench.project, Message(AssistantMessage.new_response(None, "Done."), Usage(1_000, 10)))
    with serving(bench, "nebula") as server:
        async with talk(server) as client:
            found = (await client.ask("get_figures", since="2020-01-31"))["data"]
            assert (found["task_success_rate"], found["total"]["input_tokens"]) == (1.0, 1_000)
            assert [each["name"] for each in found["spending"]["project"]] == [str(bench.project)]
            assert (await client.ask("get_figures", since="2999-01-01", all=True))["data"]["tasks"] == 0
            with pytest.raises(Failed, match="'since' must be a date such as"):
                await client.ask("get_figures", since="soon")


async def test_two_signals_at_once_are_one_and_a_turn_has_its_end(bench):
    """Whoever keeps services may send both."""
    with (
        ScriptedModel([Turn("late", fault=Fault.stall(0))]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with talk(server) as client:
            await client.ask("send_prompt", prompt="wait", from_=[])
            await asyncio.to_thread(model.wait_until, lambda: bool(model.turns))
            server.process.send_signal(signal.SIGTERM)
            server.process.send_signal(signal.SIGHUP)
            assert (await client.turn())[-1]["data"]["status"] == "interrupted"
            assert await asyncio.to_thread(server.process.wait) == 0
    assert (bench.trace()[-1]["type"], bench.trace()[-1]["status"]) == ("final", "interrupted")
