"""A command that failed, and that had read files which are empty for it because they count as secret.

Keys and certificates of tests are such files in many repositories: `connection refused` is all that a test says then.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.events import Approval, Notice, new_trace_id
from nebula.git import GitFailed, safe_git
from nebula.language import Sentence
from nebula.tools.commands.program_name import program_of
from nebula.tools.contract import Call

if TYPE_CHECKING:
    from nebula.tools.approval import Approvals
    from nebula.tools.commands.layers import CommandLayers

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


async def ask_to_read(
    layers: CommandLayers, approvals: Approvals | None, call: Call, line: str, paths: Sequence[str]
) -> bool:
    """Return whether commands now see files that were empty for one that failed, and it is worth another try.

    It is asked once a session, and only about files that git tracks, as those of tests are; a search reads whatever
    there is, and fails where it finds nothing. Where nobody can be asked, the user is told instead.
    """
    if not paths or layers.pointed_out_empty or program_of(line) in _SEARCHES:
        return False
    tracked = await asyncio.to_thread(_tracked, layers.settings.root, paths)
    if not tracked:
        return False
    layers.pointed_out_empty = True
    if approvals is None or not approvals.somebody_is_there:
        import shlex  # not for every start

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
    try:
        listed = safe_git(root, "ls-files", "-z", "--", *(f":(literal){path}" for path in paths))
    except GitFailed:
        return []
    known = {name.decode("utf-8", "surrogateescape") for name in listed.stdout.split(b"\0")}
    return [path for path in paths if path in known]
