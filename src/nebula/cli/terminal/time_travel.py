"""Commands about time: undo and redo files, ask again, go on from an earlier turn, see the shape of the talk."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nebula.agent import undo as files
from nebula.cli.terminal.diff_view import show_diff
from nebula.cli.terminal.questions import choose
from nebula.cli.terminal.reading import EndOfInput, Interrupted
from nebula.cli.terminal.turns import take_turn
from nebula.cli.terminal.width import cut
from nebula.stage import one_line

if TYPE_CHECKING:
    from collections.abc import Callable

    from nebula.agent.conversation import PastTurn
    from nebula.cli.terminal.sitting import Sitting
    from nebula.graph.values import Node
    from nebula.workspace.contract import Workspace


async def undo(sitting: Sitting, _: str = "") -> None:
    await _travel(sitting, files.undo, "undone", "undo_none")


async def redo(sitting: Sitting, _: str = "") -> None:
    await _travel(sitting, files.redo, "redone", "redo_none")


async def _travel(sitting: Sitting, go: Callable[[Workspace], tuple[str, ...]], done: str, nothing: str) -> None:
    try:
        touched = await asyncio.to_thread(go, sitting.session.desk.workspace)
    except files.NothingToUndo:
        sitting.screen.line(sitting.words(nothing))
    except files.UndoRefused as refusal:
        _refused(sitting, refusal)
    else:
        sitting.screen.line(sitting.words(done, files=_named(touched)))


def _refused(sitting: Sitting, refusal: files.UndoRefused) -> None:
    if isinstance(refusal, files.NoJournalHere):
        sitting.screen.line(sitting.words("undo_remote"), "yellow")
    else:
        sitting.screen.line(sitting.words("undo_stale", reason=one_line(str(refusal))), "yellow")


async def diff(sitting: Sitting, argument: str) -> None:
    node_id = _node_id(sitting, argument) if argument else sitting.session.conversation.leaf
    try:
        found = files.differences(sitting.session.desk.workspace, node_id) if node_id else []
    except files.UndoRefused as refusal:
        _refused(sitting, refusal)
        return
    if not found:
        key = "diff_unknown" if argument else "diff_none"
        sitting.screen.line(sitting.words(key, node=one_line(argument)))
    for each in found:
        show_diff(sitting.screen, sitting.words, each.text)


async def retry(sitting: Sitting, _: str = "") -> None:
    turn = _last_turn(sitting)
    if turn is None:
        return
    sitting.screen.line(sitting.words("retrying", prompt=cut(one_line(turn.prompt), 60)), "dim")
    sitting.session.step_back()
    await take_turn(sitting, turn.prompt)


async def edit(sitting: Sitting, argument: str = "") -> None:
    """The last prompt, put in front to be changed; or at once what was typed behind the command."""
    turn = _last_turn(sitting)
    if turn is None:
        return
    prompt = argument or await _edited(sitting, turn.prompt)
    if prompt:
        sitting.session.step_back()
        await take_turn(sitting, prompt)


async def _edited(sitting: Sitting, prompt: str) -> str:
    sitting.screen.line(sitting.words("editing"), "dim")
    try:
        return (await sitting.reading.prompt(default=prompt)).strip()
    except (Interrupted, EndOfInput):
        return ""


def _last_turn(sitting: Sitting) -> PastTurn | None:
    """The turn to be asked again, with a word about files that it left behind."""
    turns = sitting.session.conversation.turns
    if not turns or not turns[-1].prompt:
        sitting.screen.line(sitting.words("nothing_to_retry"), "yellow")
        return None
    last = sitting.session.last
    if last is not None and last.node_id == turns[-1].node_id and last.files_changed:
        sitting.screen.line(sitting.words("files_stay", files=_named(tuple(f.path for f in last.files_changed))), "dim")
    return turns[-1]


async def fork(sitting: Sitting, argument: str) -> None:
    session = sitting.session
    if argument:
        chosen = _node_id(sitting, argument)
        if chosen is None:
            sitting.screen.line(sitting.words("node_unknown", node=one_line(argument)), "yellow")
            return
    else:
        newest_first = (await asyncio.to_thread(_path, sitting))[::-1]
        if not newest_first:
            sitting.screen.line(sitting.words("nothing_to_retry"), "yellow")
            return
        sitting.screen.line(sitting.words("fork_title"))
        names = [f"{node.id[-8:]}  {cut(one_line(node.prompt), 60)}" for node in newest_first]
        number = await choose(sitting, names, sitting.words("fork_ask"), 0)
        if number is None:
            return
        chosen = newest_first[number].id
    await asyncio.to_thread(session.continue_from, [chosen])
    sitting.measure_context()
    last = session.conversation.turns[-1].prompt if session.conversation.turns else ""
    sitting.screen.line(sitting.words("forked", prompt=cut(one_line(last), 60)))
    await _tell_of_files(sitting)


async def _tell_of_files(sitting: Sitting) -> None:
    """The talk went back; the files may go with it."""
    leaf = sitting.session.conversation.leaf
    node = await asyncio.to_thread(sitting.session.keeper.find, leaf) if leaf else None
    sitting.left_behind = None
    if node is None:
        return
    try:
        plan = await asyncio.to_thread(files.restore_plan, sitting.session.desk.workspace, node)
    except files.UndoRefused as refusal:
        _refused(sitting, refusal)
        return
    if plan.steps:
        sitting.left_behind = node
        names = _named(tuple(step.path for step in plan.steps))
        sitting.screen.line(sitting.words("fork_files", count=len(plan.steps), files=names))


async def restore(sitting: Sitting, _: str = "") -> None:
    """After /fork, which told what would change: the files as the turn one went back to had left them."""
    if sitting.left_behind is None:
        sitting.screen.line(sitting.words("restore_none"), "yellow")
        return
    workspace = sitting.session.desk.workspace
    try:
        plan = await asyncio.to_thread(files.restore_plan, workspace, sitting.left_behind)
        touched = await asyncio.to_thread(files.carry_out, workspace, plan)
    except files.UndoRefused as refusal:
        _refused(sitting, refusal)
        return
    sitting.left_behind = None
    sitting.screen.line(sitting.words("restored", files=_named(touched)))


async def graph(sitting: Sitting, argument: str) -> None:
    from nebula.cli.terminal.graph_view import show_map  # the graph's room is loaded when it is looked at

    await asyncio.to_thread(show_map, sitting, everything=argument == "all")


async def tree(sitting: Sitting, argument: str) -> None:
    from nebula.cli.terminal.graph_view import show_tree

    await asyncio.to_thread(show_tree, sitting, everything=argument == "all")


def _path(sitting: Sitting) -> list[Node]:
    leaf = sitting.session.conversation.leaf
    return sitting.session.keeper.path_to([leaf]) if leaf else []


def _node_id(sitting: Sitting, name: str) -> str | None:
    """A node by its number in the flow, its id, or a beginning or end of it that no other has."""
    from nebula.graph.errors import GraphError

    graph = sitting.session.keeper.graph
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
