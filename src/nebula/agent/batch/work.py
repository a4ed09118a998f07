"""Carrying out one task in the place that was made for it; the same here and on another machine."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from nebula.agent.batch.outcome import TaskOutcome, failed_outcome, outcome_of
from nebula.agent.batch.packing import pack, pack_project
from nebula.agent.batch.task_file import BatchTask
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.places.wire import interrupted_by, send
from nebula.config import Settings, load_settings
from nebula.errors import NebulaError
from nebula.events import Reader
from nebula.git.writing import check_out
from nebula.tools.commands.change_set import read_command_changes
from nebula.tools.commands.layers import CommandLayers
from nebula.value import replace, value
from nebula.workspace import open_workspace
from nebula.workspace.diff import diff_texts
from nebula.workspace.file_history import ends

if TYPE_CHECKING:
    from nebula.sandbox.tries.places import TryPlace

Said = Mapping[str, Any]
"""What the command line sets."""


SETUP: Final = "setup"
"""The name in the journal for changes of the set-up: they are not changes of the task."""
_LAST = 500


class SetupFailed(NebulaError):
    """Raised when the set-up of a task ended badly."""


async def set_up(task: BatchTask, settings: Settings) -> None:
    """Run the set-up of a task in a layer, and keep what it made in the place. Raises SetupFailed."""
    layers = CommandLayers(settings, env=task.env)
    if not await asyncio.to_thread(lambda: layers.available):
        raise SetupFailed("The set-up needs a layer, and this machine has none; `nebula doctor` says why.")
    workspace = open_workspace(settings.root).for_turn(SETUP)
    try:
        with await layers.run(task.setup, network=settings.allow_network) as done:
            if done.exit_code != 0 or done.stopped:
                ended, said = done.stopped or done.exit_code, done.output.strip()[-_LAST:]
                raise SetupFailed("The set-up ended with {code}: {output}", code=ended, output=said)
            changes = await asyncio.to_thread(read_command_changes, done, workspace)
            await asyncio.to_thread(workspace.apply_changes, changes.path_changes(None), changes.ignored_changes(), ())
    finally:
        await asyncio.to_thread(layers.close)
        workspace.close()


@value
class TaskOrder:
    """A task with all that is to be known where it is carried out."""

    task: BatchTask
    settings: Settings
    prefix: str = ""
    """The path of the project in its repository, with a "/"."""
    limits: TaskLimits = TaskLimits()
    keep: bool = False
    """Send the project back as the task left it."""


@value
class Returned:
    """What comes back of a task."""

    outcome: TaskOutcome
    patch: str = ""
    records: bytes = b""
    """What the task wrote down, as an archive."""
    project: bytes = b""
    """The project as the task left it, as an archive; where it was asked for."""


def settings_for(task: BatchTask, root: str, said: Said) -> Settings:
    """Return the settings for a task, from those of its project."""
    own = {name: getattr(task, name) or said.get(name) for name in ("planner", "executor")}
    settings = load_settings(root, overrides={**said, **own})
    # Checks of the task stand in the user's own file of tasks.
    return replace(settings, checks=task.checks, trusted=settings.trusted | {"checks"}) if task.checks else settings


def work_in_place(order: TaskOrder, place: TryPlace, line: socket.socket) -> None:
    """Carry out a task in the copy that this process works in, and report over the socket `line`."""
    asyncio.run(_work_in_place(order, place, line))


async def _work_in_place(order: TaskOrder, place: TryPlace, line: socket.socket) -> None:
    try:
        root = find_project(order.task, order.prefix, place)
        with interrupted_by(line):
            returned = await carry_out(order, root, [lambda stamped: send(line, stamped)])
    except Exception as problem:  # noqa: BLE001 - whatever it is, it is the end of this task alone
        returned = Returned(failed_outcome(order.task, problem))
    send(line, returned)


def find_project(task: BatchTask, prefix: str, place: TryPlace) -> str:
    """Return the folder of the project in a place, at the commit that the task names: then the place is that of the
    whole repository. Raises GitFailed."""
    if not task.ref:
        return place.root
    check_out(place.root, task.ref)
    root = os.path.join(place.root, prefix.rstrip("/"))
    os.makedirs(root, exist_ok=True)  # a folder that this commit does not have
    return os.path.normpath(root)


def send_project(task: BatchTask, prefix: str, place: TryPlace, line: socket.socket) -> None:
    """Send the project as the task finds it, for use on another machine."""
    send(line, pack_project(find_project(task, prefix, place)))


def patch_of(place: str, prefix: str = "") -> str:
    """Return all that was changed in a place, as one unified diff of its texts; paths begin with `prefix`."""
    with open_workspace(place) as workspace:
        history = workspace.history
        diffs = []
        for path, (first, last) in sorted(ends(each for each in history.changes() if each.group != SETUP).items()):
            old, new = (_decode(history.content(state) if state else None) for state in (first.before, last.after))
            diffs.append(diff_texts(prefix + path, old, new).text)
    return "".join(diffs)


def _decode(content: bytes | None) -> str | None:
    return content.decode("utf-8", "surrogateescape") if content is not None else None


async def carry_out(order: TaskOrder, root: str, audience: Sequence[Reader] = ()) -> Returned:
    """Carry out a task in a folder that is its own, after its own set-up. Raises SetupFailed, before any model is
    asked."""
    task, settings = order.task, replace(order.settings, root=root)
    if task.setup:
        await set_up(task, settings)
    request = TaskRequest(task.prompt or "Carry out the plan.", plan=task.plan, limits=order.limits, env=task.env)
    result = await run_task(settings, request, audience)
    outcome = outcome_of(task, root, result.trace_id, result.final)
    records = pack(os.path.join(root, ".nebula"))
    return Returned(outcome, patch_of(root, order.prefix), records, pack_project(root) if order.keep else b"")
