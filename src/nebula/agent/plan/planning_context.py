"""What a planner gets to know of the project: its files, its own instructions, and the code that the task is about.

All of it is sorted and undated, so that the same project gives the same text. Each chunk of code is evidence: its
position and the hash of its file go into the trace with the plan.
"""

from __future__ import annotations

from typing import Any

from nebula.agent.context.system_prompt import instructions_part
from nebula.agent.instructions.standing import gather_instructions
from nebula.errors import NebulaError
from nebula.events import Evidence
from nebula.messages import strip_hidden_characters, truncate_safe
from nebula.tools.code.code_index import CodeSearch
from nebula.tools.code.search_code import evidence_of, is_shown
from nebula.value import value
from nebula.workspace.contract import Workspace

MOST_FILES = 300
MOST_CHUNKS = 8
MOST_CODE_BYTES = 24_000


@value
class PlanningContext:
    text: str = ""
    evidence: tuple[Evidence, ...] = ()
    problem: NebulaError | None = None
    """Why the index could not be used; the plan is made without it."""


def planning_context(
    task: str, workspace: Workspace, root: str, code: CodeSearch | None, trace_id: str
) -> PlanningContext:
    """Return the facts about the project for a planner. Raises WorkspaceError where the files cannot be read: then
    there is nothing to plan for."""
    files, more = _files(workspace)
    parts = ["# The project's files", "", *files]
    if not files:
        parts.append("(none yet)")
    if more:
        parts.append("… and more")
    for each in gather_instructions(root).told:
        parts += ["", instructions_part(each)]
    chunks, problem = ([], None) if code is None or not files else _chunks(task, workspace, code, trace_id)
    if chunks:
        parts += ["", "# Code that the task may be about"]
        for chunk in chunks:
            parts += ["", f"## {chunk['path']}:{chunk['span']}", "", str(chunk["text"])]
    text = strip_hidden_characters("\n".join(parts))
    return PlanningContext(text, tuple(evidence_of(chunk) for chunk in chunks), problem)


def _files(workspace: Workspace) -> tuple[list[str], bool]:
    listing = workspace.list_files(".", recursive=True, max_items=MOST_FILES)
    hidden = (".git/", ".nebula/")
    names = [entry.path for entry in listing.files if not entry.is_dir and not entry.path.startswith(hidden)]
    return sorted(names), listing.truncated


def _chunks(
    task: str, workspace: Workspace, code: CodeSearch, trace_id: str
) -> tuple[list[dict[str, Any]], NebulaError | None]:
    """Return the best chunks that fit, in the order of their paths, and the error of the index if it failed."""
    try:
        found = code.search(task, MOST_CHUNKS, "", trace_id)
    except NebulaError as problem:
        return [], problem
    room = MOST_CODE_BYTES
    kept = []
    for chunk in found:
        if not is_shown(chunk, workspace):
            continue
        text = truncate_safe(str(chunk.get("text") or ""), room)
        room -= len(text.encode())
        if text:
            kept.append(chunk | {"text": text})
    return sorted(kept, key=lambda chunk: (str(chunk["path"]), _first_line(str(chunk.get("span"))))), None


def _first_line(span: str) -> int:
    digits = span.removeprefix("L").partition("-")[0]
    return int(digits) if digits.isdecimal() else 0
