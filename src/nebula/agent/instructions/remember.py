"""Add a line to the project's AGENTS.md. It is a change like any other: guarded, in the journal, undone by /undo."""

from __future__ import annotations

from nebula.agent.instructions.standing import NAMES
from nebula.agent.judging import Judge
from nebula.agent.undo import NoJournalHere
from nebula.events import new_trace_id
from nebula.value import value
from nebula.workspace.contract import Workspace, WriteMode
from nebula.workspace.diff import diff_texts
from nebula.workspace.local import LocalWorkspace
from nebula.workspace.proposing import propose_text

PATH = NAMES[0]


@value
class Remembered:
    """AGENTS.md with one more line, before it is written."""

    old: str | None
    new: str
    expected: str
    """The state of the file on which it is based."""

    @property
    def diff(self) -> str:
        return diff_texts(PATH, self.old, self.new).text


def plan_line(workspace: Workspace, text: str) -> Remembered:
    """Return AGENTS.md with the line `text` added, without writing it. Raises WorkspaceError, NoJournalHere."""
    if not isinstance(workspace, LocalWorkspace):
        raise NoJournalHere("The files are behind a gateway (EC_MCP_URL); {path} is written by hand there.", path=PATH)
    allowed = workspace.allowing(PATH)
    there = allowed.probe(PATH).kind != "missing"
    state = allowed.check_write(PATH, "overwrite" if there else "create")
    old = state.content if there else None
    return Remembered(old, _with_line(old or "", f"- {text}"), state.expected)


def write_line(workspace: Workspace, planned: Remembered, judge: Judge | None = None) -> str:
    """Write what was planned and return its name in the journal. Raises Stale where the file changed in between, and
    whatever `judge`, which runs the user's hooks, raises."""
    if judge is not None:
        judge("remember", [propose_text(PATH, planned.old, planned.new)])
    assert isinstance(workspace, LocalWorkspace)  # noqa: S101 - nothing is planned for another
    group = new_trace_id()
    mode: WriteMode = "create" if planned.old is None else "overwrite"
    workspace.allowing(PATH).for_turn(group).write_file(PATH, planned.new, mode, expected=planned.expected)
    return group


def _with_line(old: str, line: str) -> str:
    """Return the text with one more line: appended to the list that it ends with, else as a new list."""
    if not old.strip():
        return f"{line}\n"
    ending = "\r\n" if "\r\n" in old else "\n"
    kept = old.rstrip()
    between = ending if kept.rsplit("\n", 1)[-1].lstrip().startswith(("- ", "* ")) else ending * 2
    return f"{kept}{between}{line}{ending}"
