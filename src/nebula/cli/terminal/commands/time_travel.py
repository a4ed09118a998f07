"""Commands about time: undo and redo files, ask again, go on from an earlier turn, see the shape of the talk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nebula.agent import undo as files
from nebula.cli.terminal.dialogs.numbered_list import choose
from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.output.diff_view import show_diff
from nebula.cli.terminal.output.width import cut
from nebula.cli.terminal.turns import take_turn
from nebula.stage import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from nebula.agent.conversation import PastTurn
    from nebula.cli.terminal.terminal_session import TerminalSession
    from nebula.graph.values import Node
    from nebula.workspace.contract import Workspace


async def undo(terminal: TerminalSession, _: str = "") -> None:
    await _travel(terminal, files.undo, "undone", "undo_none")


async def redo(terminal: TerminalSession, _: str = "") -> None:
    await _travel(terminal, files.redo, "redone", "redo_none")


async def _travel(
    terminal: TerminalSession, go: Callable[[Workspace], tuple[str, ...]], done: str, nothing: str
) -> None:
    try:
        touched = await asyncio.to_thread(go, terminal.session.project.workspace)
    except files.NothingToUndo:
        terminal.screen.line(terminal.words(nothing))
    except files.UndoRefused as refusal:
        _refused(terminal, refusal)
    else:
        terminal.screen.line(terminal.words(done, files=_named(touched)))


def _refused(terminal: TerminalSession, refusal: files.UndoRefused) -> None:
    if isinstance(refusal, files.NoJournalHere):
        terminal.screen.line(terminal.words("undo_remote"), "yellow")
    else:
        terminal.screen.line(terminal.words("undo_stale", reason=one_line(str(refusal))), "yellow")


async def diff(terminal: TerminalSession, argument: str) -> None:
    node_id = _node_id(terminal, argument) if argument else terminal.session.conversation.leaf
    try:
        found = files.differences(terminal.session.project.workspace, node_id) if node_id else []
    except files.UndoRefused as refusal:
        _refused(terminal, refusal)
        return
    if not found:
        key = "diff_unknown" if argument else "diff_none"
        terminal.screen.line(terminal.words(key, node=one_line(argument)))
    for each in found:
        show_diff(terminal.screen, terminal.words, each.text)


async def retry(terminal: TerminalSession, _: str = "") -> None:
    turn = _last_turn(terminal)
    if turn is None:
        return
    terminal.screen.line(terminal.words("retrying", prompt=cut(one_line(turn.prompt), 60)), "dim")
    terminal.session.step_back()
    await take_turn(terminal, turn.prompt)


async def edit(terminal: TerminalSession, argument: str = "") -> None:
    """The last prompt, put in front to be changed; or at once what was typed behind the command."""
    turn = _last_turn(terminal)
    if turn is None:
        return
    prompt = argument or await _edited(terminal, turn.prompt)
    if prompt:
        terminal.session.step_back()
        await take_turn(terminal, prompt)


async def _edited(terminal: TerminalSession, prompt: str) -> str:
    terminal.screen.line(terminal.words("editing"), "dim")
    try:
        return (await terminal.input.prompt(default=prompt)).strip()
    except (Interrupted, EndOfInput):
        return ""


def _last_turn(terminal: TerminalSession) -> PastTurn | None:
    """The turn to be asked again, with a word about files that it left behind."""
    turns = terminal.session.conversation.turns
    if not turns or not turns[-1].prompt:
        terminal.screen.line(terminal.words("nothing_to_retry"), "yellow")
        return None
    last = terminal.session.last
    if last is not None and last.node_id == turns[-1].node_id and last.files_changed:
        terminal.screen.line(
            terminal.words("files_stay", files=_named(tuple(f.path for f in last.files_changed))), "dim"
        )
    return turns[-1]


async def fork(terminal: TerminalSession, argument: str) -> None:
    session = terminal.session
    if argument:
        chosen = _node_id(terminal, argument)
        if chosen is None:
            terminal.screen.line(terminal.words("node_unknown", node=one_line(argument)), "yellow")
            return
    else:
        newest_first = (await asyncio.to_thread(_path, terminal))[::-1]
        if not newest_first:
            terminal.screen.line(terminal.words("nothing_to_retry"), "yellow")
            return
        terminal.screen.line(terminal.words("fork_title"))
        names = [f"{node.id[-8:]}  {cut(one_line(node.prompt), 60)}" for node in newest_first]
        number = await choose(terminal, names, terminal.words("fork_ask"), 0)
        if number is None:
            return
        chosen = newest_first[number].id
    await asyncio.to_thread(session.continue_from, [chosen])
    terminal.measure_context()
    last = session.conversation.turns[-1].prompt if session.conversation.turns else ""
    terminal.screen.line(terminal.words("forked", prompt=cut(one_line(last), 60)))
    await _tell_of_files(terminal)


async def _tell_of_files(terminal: TerminalSession) -> None:
    """The talk went back; the files may go with it."""
    leaf = terminal.session.conversation.leaf
    node = await asyncio.to_thread(terminal.session.archive.find, leaf) if leaf else None
    terminal.left_behind = None
    if node is None:
        return
    try:
        plan = await asyncio.to_thread(files.restore_plan, terminal.session.project.workspace, node)
    except files.UndoRefused as refusal:
        _refused(terminal, refusal)
        return
    if plan.steps:
        terminal.left_behind = node
        names = _named(tuple(step.path for step in plan.steps))
        terminal.screen.line(terminal.words("fork_files", count=len(plan.steps), files=names))


async def restore(terminal: TerminalSession, _: str = "") -> None:
    """After /fork, which told what would change: the files as the turn one went back to had left them."""
    if terminal.left_behind is None:
        terminal.screen.line(terminal.words("restore_none"), "yellow")
        return
    workspace = terminal.session.project.workspace
    try:
        plan = await asyncio.to_thread(files.restore_plan, workspace, terminal.left_behind)
        touched = await asyncio.to_thread(files.carry_out, workspace, plan)
    except files.UndoRefused as refusal:
        _refused(terminal, refusal)
        return
    terminal.left_behind = None
    terminal.screen.line(terminal.words("restored", files=_named(touched)))


async def graph(terminal: TerminalSession, argument: str) -> None:
    from nebula.cli.terminal.output.graph_view import show_map  # the graph's room is loaded when it is looked at

    await asyncio.to_thread(show_map, terminal, everything=argument == "all")


async def tree(terminal: TerminalSession, argument: str) -> None:
    from nebula.cli.terminal.output.graph_view import show_tree

    await asyncio.to_thread(show_tree, terminal, everything=argument == "all")


def _path(terminal: TerminalSession) -> list[Node]:
    leaf = terminal.session.conversation.leaf
    return terminal.session.archive.path_to([leaf]) if leaf else []


def _node_id(terminal: TerminalSession, name: str) -> str | None:
    """A node by its number in the flow, its id, or a beginning or end of it that no other has."""
    from nebula.graph.errors import GraphError

    graph = terminal.session.archive.graph
    if graph is None:
        return None
    try:
        entries = graph.get_flow().entries
    except GraphError:
        return None
    if name.isdecimal():
        numbered = [entry.id for entry in entries if entry.index == int(name)]
        if numbered:
            return numbered[0]
    found = [entry.id for entry in entries if entry.id.startswith(name) or entry.id.endswith(name)]
    return found[0] if len(found) == 1 else None


def _named(paths: tuple[str, ...]) -> str:
    return ", ".join(one_line(path) for path in paths)
