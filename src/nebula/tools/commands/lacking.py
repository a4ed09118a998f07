"""Ask the user, once a session, about files that a failed command or check needed and could not see.

It is an interpreter in a folder that commands do not see, or files that are empty for them because they count as
secret. Keys and certificates for tests are such files in many repositories: all that a test then reports is `connection
refused`. Where nobody can be asked, the user is told instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.errors import NebulaError
from nebula.events import Approval, Notice, new_trace_id
from nebula.git import ask_git
from nebula.language import Sentence
from nebula.tools.commands.program_name import program_of
from nebula.tools.contract import Call

if TYPE_CHECKING:
    from nebula.tools.approval import Approvals
    from nebula.tools.commands.layers import CommandLayers

NOT_STARTED = (126, 127)
"""Exit codes with which a shell reports that it cannot run, or cannot find, a program."""
MOST_NAMED = 5
_SEARCHES = frozenset({"ag", "ack", "diff", "find", "git", "grep", "rg"})
FOR_THE_MODEL = (
    "It read files that are empty for commands, since they count as secret: {paths}. If it needs them, tell the user."
)
FOR_THE_USER = (
    "A command that failed had read files that are empty for it, since they count as secret: {paths}. To show them to "
    "commands start with {options}"
)
WARNING = Sentence(
    "They count as secret, so they were empty for it. Git tracks them. A yes shows them to the commands of this "
    "session, whose output the model sees, and runs this one again."
)


def describe_for_model(paths: Sequence[str]) -> str:
    return FOR_THE_MODEL.format(paths=_named(paths))


async def sees_more(
    layers: CommandLayers,
    approvals: Approvals | None,
    call: Call,
    line: str,
    exit_code: int | None,
    read_empty: Sequence[str],
) -> bool:
    """Ask whether commands may see what this one lacked; return whether they now do, so that it is worth another
    try."""
    return await _ask_to_show(layers, approvals, call, exit_code) or await _ask_to_read(
        layers, approvals, call, line, read_empty
    )


async def _ask_to_show(layers: CommandLayers, approvals: Approvals | None, call: Call, exit_code: int | None) -> bool:
    """Ask about the folder of an interpreter; the answer is kept in the user's config."""
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
    except (NebulaError, OSError):  # it cannot be kept; the answer counts for this session nevertheless
        call.emit(Notice(unseen))
    return decision.allowed


async def _ask_to_read(
    layers: CommandLayers, approvals: Approvals | None, call: Call, line: str, paths: Sequence[str]
) -> bool:
    """Ask about secret files that git tracks, as it tracks those of tests; a search reads every file there is, and
    fails where it finds nothing."""
    if not paths or layers.pointed_out_empty or program_of(line) in _SEARCHES:
        return False
    tracked = await asyncio.to_thread(_tracked, layers.settings.root, paths)
    if not tracked:
        return False
    layers.pointed_out_empty = True
    if approvals is None or not approvals.somebody_is_there:
        import shlex  # loaded only when needed

        options = " ".join(f"--allow {shlex.quote(path)}" for path in tracked[:MOST_NAMED])
        call.emit(Notice(Sentence(FOR_THE_USER, paths=_named(tracked), options=options)))
        return False
    question = Approval(new_trace_id(), "secrets", call.use.name, text="\n".join(tracked), remarks=(WARNING,))
    decision = await approvals.ask(question, call, None)
    if decision.allowed:
        await asyncio.to_thread(layers.show_secrets, tracked)
    return decision.allowed


def _named(paths: Sequence[str]) -> str:
    more = f" … +{len(paths) - MOST_NAMED}" if len(paths) > MOST_NAMED else ""
    return ", ".join(paths[:MOST_NAMED]) + more


def _tracked(root: str, paths: Sequence[str]) -> list[str]:
    listed = ask_git(root, "ls-files", "-z", "--", *(f":(literal){path}" for path in paths)) or b""
    known = {name.decode("utf-8", "surrogateescape") for name in listed.split(b"\0")}
    return [path for path in paths if path in known]
