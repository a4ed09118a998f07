"""The first command that cannot be started because its interpreter is out of sight: the user is asked, once."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nebula.errors import NebulaError
from nebula.events import Approval, Notice, new_trace_id
from nebula.tools.contract import Call

if TYPE_CHECKING:
    from nebula.tools.approval import Approvals
    from nebula.tools.commands.layers import CommandLayers

NOT_STARTED = (126, 127)
"""What a shell says of a program that cannot be started."""


async def ask_to_show(layers: CommandLayers, approvals: Approvals | None, call: Call, exit_code: int | None) -> bool:
    """Return whether a command that ended with `exit_code` now sees more than it did, and is worth another try.

    The answer is remembered in the user's config. Where nobody can be asked, the user is told instead.
    """
    unseen = layers.unseen if exit_code in NOT_STARTED else None
    if unseen is None or layers.pointed_out:
        return False
    layers.pointed_out = True
    folders = layers.unseen_folders
    if approvals is None or not approvals.somebody_is_there or not layers.may_ask_about(folders):
        call.emit(Notice(unseen))
        return False
    question = Approval(new_trace_id(), "folders", call.use.name, text="\n".join(folders))
    decision = await approvals.ask(question, call, None)
    try:
        await asyncio.to_thread(layers.show if decision.allowed else layers.keep_hidden, folders)
    except (NebulaError, OSError):  # it cannot be remembered; what was said holds for this session all the same
        call.emit(Notice(unseen))
    return decision.allowed
