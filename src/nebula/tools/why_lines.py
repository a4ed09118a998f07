"""whyLines: show the prompts and answers of the turns that wrote some lines."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.messages import DeclaredSpec
from nebula.tools.contract import (
    Call,
    FunctionTool,
    Outcome,
    ToolFailure,
    in_thread,
    number_argument,
    schema,
    text_argument,
)
from nebula.tools.declaration import ToolDeclaration, ToolKit
from nebula.tools.result_limits import cut_middle
from nebula.workspace.reading import ReadingWorkspace

if TYPE_CHECKING:
    from nebula.blame.why import ExplainedRun

MOST_OF_TURN = 4_000
"""Bytes of a prompt, and of an answer, that are shown if they fit."""
MOST_RUNS = 40

SPEC = DeclaredSpec(
    "whyLines",
    "Find out why lines of a file are as they are: for each run of lines who wrote it, and of an earlier turn the "
    "prompt and the answer, the newest first. Use it before you change what an earlier turn wrote.",
    schema(
        ["path", "start_line", "end_line"],
        path={"type": "string", "description": "The file, relative to the project."},
        start_line={"type": "integer", "description": "The first line, from 1."},
        end_line={"type": "integer", "description": "The last line."},
    ),
    reads_only=True,
)


async def why_lines(root: str, trace_id: str, args: Mapping[str, Any], call: Call) -> Outcome:
    from nebula.blame.project import BadTarget, BlameRefused
    from nebula.blame.why import explain_lines

    path = text_argument(args, "path")
    first, last = number_argument(args, "start_line") or 1, number_argument(args, "end_line")
    try:
        found = await in_thread(explain_lines, root, path, first, last, current=trace_id)
    except BadTarget as problem:
        raise ToolFailure(str(problem)) from None
    except BlameRefused as problem:
        raise ToolFailure(str(problem), code=404) from None
    shown = found[:MOST_RUNS]
    room = min(MOST_OF_TURN, call.room // (3 * max(1, len(shown))))
    result: dict[str, Any] = {"lines": [_describe(each, room) for each in shown]}
    if len(found) > len(shown):
        result["remark"] = f"{len(found) - len(shown)} more runs of lines did not fit; ask for fewer lines."
    return Outcome.ok(result)


def _describe(explained: ExplainedRun, room: int) -> dict[str, Any]:
    run, node = explained.run, explained.node
    told: dict[str, Any] = {"start_line": run.start_line, "end_line": run.end_line, "by": run.by}
    if run.node_id:
        told["node_id"] = run.node_id
    if node is not None:
        told["prompt"], told["answer"] = cut_middle(node.prompt, room)[0], cut_middle(node.response, room)[0]
    return told


def _build(kit: ToolKit) -> FunctionTool | None:
    """Return the tool if the files, and with them the journal, are on this machine."""
    files = kit.workspace
    if not isinstance(files, ReadingWorkspace):
        return None
    return FunctionTool(SPEC, partial(why_lines, files.root, kit.trace_id))


TOOL = ToolDeclaration("whyLines", _build, kind="read")
