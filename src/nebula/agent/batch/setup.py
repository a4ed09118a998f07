"""The set-up of a task: a command of the user's own, run once in its place before any model is asked."""

from __future__ import annotations

import asyncio
from typing import Final

from nebula.agent.batch.task_file import BatchTask
from nebula.config import Settings
from nebula.errors import NebulaError
from nebula.tools.commands.change_set import read_command_changes
from nebula.tools.commands.layers import CommandLayers
from nebula.workspace import open_workspace

SETUP: Final = "setup"
"""The name in the journal under which its changes stand: they are no part of what the task did."""
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
