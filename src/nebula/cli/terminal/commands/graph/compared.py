"""/compare NODE [NODE]: two turns beside each other, what was asked, what was answered and what the files became."""

from __future__ import annotations

from nebula.agent.recording.node_files import between
from nebula.cli.terminal.commands.graph.nodes import named_node, short_ids
from nebula.cli.terminal.output.diff_view import show_diff
from nebula.cli.terminal.output.width import cut
from nebula.cli.terminal.terminal_session import TerminalSession, at_work
from nebula.graph.values import Node
from nebula.language import translate
from nebula.stage import join_lines, one_line
from nebula.workspace.diff import diff_texts

PROMPT_WIDTH = 40


async def compare_turns(terminal: TerminalSession, names: list[str]) -> None:
    """Compare the turn called by the first name with that of the second, or with the last one. Raises NebulaError."""
    ids = [_named(terminal, name) for name in names]
    leaf = terminal.session.conversation.leaf
    if len(ids) == 1 and leaf:
        ids.append(leaf)
    found = [terminal.session.archive.find(each) for each in ids]
    if len(found) != 2 or found[0] is None or found[1] is None or ids[0] == ids[1]:
        terminal.screen.warn("Two turns are compared: /compare NODE NODE, or one with the last.")
        return
    one, other = found[0], found[1]
    short = short_ids(terminal, ids)
    for mark, node in (("−", one), ("+", other)):
        prompt = cut(join_lines(node.prompt), PROMPT_WIDTH)
        terminal.screen.parts([f"{mark} {short[node.id]}", prompt, *_facts(node)], "bold")
    _show_texts(terminal, translate("Prompt"), one.prompt, other.prompt)
    _show_texts(terminal, translate("Answer"), one.response, other.response)
    files = await at_work(between, terminal.session.project.workspace, one, other)
    if not files:
        terminal.screen.tell("Both left the files alike.")
    for each in files:
        terminal.screen.line(f"{one_line(each.path)} (+{each.diff.added} −{each.diff.removed})", "bold")
        if each.diff.text:
            show_diff(terminal.screen, each.diff.text)


def _named(terminal: TerminalSession, name: str) -> str:
    """Return the id of a turn; a number is a try where there was a race, as in /take."""
    found = terminal.tries.get(int(name)) if name.isdecimal() else None
    return found.node_id if found is not None and found.node_id else named_node(terminal, name.removeprefix("@"))


def _facts(node: Node) -> list[str]:
    usage = node.usage
    tokens = translate("{count} tokens", count=f"{usage.input + usage.output:,}") if usage else ""
    return [each for each in (one_line(node.model), tokens) if each]


def _show_texts(terminal: TerminalSession, title: str, one: str, other: str) -> None:
    if one == other:
        terminal.screen.hint("{what}: the same", what=title)
        return
    terminal.screen.line(title, "bold")
    lines = diff_texts("", f"{one}\n", f"{other}\n").text.splitlines(keepends=True)
    show_diff(terminal.screen, "".join(lines[2:]))
