"""readFile: the whole of a file, or a range of its lines."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Mapping
from typing import Any

from nebula.messages import ToolSpec
from nebula.tools.contract import Call, Outcome, ToolFailure, number_argument, schema, text_argument
from nebula.tools.ledger import ReadLedger
from nebula.tools.trim import MAX_RESULT_BYTES, cut_middle
from nebula.workspace.contract import Workspace

SPEC = ToolSpec(
    "readFile",
    "Read a text file of the project. Gives its complete content; give start_line and end_line (counted from 1, both "
    "included) for a part of a long file. Read a file before you edit it.",
    schema(
        ["path"],
        path={"type": "string", "description": "Path of the file, relative to the project."},
        start_line={"type": "integer", "minimum": 1, "description": "First line wanted. Optional."},
        end_line={"type": "integer", "minimum": 1, "description": "Last line wanted. Optional."},
    ),
)


class ReadFile:
    spec = SPEC

    def __init__(self, workspace: Workspace, ledger: ReadLedger) -> None:
        self._workspace = workspace
        self._ledger = ledger

    async def run(self, args: Mapping[str, Any], call: Call) -> Outcome:
        path = text_argument(args, "path")
        first, last = number_argument(args, "start_line"), number_argument(args, "end_line")
        file = await asyncio.to_thread(self._workspace.read_file, path)
        if first is None and last is None and file.size <= MAX_RESULT_BYTES:
            self._ledger.saw(path, file.sha256)
            return Outcome.ok({"content": file.content})
        return Outcome.ok(self._part(path, file.content, file.sha256, first, last))

    def _part(self, path: str, content: str, sha256: str, first: int | None, last: int | None) -> dict[str, Any]:
        lines = list(io.StringIO(content))
        start = first or 1
        end = min(last or len(lines), len(lines))
        if start > max(len(lines), 1) or (last is not None and last < start):
            raise ToolFailure(f"There are no lines {start} to {last or 'the end'}: {path} has {len(lines)} lines.")
        text = "".join(lines[start - 1 : end])
        shown, cut = cut_middle(text, MAX_RESULT_BYTES)
        if cut:
            self._ledger.saw_part_of(path, sha256, len(lines))
        else:
            self._ledger.saw_lines(path, sha256, start, end, len(lines))
        part = {
            "content": shown,
            "start_line": start,
            "end_line": end,
            "total_lines": len(lines),
            "sha256": sha256,
        }
        if cut:
            part["cut"] = f"{cut} bytes in the middle are left out; read in ranges with start_line and end_line."
        return part
