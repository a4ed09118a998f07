"""Commands about the files that turns changed: undo, redo, see the difference, put them back after /fork."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent import undo as journal
from nebula.agent.commits.committed import commits_with
from nebula.agent.judging import Judge, judge_of
from nebula.agent.place import Place
from nebula.agent.recording.node_files import changed_by, described
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.commands.graph.nodes import named_node
from nebula.cli.terminal.dialogs.questions import agreed
from nebula.cli.terminal.output.diff_view import fits, show_diff
from nebula.cli.terminal.output.width import cut
from nebula.cli.terminal.terminal_session import TerminalSession, at_work
from nebula.language import translate
from nebula.stage import join_lines, one_line
from nebula.workspace.diff import TextDiff
from nebula.workspace.file_history import FilePlan

LISTED = 50
"""Files that have a line each."""
NAMED = 20
"""Files that are named in one sentence."""


async def undo(terminal: TerminalSession, _: str = "") -> None:
    if (before := terminal.forks.undo(terminal.session.place)) is not None:
        _go_to(terminal, before)
        terminal.screen.hint("/redo goes there again. The files stay as they are.")
        return
    workspace = terminal.session.project.workspace
    plan = await at_work(journal.undo_plan, workspace, terminal.gone_already)
    if not plan.steps:
        _nothing_left_of(terminal, plan)
        return
    await preview(terminal, plan)
    if not plan.conflicts and not all(map(terminal.session.made, plan.turns)):
        terminal.screen.warn("The last change was not made by this session: {files}", files=_in(plan))
        if not await agreed(terminal, translate("Take it back all the same? (y/N): ")):
            return
    if (touched := await _carry_out(terminal, plan)) is None:
        return
    terminal.forks.files_undone()
    terminal.screen.tell("Taken back: {files}", files=named(touched))
    await _tell_of_commits(terminal, plan)
    terminal.screen.hint("/redo does it again.")


async def redo(terminal: TerminalSession, _: str = "") -> None:
    if (there := terminal.forks.redo(terminal.session.place)) is not None:
        _go_to(terminal, there)
        return
    workspace = terminal.session.project.workspace
    plan = await at_work(journal.redo_plan, workspace)
    await preview(terminal, plan)
    if not plan.conflicts and plan.undone_by != terminal.session.id:
        terminal.screen.warn("It was not taken back by this session: {files}", files=_in(plan))
        if not await agreed(terminal, translate("Do it again all the same? (y/N): ")):
            return
    if (touched := await _carry_out(terminal, plan)) is None:
        return
    terminal.forks.files_redone()
    if touched:
        terminal.screen.tell("Done again: {files}", files=named(touched))
    else:
        terminal.screen.tell("The files are like that already; there was nothing to redo.")


async def _carry_out(terminal: TerminalSession, plan: FilePlan) -> tuple[str, ...] | None:
    """Return the files that were touched; None where one is in the way, after saying what goes all the same."""
    workspace = terminal.session.project.workspace
    try:
        return await at_work(journal.carry_out, workspace, plan, terminal.session.id, _judge(terminal))
    except journal.UndoRefused as refusal:
        if not plan.conflicts:
            raise
        terminal.warn(refusal)
    hint = "/history FILE NUMBER does it for one file alone; /restore TURN leaves alone what was changed by hand."
    terminal.screen.hint(hint)
    return None


async def _tell_of_commits(terminal: TerminalSession, plan: FilePlan) -> None:
    project = terminal.session.project
    history = journal.journal_of(project.workspace)
    for commit, paths in (await at_work(commits_with, project.root, history, plan)).items():
        terminal.screen.warn(
            "Commit {commit} still has it ({files}): only the files in the work tree went back.",
            commit=commit,
            files=named(paths),
        )


def _judge(terminal: TerminalSession) -> Judge | None:
    return judge_of(terminal.session.settings)


def _nothing_left_of(terminal: TerminalSession, plan: FilePlan) -> None:
    """Say that somebody took it back by hand. It is not marked as undone: /redo would bring back what they removed."""
    terminal.gone_already.add(plan.group)
    terminal.forks.files_are_so_already()
    terminal.screen.tell("The files are already as they were before; there is nothing to take back.")


def _go_to(terminal: TerminalSession, place: Place) -> None:
    terminal.session.go_to(place)
    terminal.left_behind = None
    tell_where(terminal)


def tell_where(terminal: TerminalSession) -> None:
    """After the conversation went elsewhere."""
    terminal.measure_context()
    turns = terminal.session.conversation.turns
    last = cut(join_lines(turns[-1].prompt), 60) if turns else ""
    if last:
        terminal.screen.tell("The next prompt continues from: {prompt}", prompt=last)
    else:
        terminal.screen.tell("The next prompt begins a conversation.")


def _in(plan: FilePlan) -> str:
    return named([step.path for step in plan.steps])


async def diff(terminal: TerminalSession, argument: str) -> None:
    node_id = named_node(terminal, argument) if argument else terminal.session.conversation.leaf
    found = changed_by(terminal.session.project.workspace, node_id) if node_id else []
    if not found and argument:
        terminal.screen.tell("No change is recorded for '{node}'.", node=one_line(argument))
    elif not found:
        terminal.screen.tell("The last turn changed no file.")
    for each in found:
        show_diff(terminal.screen, each.diff.text)


async def restore(terminal: TerminalSession, argument: str = "") -> None:
    """Put back the files as an earlier turn had left them: the one that /fork went back to, or any that is named."""
    node, shown = terminal.left_behind or (None, None)
    if argument:
        node, shown = terminal.session.archive.find(named_node(terminal, argument)), None
    if node is None:
        terminal.screen.warn("There is nothing to put back; /restore works right after /fork, or name a node.")
        return
    workspace = terminal.session.project.workspace
    plan = await at_work(journal.restore_plan, workspace, node)
    if not plan.steps and not plan.passed_over:
        terminal.screen.tell("The files are as that turn left them.")
    if shown is None or (shown.steps, shown.passed_over) != (plan.steps, plan.passed_over):
        await preview(terminal, plan)
    if not plan.steps:
        return
    touched = await at_work(journal.carry_out, workspace, plan, "", _judge(terminal))
    terminal.session.turn_ids.add(plan.group)
    terminal.left_behind = None
    terminal.forks.files_changed()
    terminal.screen.tell("Put back: {files}", files=named(touched))
    terminal.screen.hint("/undo takes it back.")


async def preview(terminal: TerminalSession, plan: FilePlan) -> None:
    """Show what is about to change, in one piece, before it does; nothing where it cannot be done."""
    if plan.conflicts:
        return
    found = await at_work(described, terminal.session.project.workspace, plan)
    show_preview(terminal, [(each.path, each.diff) for each in found.files])
    if found.deleted:
        terminal.screen.warn("Deleted by hand, and brought back: {files}", files=named(found.deleted))
    if plan.passed_over:
        terminal.screen.warn("Changed by hand since, and left as they are: {files}", files=named(plan.passed_over))


def show_preview(terminal: TerminalSession, files: Sequence[tuple[str, TextDiff]]) -> None:
    """Show the lines that change, or the files alone where the lines would fill more than the screen."""
    if not files:
        return
    screen = terminal.screen
    screen.line(translate("What changes:"), "bold")
    diffs = [_with_name(path, diff.text.rstrip("\n")) for path, diff in files]
    if not screen.capable or fits(screen, diffs, screen.rows):
        show_diff(screen, "\n".join(diffs))
        return
    for path, diff in files[:LISTED]:
        screen.line(f"  {one_line(path)} (+{diff.added} −{diff.removed})")
    if len(files) > LISTED:
        screen.line(f"  … +{len(files) - LISTED}")


def _with_name(path: str, text: str) -> str:
    """Return a diff; what no lines show (another mode, a folder that came or went) says first whose it is."""
    return text if text.startswith("--- ") else f"{one_line(path)}: {text}" if text else one_line(path)


def named(paths: Sequence[str]) -> str:
    shown = [one_line(path) for path in paths[:NAMED]]
    if len(paths) > NAMED:
        shown.append(translate("and {count} more", count=len(paths) - NAMED))
    return translate(", ").join(shown)


COMMANDS = (
    SessionCommand("undo", "take back the file changes of the last turn, or a /fork just made", undo, alone=True),
    SessionCommand("redo", "do again what was undone", redo, alone=True),
    SessionCommand("diff", "show what the last turn changed; /diff NODE another one", diff),
    SessionCommand("restore", "put the files back as the turn of /fork, or of /restore NODE, left them", restore),
)
