"""What a task may touch: no server that answers to a user, and in a dry run no command."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from agent.orchestrator.asked_task import Asked
from nebula.agent.orchestrator.access import open_bench, roll_back
from nebula.agent.orchestrator.task import TaskRequest
from nebula.config import load_settings
from nebula.errors import EXIT_FAILED, EXIT_OK
from nebula.events import Approval, EventStream
from nebula.index.index import Index
from nebula.messages.redaction import Redactor
from nebula.workspace.state_folder import prepare_state_folder
from scripted_model.planned import Call, Turn, hermes, plan, say, step, write


async def offered(root: Path, home: Path, overrides: dict[str, Any] = {}, **request: Any) -> set[str]:  # noqa: B006
    """Return the tools that a task has."""
    settings = load_settings(str(root), {"NEBULA_HOME": str(home)}, overrides=overrides)
    redactor = Redactor()
    bench = open_bench(settings, TaskRequest("x", **request), prepare_state_folder(str(root)), redactor)
    try:
        assert bench.redactor is redactor and bench.project.external is None
        assert bench.project.commands is None or bench.project.commands.env == request.get("env", ())
        return set(bench.tools("1").tools)
    finally:
        await bench.close()


async def test_a_dry_run_reads_and_writes_and_runs_no_commands(root: Path, tmp_path: Path) -> None:
    every = await offered(root, tmp_path / "home", env=(("A", "1"),))
    assert {"readFile", "writeFile", "runCommand"} <= every
    dry = await offered(root, tmp_path / "home", dry_run=True)
    assert dry < every and {"readFile", "writeFile"} <= dry and "runCommand" not in dry


async def test_a_server_that_the_user_configured_is_not_started(root: Path, tmp_path: Path) -> None:
    entry = {"command": sys.executable, "args": ["-c", "open('started', 'w')"], "cwd": str(tmp_path)}
    assert "h__t" not in await offered(root, tmp_path / "home", {"mcp_servers": {"h": entry}})
    assert not (tmp_path / "started").exists()


async def test_checks_do_not_run_in_a_dry_run(asked: Asked) -> None:
    settings = {"checks": ("pytest() { false; }; pytest",), "trust": True, "repair_rounds": 0}
    result = await asked([plan(step("1")), write("a.py", "x\n"), say("Done.")], settings=settings, dry_run=True)
    assert (result.final.exit_code, result.final.checks) == (EXIT_OK, ())


async def test_what_was_rolled_back_is_not_found_any_more(asked: Asked) -> None:
    with Index.open(str(asked.root), home=str(asked.home)) as index:
        index.sync()
    look = hermes(Turn("I look for it.", [Call("searchCode", {"query": "lighthouse"})]))
    turns = [
        plan(step("1", files=["no"])),
        write("b/light.py", "def lighthouse():\n    return 1\n"),
        look,
        say("Found."),
    ]
    result = await asked(turns, rollback=True)
    assert "b/light.py" in str(asked.requests[-1]["messages"][-1])
    assert result.final.rolled_back is True and not (asked.root / "b").exists()
    with Index.open(str(asked.root), home=str(asked.home)) as index:
        assert index.search("lighthouse") == []
    assert "Rolled back: b/light.py" in asked.notices()


async def test_what_was_put_back_is_found_as_it_was(asked: Asked) -> None:
    (asked.root / "light.py").write_text("def lighthouse():\n    return 1\n")
    with Index.open(str(asked.root), home=str(asked.home)) as index:
        index.sync()
    overwritten = {"path": "light.py", "content": "def beacon():\n    return 1\n", "mode": "overwrite"}
    look = hermes(Turn("I look for it.", [Call("searchCode", {"query": "beacon"})]))
    steps = step("1", tool="write_file", parameters=overwritten), step("2", files=["no"])
    result = await asked([plan(*steps), look, say("Found.")], rollback=True)
    assert "light.py" in str(asked.requests[-1]["messages"][-1])
    assert result.final.rolled_back is True and "lighthouse" in (asked.root / "light.py").read_text()
    assert [each.decision for each in asked.of(Approval)] == ["yes"], "nobody was asked"
    with Index.open(str(asked.root), home=str(asked.home)) as index:
        index.drain()
        assert [hit.path for hit in index.search("lighthouse")] == ["light.py"]


@pytest.mark.parametrize("edited", [False, True])
async def test_what_became_of_a_rollback_is_heard_though_it_cannot_be_recorded(
    root: Path, tmp_path: Path, edited: bool
) -> None:
    def record(_: Any) -> None:
        raise OSError(28, "no room")

    heard: list[Any] = []
    stream = EventStream("task-1", "1", (record,), (lambda stamped: heard.append(stamped.event),))
    settings = load_settings(str(root), {"NEBULA_HOME": str(tmp_path / "home")})
    bench = open_bench(settings, TaskRequest("x"), prepare_state_folder(str(root)), stream.redactor)
    try:
        bench.project.workspace.for_turn("1").write_file("a.txt", "task's\n")
        if edited:
            (root / "a.txt").write_text("mine\n")
        assert await roll_back(bench, stream) is not edited
    finally:
        await bench.close()
    assert [each.type for each in heard] == ["error" if edited else "notice"]
    assert (root / "a.txt").exists() is edited


async def test_a_task_that_is_carried_out_has_no_forecast(asked: Asked) -> None:
    assert (await asked([plan(step("1")), say("Done.")])).final.forecast is None
    assert (await asked([plan(step("1")), say("Done.")], dry_run=True)).final.forecast == ""


async def test_a_project_that_cannot_be_opened_ends_the_task_with_its_last_event(asked: Asked) -> None:
    result = await asked([], settings={"audit_log": str(asked.home)})
    assert [type(each).__name__ for each in asked.events] == ["Task", "Error", "Final"]
    assert (result.final.status, result.final.exit_code) == ("error", EXIT_FAILED)
