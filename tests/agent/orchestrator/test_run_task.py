"""`run_task` as other programs call it."""

from __future__ import annotations

import asyncio
import gc
import os
from contextlib import suppress
from pathlib import Path

import pytest

from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.recording.turn_archive import SessionNode, SessionNodes
from nebula.config import load_settings
from nebula.files.home import derived_folder
from nebula.graph.graph import Graph
from nebula.testing import refused_url
from scripted_model import ScriptedModel
from scripted_model.planned import HERMES, plan, say, step, write


def one_file(request):
    messages = request.json["messages"]
    if messages[0]["content"].startswith("You are the planner"):
        return plan(step("1"))
    return say("Done.") if any(each["role"] == "assistant" for each in messages) else write("a.py", "x = 1\n")


def open_files(below: Path) -> list[str]:
    """Only those below: this process is also the model's server, and may still tidy up after other tests."""
    targets = []
    for number in os.listdir("/proc/self/fd"):
        with suppress(FileNotFoundError):  # the one that lists them
            targets.append(os.readlink(f"/proc/self/fd/{number}"))
    return [target for target in targets if target.startswith(f"{below}/")]


async def test_many_tasks_at_once_leave_nothing_open(tmp_path):
    roots = [tmp_path / str(number) for number in range(8)]
    for root in roots:
        root.mkdir()
    with ScriptedModel(one_file, **HERMES) as server:
        environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}

        async def run(root):
            return await run_task(load_settings(str(root), environ), TaskRequest("make a.py"))

        await run(roots[0])  # whatever a process opens once
        gc.disable()  # nothing may depend on being collected
        try:
            before = open_files(tmp_path)
            results = await asyncio.gather(*map(run, roots[1:]))
            after = open_files(tmp_path)
        finally:
            gc.enable()
    assert [each.final.exit_code for each in results] == [0] * 7
    assert len({each.trace_id for each in results}) == 7
    assert all((root / "a.py").read_text() == "x = 1\n" for root in roots)
    assert sorted(after) == sorted(before)


async def test_cancelling_it_ends_it_with_its_last_event(tmp_path):
    from scripted_model import Fault, Turn

    seen = []
    with ScriptedModel([plan(step("1")), Turn("", fault=Fault.stall(0))], **HERMES) as server:
        environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}
        settings = load_settings(str(tmp_path), environ)
        task = asyncio.create_task(run_task(settings, TaskRequest("x"), [lambda each: seen.append(each.event)]))
        await asyncio.to_thread(server.wait_until, lambda: len(server.turns) == 2)
        task.cancel()
        result = await task
    assert (result.final.status, result.final.exit_code) == ("interrupted", 130)
    assert seen[0].type == "task" and seen[-1] == result.final


async def test_cancelling_it_before_its_first_event_ends_it_with_its_last_one(tmp_path):
    seen = []
    settings = load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path / "home"), "OLLAMA_HOST": refused_url()})
    task = asyncio.create_task(run_task(settings, TaskRequest("x"), [lambda each: seen.append(each.event)]))
    await asyncio.sleep(0)  # it has begun, and waits for the project's folder
    task.cancel()
    result = await task
    assert (result.final.status, result.final.exit_code) == ("interrupted", 130)
    assert [seen[0].type, seen[-1]] == ["task", result.final]


async def test_cancelling_it_after_its_last_event_changes_nothing(tmp_path):
    """Ctrl-C while the graph is being closed: the work is done, and said to be."""

    def cancel_at_the_end(stamped):
        if stamped.event.type == "final":
            task.cancel()

    with ScriptedModel(one_file, **HERMES) as server:
        environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}
        running = run_task(load_settings(str(tmp_path), environ), TaskRequest("make a.py"), [cancel_at_the_end])
        task = asyncio.create_task(running)
        assert (await task).final.exit_code == 0
    assert not [name for name in open_files(tmp_path) if "/graph/" in name]


async def test_where_nothing_can_be_recorded_any_more_the_last_event_comes_all_the_same(tmp_path):
    seen, trace = [], tmp_path / ".nebula/trace.jsonl"

    def hear(stamped):
        seen.append(stamped.event)
        if stamped.event.type == "plan":
            trace.unlink()
            trace.symlink_to(tmp_path / "elsewhere")

    with ScriptedModel(one_file, **HERMES) as server:
        environ = {"NEBULA_HOME": str(tmp_path / "home"), **server.env("ollama")}
        result = await run_task(load_settings(str(tmp_path), environ), TaskRequest("make a.py"), [hear])
    assert seen[-1] == result.final and (result.final.status, result.final.exit_code) == ("error", 1)
    assert "could not be recorded" in str(result.final.remark) and not (tmp_path / "elsewhere").exists()


async def test_planner_and_executor_cost_what_each_of_them_costs(tmp_path):
    """The tokens of a planner that is paid for are not lost in those of an executor that is free."""
    home, root = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    root.mkdir()
    (home / "config.json").write_text('{"planner": "openai/gpt-4.1", "executor": "ollama/hermes3:8b"}')
    with ScriptedModel(one_file, **HERMES) as server:
        environ = {"NEBULA_HOME": str(home), **server.env("ollama"), **server.env("openai")}
        result = await run_task(load_settings(str(root), environ), TaskRequest("make a.py"))
    planned = (100 * 2.0 + 20 * 8.0) / 1e6
    assert result.final.cost == pytest.approx(planned)
    assert result.final.usage.input_tokens > 100
    node = Graph(str(root / ".nebula" / "graph")).get_node(result.final.node_id)
    assert node.usage.cost == pytest.approx(planned)
    sessions = SessionNodes(os.path.join(derived_folder(str(root), str(home)), "sessions"))
    assert sessions.read(node.session) == [SessionNode(node.id, "")] and node.session == f"task-{result.trace_id}"
