"""runCommand, with what its layer answers at hand: what is asked of the layer and what becomes of the answer."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from nebula.config import Settings, load_settings
from nebula.messages import AssistantToolUse
from nebula.sandbox.contract import CommandResult
from nebula.tools.commands.layers import CommandLayers
from nebula.tools.commands.run_command import RunCommand
from nebula.tools.contract import Call, CancelledLate, Outcome, ToolFailure, to_the_end
from nebula.tools.permissions import Permissions
from nebula.value import replace
from nebula.workspace.errors import DiskFull


class AnsweringLayers(CommandLayers):
    """Answers like a layer in which the command has printed something."""

    async def run(self, line: str, **_: Any) -> CommandResult:
        return CommandResult(0, None, "printed\n", 0.1)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(str(tmp_path), {"NEBULA_HOME": str(tmp_path / "home")})


def outcome(layers: CommandLayers) -> Outcome:
    use = AssistantToolUse("1", "runCommand", "runCommand", {"command": "true"}, {"command": "true"})
    return asyncio.run(RunCommand(layers, None, None).run(use.orig_args, Call(use)))


@pytest.mark.parametrize(("allowed", "is_secret"), [((), False), (("notes.md",), False), (("notes.md", ".env"), True)])
def test_output_that_may_show_an_allowed_secret_is_marked(
    settings: Settings, allowed: tuple[str, ...], is_secret: bool
) -> None:
    assert outcome(AnsweringLayers(settings, permissions=Permissions(set(allowed)))).secret is is_secret


class SpeakingLayers(AnsweringLayers):
    """Prints while the command runs, where somebody listens."""

    async def run(self, line: str, **how: Any) -> CommandResult:
        if how["on_output"] is not None:
            how["on_output"](b"printed\n")
            await asyncio.sleep(0)
        return await super().run(line)


@pytest.mark.parametrize(("allowed", "is_shown"), [((), True), ((".env",), False)])
def test_output_that_may_show_an_allowed_secret_is_not_shown_while_it_comes(
    settings: Settings, allowed: tuple[str, ...], is_shown: bool
) -> None:
    use = AssistantToolUse("1", "runCommand", "runCommand", {"command": "true"}, {"command": "true"})
    shown: list[Any] = []
    layers = SpeakingLayers(settings, permissions=Permissions(set(allowed)))
    asyncio.run(RunCommand(layers, None, None).run(use.orig_args, Call(use, emit=shown.append)))
    assert any("printed" in str(getattr(event, "text", "")) for event in shown) is is_shown


class FullDisk(AnsweringLayers):
    async def run(self, line: str, **_: Any) -> CommandResult:
        raise DiskFull("{path}: the disk is full; make room and try again.", path="big.txt")


def test_what_went_wrong_is_said_to_a_person_too(settings: Settings) -> None:
    with pytest.raises(ToolFailure) as failed:
        outcome(FullDisk(settings))
    assert str(Outcome.failed(failed.value).problem) == "big.txt: the disk is full; make room and try again."


@pytest.mark.parametrize(("wanted", "granted"), [(5.0, 5.0), (30.0, 30.0), (31.0, 30.0), (9999.0, 30.0)])
def test_a_command_gets_no_more_time_than_the_user_allows(settings: Settings, wanted: float, granted: float) -> None:
    layers = CommandLayers(replace(settings, command_timeout_s=30))
    assert layers._command("true", wanted, False, ()).limits.timeout_s == granted
    layers.close()


@pytest.mark.parametrize("cancels", [1, 2, 3])
def test_a_change_is_told_however_often_it_is_cancelled(cancels: int) -> None:
    async def scenario() -> Outcome | None:
        began, finish = threading.Event(), threading.Event()

        def write() -> Outcome:
            began.set()
            finish.wait()
            return Outcome.ok({"success": True})

        task = asyncio.create_task(to_the_end(write))
        await asyncio.to_thread(began.wait)
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0.01)
        finish.set()
        try:
            await task
        except CancelledLate as late:
            return late.outcome
        return None

    assert asyncio.run(scenario()) is not None
