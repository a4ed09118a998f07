"""Commands that branch: ask again, ask otherwise, go on from an earlier turn. Nothing is ever deleted."""

from __future__ import annotations

from nebula.agent import undo as journal
from nebula.agent.conversation import PastTurn
from nebula.attachments import Attachment
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.commands.files import named, preview, tell_where
from nebula.cli.terminal.commands.graph.nodes import menu_of_turns, named_node, short_ids
from nebula.cli.terminal.dialogs.questions import choose
from nebula.cli.terminal.input.contract import EndOfInput, Interrupted
from nebula.cli.terminal.output.width import cut
from nebula.cli.terminal.terminal_session import TerminalSession, at_work
from nebula.cli.terminal.turns import take_turn
from nebula.language import translate, translate_count
from nebula.stage import join_lines


async def retry(terminal: TerminalSession, _: str = "") -> None:
    turn = _last_turn(terminal)
    if turn is None:
        return
    prompt = cut(join_lines(turn.prompt), 60)
    terminal.screen.hint("Asking again as a new branch: {prompt}", prompt=prompt)
    terminal.session.place.step_back()
    await take_turn(terminal, turn.prompt, _given_with(terminal, turn, turn.prompt))


async def edit(terminal: TerminalSession, argument: str = "") -> None:
    """Put the last prompt in front to be changed; or at once what was typed behind the command."""
    turn = _last_turn(terminal)
    if turn is None:
        return
    prompt = argument or await _edited(terminal, turn.prompt)
    if prompt:
        terminal.line = terminal.line if argument else prompt
        terminal.session.place.step_back()
        await take_turn(terminal, prompt, _given_with(terminal, turn, prompt))


def _given_with(terminal: TerminalSession, turn: PastTurn, prompt: str) -> list[Attachment]:
    """Return what came with the turn and is not read anew: images, and pastes whose marks are still in the prompt."""
    node = terminal.session.archive.find(turn.node_id) if turn.node_id else None
    kept = turn.attachments or (node.attachments if node is not None else ())
    return [
        each
        for each in kept
        if each.kind == "input"
        or (each.kind == "paste" and each.name in prompt)
        or (each.kind == "image" and each.text and f"@{each.name}" not in prompt)
    ]


async def _edited(terminal: TerminalSession, prompt: str) -> str:
    terminal.screen.hint("Change the prompt and send it; it becomes a new branch. Ctrl-C keeps things as they are.")
    try:
        return (await terminal.input.edit(prompt)).strip()
    except (Interrupted, EndOfInput):
        terminal.screen.hint("Everything stays as it is.")
        return ""


def _last_turn(terminal: TerminalSession) -> PastTurn | None:
    """Return the turn to be asked again, with a word about files that it left behind."""
    turns = terminal.session.conversation.turns
    if not turns or not turns[-1].prompt:
        terminal.screen.warn("There is no turn to go back to yet.")
        return None
    changed = _files_of(terminal, turns[-1])
    if changed:
        terminal.screen.hint(
            "What the last turn changed stays: {files}. To start from before it, say /undo first.", files=named(changed)
        )
    return turns[-1]


def _files_of(terminal: TerminalSession, turn: PastTurn) -> list[str]:
    """Return the files that a turn left changed, also one of an earlier run of this session."""
    if not turn.node_id:
        return []
    try:
        return journal.left_changed(terminal.session.project.workspace, turn.node_id)
    except journal.UndoRefused:  # no journal tells what became of them
        node = terminal.session.archive.find(turn.node_id)
        return [file.path for file in node.files] if node is not None else []


async def fork(terminal: TerminalSession, argument: str) -> None:
    chosen = await at_work(named_node, terminal, argument) if argument else await _choose_turn(terminal)
    if chosen is None:
        return
    left = terminal.session.place
    await at_work(terminal.session.continue_from, [chosen])
    terminal.forks.forked(left)
    tell_where(terminal)
    leaf = left.conversation.leaf
    if leaf is not None and leaf != chosen:
        short = await at_work(short_ids, terminal, [leaf])
        terminal.screen.hint("/undo, or later /fork {id}, goes back to where you were.", id=short[leaf])
    await _tell_of_files(terminal)


async def _choose_turn(terminal: TerminalSession) -> str | None:
    offered, count = await at_work(menu_of_turns, terminal)
    if not offered:
        terminal.screen.warn("There is no turn to go back to yet.")
        return None
    terminal.screen.tell("The turns that led here, newest first:")
    short = await at_work(short_ids, terminal, [node.id for node in offered])
    names = [f"{short[node.id]}  {cut(join_lines(node.prompt), 60)}" for node in offered]
    names[count:] = [translate("{turn} (another try of the first)", turn=name) for name in names[count:]]
    number = await choose(terminal, names, translate("Number of the turn to go on from (Enter stays here): "), 0)
    return offered[number].id if isinstance(number, int) else None


async def _tell_of_files(terminal: TerminalSession) -> None:
    """Say which files are not as the turn that the conversation went back to left them."""
    leaf = terminal.session.conversation.leaf
    node = await at_work(terminal.session.archive.find, leaf) if leaf else None
    terminal.left_behind = None
    if node is None:
        return
    plan = await at_work(journal.restore_plan, terminal.session.project.workspace, node)
    await preview(terminal, plan)
    if plan.steps:
        terminal.left_behind = node, plan
        terminal.screen.line(
            translate_count(
                len(plan.steps),
                "{count} file is not as that turn left it: {files}. /restore puts it back.",
                "{count} files are not as that turn left them: {files}. /restore puts them back.",
                files=named(tuple(step.path for step in plan.steps)),
            )
        )


COMMANDS = (
    SessionCommand("retry", "ask the last prompt again, as a branch beside it", retry, alone=True),
    SessionCommand("edit", "change the last prompt and ask it, as a branch beside it", edit),
    SessionCommand("fork", "go on from an earlier turn; /fork NODE names it", fork, ("branch",)),
)
