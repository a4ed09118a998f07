"""readFile: read a whole file, or a range of its lines."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from functools import partial
from typing import Any

from nebula.events import Approval, new_trace_id
from nebula.language import Sentence, sentence_of
from nebula.messages import DeclaredSpec
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, number_argument, schema, text_argument
from nebula.tools.declaration import ToolDeclaration, ToolKit
from nebula.tools.ledger import BOM, ReadLedger
from nebula.tools.result_limits import cut_middle, fitting_lines, quoted_size, whole_lines
from nebula.value import replace
from nebula.workspace.contract import FileLines, Workspace
from nebula.workspace.diff import split_lines
from nebula.workspace.errors import SecretPath, TooLarge
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.reading import ReadingWorkspace

SPEC = DeclaredSpec(
    "readFile",
    "Read a text file of the project. Gives its complete content; give start_line and end_line (counted from 1, both "
    "included) for a part of a long file. Read a file before you edit it.",
    schema(
        ["path"],
        path={"type": "string", "description": "Path of the file, relative to the project."},
        start_line={"type": "integer", "minimum": 1, "description": "First line wanted. Optional."},
        end_line={"type": "integer", "minimum": 1, "description": "Last line wanted. Optional."},
    ),
    reads_only=True,
)

_FRAME_BYTES = 600
"""Bytes of a result beside the content."""
_WORST_ESCAPE = 6
"""JSON may need six bytes for one."""
WARNING = "{path} may hold secrets. The model, and whoever runs it, would see what is in it."
REFUSED = "The user did not allow this file to be read. Do not try it again; go on without it."


async def read_file(kit: ToolKit, args: Mapping[str, Any], call: Call) -> Outcome:
    """Read a file. A secret file, also one behind a link, is read only after the user was asked about it by name, each
    time."""
    files, approvals = kit.workspace, kit.approvals
    asked: list[str] = []
    while True:
        try:
            return await _read(files, kit.ledger, args, call)
        except SecretPath as refused:
            path = str(refused.values["path"])
            if path in asked or approvals is None or not approvals.somebody_is_there:
                raise
            if not isinstance(files, ReadingWorkspace):
                raise
        question = Approval(new_trace_id(), "read", call.use.name, text=path, remarks=(Sentence(WARNING, path=path),))
        decision = await approvals.ask(question, call, None)
        if not decision.allowed:
            raise decision.refusal(REFUSED)
        asked.append(path)
        files = files.allowing(path)


async def _read(files: Workspace, ledger: ReadLedger, args: Mapping[str, Any], call: Call) -> Outcome:
    path = text_argument(args, "path")
    first, last = number_argument(args, "start_line"), number_argument(args, "end_line")
    room = call.room - _FRAME_BYTES
    if first is None and last is None:
        return await _read_whole(files, ledger, path, room)
    if last is not None and last < (first or 1):
        raise ToolFailure(f"There are no lines {first or 1} to {last}.")
    lines = await asyncio.to_thread(files.read_lines, path, first or 1, last)
    return _show_lines(ledger, path, lines, last, room)


async def _read_whole(files: Workspace, ledger: ReadLedger, path: str, room: int) -> Outcome:
    try:
        file = await asyncio.to_thread(files.read_file, path)
    except TooLarge as error:
        said = f"{error} Read a part of it with start_line and end_line."
        raise ToolFailure(said, code=error.status, policy=True, problem=sentence_of(error)) from None
    shown = file.content.removeprefix(BOM)
    if quoted_size(shown) <= room:
        ledger.saw(path, file.content)
        return Outcome.ok(_with_own_path(path, file.path, content=shown), secret=file.secret, size=file.size)
    return _show_lines(ledger, path, FileLines.of(file, 1, None), None, room)


def _show_lines(ledger: ReadLedger, path: str, lines: FileLines, last: int | None, room: int) -> Outcome:
    if lines.first > max(lines.total_lines, 1):
        wanted = f"{lines.first} to {last or 'the end'}"
        raise ToolFailure(f"There are no lines {wanted}: {path} has {lines.total_lines} lines.")
    if lines.first == 1:
        lines = replace(lines, content=lines.content.removeprefix(BOM))
    part = _cut_to_room(lines, min(last or lines.total_lines, lines.total_lines), room)
    ledger.saw_part(path, lines.sha256, lines.total_lines, part["shown"])
    if "cut" not in part:
        del part["shown"]
    said = _with_own_path(path, lines.path, **part, sha256=lines.sha256)
    return Outcome.ok(said, secret=lines.secret, size=lines.size)


def _with_own_path(asked: str, found: str, **said: Any) -> dict[str, Any]:
    """Return the result, with the file's own path where the call spelled it differently."""
    return said if normal_path(asked).text == found else {"path": found, **said}


def _learn(ledger: ReadLedger, args: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    path, content = args.get("path"), result.get("content")
    if not isinstance(path, str) or not isinstance(content, str):
        return
    if result.keys() <= {"content", "path"}:
        ledger.saw(path, content)
    elif "sha256" in result:
        whole = [] if "cut" in result else [[result["start_line"], result["end_line"]]]
        ledger.saw_part(path, result["sha256"], result["total_lines"], result.get("shown", whole))


def _cut_to_room(lines: FileLines, end: int, room: int) -> dict[str, Any]:
    """Return the requested lines, or as many from their head and tail as fit."""
    start = lines.first
    part: dict[str, Any] = {
        "content": lines.content,
        "start_line": start,
        "end_line": end,
        "total_lines": lines.total_lines,
    }
    if quoted_size(lines.content) <= room and lines.last >= end:
        return part | {"shown": [[start, end]]}
    wanted = split_lines(lines.content)
    head, tail = whole_lines(wanted, room) if lines.last >= end else (fitting_lines(wanted, room), 0)
    if not head and not tail:
        shown, left_out = cut_middle(lines.content, room // _WORST_ESCAPE)
        cut = f"{left_out} bytes are left out: a line of this file is longer than what can be shown."
        return part | {"content": shown, "cut": cut, "shown": []}
    gap = (start + head, end - tail)
    kept = [*wanted[:head], f"[… lines {gap[0]} to {gap[1]} left out …]\n", *wanted[len(wanted) - tail :]]
    cut = f"Lines {gap[0]} to {gap[1]} are left out; read them in ranges with start_line and end_line."
    ranges = [[start, gap[0] - 1], [gap[1] + 1, end]]
    return part | {"content": "".join(kept), "cut": cut, "shown": [each for each in ranges if each[0] <= each[1]]}


TOOL = ToolDeclaration(
    "readFile",
    lambda kit: FunctionTool(SPEC, partial(read_file, kit)),
    over_mcp=True,
    learn=_learn,
    kind="read",
)
