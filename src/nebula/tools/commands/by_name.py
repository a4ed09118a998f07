"""What a command changed that only a yes by name allows: secret files, control files, the repository itself."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nebula.events import Approval, new_trace_id
from nebula.language import Sentence
from nebula.tools.approval import BY_NAME
from nebula.tools.commands.change_set import read_command_changes
from nebula.tools.commands.repository_words import join_described
from nebula.tools.commands.shown_names import show_name

if TYPE_CHECKING:
    from nebula.sandbox.contract import CommandResult
    from nebula.tools.approval import Approvals
    from nebula.tools.commands.change_set import CommandChanges
    from nebula.tools.contract import Call
    from nebula.workspace.local import LocalWorkspace

REPOSITORY = "It changes the repository itself, not restorable by undo: {what}. A yes is for this one command."
LEFT_OUT = "A command's changes under .git were left out: {what}. To allow them add {options}"
LEFT_OUT_AS_CHANGED = "A command's changes under .git were left out, because it changed meanwhile: {what}."
_MOST_NAMED = 20
RUN_BY_GIT = "These make git run programs: {paths}."


async def ask_by_name(
    line: str,
    result: CommandResult,
    changes: CommandChanges,
    workspace: LocalWorkspace,
    approvals: Approvals,
    call: Call,
) -> tuple[str, ...]:
    """Ask about each path of `changes` that needs a name, one question each, and return those that were allowed."""
    wanted = [path for path in changes.needs_names if path != ".git"]
    possible = await asyncio.to_thread(read_command_changes, result, workspace.allowing(*wanted))
    allowed: list[str] = []
    for change in possible.proposed:
        if change.path in wanted:
            warning = Sentence(BY_NAME, path=change.path)
            question = Approval(new_trace_id(), "command", call.use.name, (change,), line, (warning,))
            if (await approvals.ask(question, call, None)).allowed:
                allowed.append(change.path)
    if ".git" in changes.needs_names:
        allowed += await _ask_for_repository(line, result, changes, workspace, approvals, call)
    return tuple(allowed)


async def _ask_for_repository(
    line: str,
    result: CommandResult,
    changes: CommandChanges,
    workspace: LocalWorkspace,
    approvals: Approvals,
    call: Call,
) -> list[str]:
    """Ask about all changes under `.git` at once: half a commit is a broken repository."""
    files = [change.path for change in result.changes.git_files]
    names = sorted({_repository_of(path) for path in files})
    run_by_git = [path for path in files if not workspace.allowing(*names).may_change_repository(path)]
    names += run_by_git
    possible = await asyncio.to_thread(read_command_changes, result, workspace.allowing(*names))
    if not possible.repository:
        return []  # what not even a name allows, or the repository changed meanwhile
    remarks = [Sentence(REPOSITORY, what=join_described(changes.git))]
    if run_by_git:
        remarks.append(Sentence(RUN_BY_GIT, paths=", ".join(run_by_git)))
    question = Approval(new_trace_id(), "command", call.use.name, (), line, tuple(remarks))
    return names if (await approvals.ask(question, call, None)).allowed else []


def repository_left_out(result: CommandResult, changes: CommandChanges, workspace: LocalWorkspace) -> Sentence:
    """Return what a person is told where changes under `.git` were left out, with the names that would allow them."""
    what = join_described(changes.git)
    missing = [path for path in (each.path for each in result.changes.git_files) if not _may(workspace, path)]
    by_folder = {path for path in missing if _may(workspace.allowing(_repository_of(path)), path)}
    names = sorted({_repository_of(path) for path in by_folder}) + [path for path in missing if path not in by_folder]
    if not names:
        return Sentence(LEFT_OUT_AS_CHANGED, what=what)
    return Sentence(LEFT_OUT, what=what, options=" ".join(f"--allow {show_name(name)}" for name in names[:_MOST_NAMED]))


def _may(workspace: LocalWorkspace, path: str) -> bool:
    return workspace.may_change_repository(path)


def _repository_of(path: str) -> str:
    """Return the `.git` that a path lies in."""
    before, _, _ = f"{path}/".partition(".git/")
    return f"{before}.git"
