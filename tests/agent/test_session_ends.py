"""How turns and sessions end: judged by what was done, told to the end, and closed whatever goes wrong."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import closing
from pathlib import Path
from typing import Any, ClassVar

import pytest

from known_machine import know_the_machine
from nebula.agent.assembly import open_session
from nebula.agent.code.citations import check_citations
from nebula.agent.past.summaries import Summaries, without_summary
from nebula.agent.session import Session
from nebula.agent.turn_result import Ending, TurnResult
from nebula.agent.workbench import Workbench
from nebula.config import Settings
from nebula.events import Activity, Citations, Diff, Final, Message, Stamped, Step, ToolResult, Usage
from nebula.files.home import derived_folder
from nebula.graph.errors import NotFound
from nebula.language import Sentence
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.memory.errors import MemoryFileError
from nebula.messages import AssistantMessage, AssistantToolUse, Json, ToolResultStatus, ToolUseResult
from nebula.tools.approval import allow_all
from nebula.value import record, replace
from nebula.workspace import open_workspace
from nebula.workspace.contract import FileText, Workspace
from nebula.workspace.wrapped.base import WrappedWorkspace

DONE = {"text": "Done."}


class Playing(ReplayModel):
    """Plays a script, and remembers how it was used."""

    def __init__(self, *replies: Any) -> None:
        super().__init__(list(replies))
        self.asked = 0
        self.left_open = 0
        self.closed = False

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        self.asked += 1
        self.left_open += 1
        try:
            async for item in super().stream(request):
                yield item
        finally:
            self.left_open -= 1

    async def aclose(self) -> None:
        self.closed = True


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"text": "", "tool_calls": [{"name": name, "args": args}]}


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    (tmp_path / "project").mkdir()
    know_the_machine(tmp_path / "home")
    monkeypatch.setenv("NEBULA_HOME", str(tmp_path / "home"))
    return Settings(home=str(tmp_path / "home"), root=str(tmp_path / "project"))


async def opened(settings: Settings, model: Any, **options: Any) -> Session:
    chosen = ChosenModel(model, "m", settings.context_tokens)
    return await open_session(settings, approver=allow_all, chosen=chosen, **options)


async def one_turn(settings: Settings, model: Any) -> Final:
    session = await opened(settings, model)
    try:
        return await session.turn("go")
    finally:
        await session.close()


def rows(settings: Settings) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(settings.memory_path)) as memory:
        return memory.execute("SELECT model_used, ended_at IS NOT NULL FROM sessions").fetchall()


async def test_a_turn_whose_only_write_failed_has_failed_whatever_the_model_says(settings: Settings) -> None:
    final = await one_turn(settings, Playing(call("editFile", path="gone.txt", new_content="x"), DONE))
    assert (final.status, final.exit_code, final.changes_failed) == ("error", 1, 1)
    assert "gone.txt" in str(final.remark)


@pytest.mark.parametrize("path", ["gone.txt", "other.txt"])
async def test_a_write_that_failed_beside_one_that_was_done_is_no_failure(settings: Settings, path: str) -> None:
    failed = call("editFile", path="gone.txt", new_content="x")
    final = await one_turn(settings, Playing(failed, call("writeFile", path=path, content="x\n"), DONE))
    assert (final.status, final.exit_code) == ("ok", 0)


async def test_a_turn_whose_checks_still_fail_has_failed(settings: Settings) -> None:
    checked = replace(settings, checks=("false",), repair=True, repair_rounds=1)
    write = call("writeFile", path="a.txt", content="x\n")
    final = await one_turn(checked, Playing(write, DONE, {"text": "Repaired."}))
    assert (final.status, final.exit_code, final.verified) == ("error", 1, False)


async def test_the_calls_that_repair_count_in_the_limit_of_the_turn(settings: Settings) -> None:
    checked = replace(settings, checks=("false",), repair=True, repair_rounds=3, max_rounds=2)
    model = Playing(call("writeFile", path="a.txt", content="x\n"), *[DONE] * 9)
    final = await one_turn(checked, model)
    assert (final.status, final.exit_code, model.asked) == ("limit", 1, 2)


@record
class Slow(Workbench):
    """A workbench whose servers take for ever to start."""

    begun: Callable[[], None] = print

    async def open_servers(self, show: Callable[[Activity], None]) -> list[Sentence]:
        self.begun()
        await asyncio.sleep(60)
        return []


async def test_cancelled_while_the_context_is_built_a_turn_has_both_its_ends(settings: Settings) -> None:
    session, told, begun = await opened(settings, Playing(DONE)), list[Stamped](), asyncio.Event()
    bench, session.bench = session.bench, Slow(session.project, begun=begun.set)
    turn = asyncio.create_task(session.turn("first", [told.append]))
    await begun.wait()
    assert [each.event.type for each in told] == ["task"], "it is told before anything is prepared"
    turn.cancel()
    final = await turn
    assert [each.event.type for each in told] == ["task", "final"]
    assert (final.status, final.exit_code) == ("interrupted", 130)
    session.bench = bench
    assert (await session.turn("second")).status == "ok"
    await session.close()


async def test_what_cannot_be_built_ends_the_turn_and_is_told(settings: Settings) -> None:
    session, told = await opened(settings, Playing(DONE)), list[Stamped]()

    def broken() -> None:
        raise ZeroDivisionError("oops")

    session.bench = Slow(session.project, begun=broken)
    final = await session.turn("go @nothing", [told.append])
    assert told[0].event.type == "task"
    assert [each.event.type for each in told][-2:] == ["error", "final"]
    assert "oops" in str(final.remark)
    await session.close()


@record
class Unreadable(Workbench):
    """A workbench over a disk that is gone."""

    def readable_files(self, trace_id: str) -> Workspace | None:
        raise OSError(5, "Input/output error", trace_id)


async def test_what_a_prompt_names_and_cannot_be_read_ends_a_turn_that_has_begun(settings: Settings) -> None:
    session, told = await opened(settings, Playing(DONE)), list[Stamped]()
    session.bench = Unreadable(session.project)
    final = await session.turn("read @a.txt", [told.append])
    assert [each.event.type for each in told] == ["task", "error", "final"]
    assert (final.status, str(final.remark)) == ("error", f"{told[0].trace_id}: Input/output error")
    await session.close()


class Watched(WrappedWorkspace):
    """Files of which it is known who reads them."""

    readers: ClassVar[list[threading.Thread]] = []

    def read_file(self, path: str) -> FileText:
        self.readers.append(threading.current_thread())
        return super().read_file(path)


async def test_what_an_answer_cites_is_read_while_others_are_served(settings: Settings) -> None:
    await asyncio.to_thread(Path(settings.root, "a.py").write_bytes, b"1\n2\n")
    session = await opened(settings, Playing({"text": "See a.py:L2."}))
    session.project.read_only = Watched(session.project.read_only)
    final = await session.turn("where?")
    await session.close()
    assert final.citations == Citations(1, 1)
    assert Watched.readers and threading.current_thread() not in Watched.readers


def test_only_our_own_searches_count_as_shown(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("1\n2\n3\n")
    result = TurnResult()
    uses = tuple(AssistantToolUse(name, name, name, {}, {}) for name in ("searchCode", "srv__odd"))
    result.read(Message(AssistantMessage.new_tool_use(None, "a.py:L3", uses), Usage()))
    answers = {"chunks": ["x", {"path": "a.py", "span": "L3-L3", "text": "3"}]}, {"chunks": 5}
    for use, value in zip(uses, answers, strict=True):
        result.read(Step(use.id, use.name, {}))
        result.read(ToolResult(use.name, ToolUseResult(use.id, (Json(value),), ToolResultStatus.Success)))
    shown = result.results_of("searchCode")
    assert [each.tool_use_id for each in shown] == ["searchCode"]
    assert check_citations(result.answer, open_workspace(str(tmp_path)), shown) == Citations(1, 1)


async def test_the_model_that_was_switched_to_is_remembered(settings: Settings) -> None:
    session = await opened(settings, Playing(DONE))
    session.use_model(ChosenModel(Playing(DONE), "another", 8_000))
    await session.close()
    assert rows(settings) == [("another", 1)]


async def test_a_session_is_closed_to_the_end_whatever_part_fails(settings: Settings) -> None:
    model = Playing(DONE)
    session = await opened(settings, model)
    assert session.memory is not None
    session.memory.close()  # ending it in memory must fail now
    with pytest.raises(MemoryFileError):
        await session.close()
    assert model.closed
    again = await opened(settings, Playing(DONE), resume="")
    assert not [each for each in again.remarks.take() if "in use by another process" in str(each)]
    await again.close()


async def test_a_session_whose_derived_folder_was_thrown_away_is_closed(settings: Settings) -> None:
    session = await opened(settings, Playing(DONE))
    await session.turn("go")
    shutil.rmtree(derived_folder(settings.root, settings.home))
    await session.close()
    assert rows(settings) == [("m", 1)]


class Stalling(Playing):
    """Answers the prompt, and never summarises it."""

    async def stream(self, request: Any) -> AsyncIterator[Any]:
        if self.asked:
            await asyncio.sleep(60)
        async for item in super().stream(request):
            yield item


async def test_a_summary_that_is_being_made_keeps_nobody_waiting(settings: Settings) -> None:
    session = await opened(replace(settings, auto_summary=True), Stalling(DONE))
    await session.turn("go")
    assert session.summaries.is_working
    async with asyncio.timeout(20):
        await session.close()
    assert rows(settings) == [("m", 1)]


async def test_an_unknown_beginning_leaves_no_session_behind(settings: Settings) -> None:
    await one_turn(settings, Playing(DONE))
    with pytest.raises(NotFound):
        await opened(settings, Playing(DONE), from_nodes=["nope"])
    assert len(rows(settings)) == 1


async def test_a_digest_leaves_no_stream_of_the_model_open(settings: Settings) -> None:
    model = Playing(DONE, {"text": "Kept."})
    session = await opened(settings, model)
    await session.turn("go")
    chosen = ChosenModel(model, "m", 8_000)
    assert await Summaries(session.archive).make_digest(session.conversation, "all", chosen) == "Kept."
    assert model.left_open == 0
    await session.close()


@pytest.mark.parametrize("edited", [False, True])
async def test_the_summary_of_a_turn_that_was_edited_since_is_not_used(settings: Settings, edited: bool) -> None:
    session = await opened(settings, Playing(DONE))
    final = await session.turn("go")
    assert final.node_id is not None and session.archive.graph is not None
    session.archive.graph.save_summary(final.node_id, "Built before.", ["tag"])
    if edited:
        session.archive.graph.update_node(final.node_id, response="Something else.")
    due = without_summary(session.conversation.turns, session.archive.find)
    assert (len(due), session.conversation.turns[0].summary) == ((1, "") if edited else (0, "Built before."))
    await session.close()


def test_of_a_command_that_was_run_several_times_the_last_run_counts() -> None:
    result = TurnResult()
    ends = [("pytest", {"exit_code": 1, "output": ""}), ("make", {"exit_code": None, "output": "", "stopped": "time"})]
    for number, (line, ended) in enumerate(
        [*ends, ("pytest", {"exit_code": 0, "output": ""}), ("ls", {"error": "no"})]
    ):
        result.read(Step(str(number), "runCommand", {"command": line}))
        result.read(ToolResult("runCommand", ToolUseResult(str(number), (Json(ended),), ToolResultStatus.Success)))
    final = result.final(Ending("ok"), None)
    assert final.to_json()["commands"] == [
        {"command": "make", "stopped": "time"},
        {"command": "pytest", "exit_code": 0},
    ]
    assert [each.failed for each in final.commands or ()] == [True, False]


@pytest.mark.parametrize("problem", [Sentence("{path}: the disk is full.", path="big.txt"), None])
def test_what_was_not_written_is_said_with_the_reason(problem: Sentence | None) -> None:
    result = TurnResult()
    result.read(Message(AssistantMessage.new_response(None, "Filled."), Usage()))
    result.read(Step("1", "runCommand", {"command": "fill"}))
    failed = ToolUseResult("1", (Json({"error": "no"}),), ToolResultStatus.Error)
    result.read(ToolResult("runCommand", failed, problem=problem))
    final = result.final(Ending("ok"), None)
    reason = "big.txt: the disk is full." if problem is not None else "no"
    assert (final.status, str(final.remark)) == ("error", f"Not written: runCommand. {reason}")


def test_a_write_that_failed_beside_others_is_named() -> None:
    result = TurnResult()
    result.read(Message(AssistantMessage.new_response(None, "Both."), Usage()))
    result.read(Diff("a.py", "+x\n", 1, 0, "", "hash"))
    result.read(Step("1", "editFile", {"path": "b.py"}))
    result.read(ToolResult("editFile", ToolUseResult("1", (Json({"error": "Read it."}),), ToolResultStatus.Error)))
    final = result.final(Ending("ok"), None)
    assert (final.status, str(final.remark)) == ("ok", "Not written: b.py. Read it.")
    result.read(Diff("b.py", "+x\n", 1, 0, "", "hash"))
    assert result.final(Ending("ok"), None).remark is None
    result.read(Step("2", "editFile", {"path": "c.py"}))
    gone = ToolUseResult("2", (Json({"error": "c.py does not exist."}),), ToolResultStatus.Error)
    result.read(ToolResult("editFile", gone))
    assert str(result.final(Ending("ok"), None).remark) == "Not written. c.py does not exist."
