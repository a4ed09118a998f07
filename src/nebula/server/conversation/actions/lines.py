"""The action behind the page's view of a file: each line with who wrote it."""

from __future__ import annotations

from typing import Any, Final

from nebula.agent.undo import NoJournalHere
from nebula.blame import text
from nebula.blame.project import ProjectBlame
from nebula.blame.runs import cut_runs
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionResult

MOST_LINES: Final = 5_000
"""Of a file; whoever wants more asks `nebula blame`."""


async def file_lines(server: ServerContext, _: Client, *, path: str) -> ActionResult:
    """`lines` of a file of the project, and `runs` of them, as `nebula blame --json` tells them."""
    if server.runner.files() is None:
        raise NoJournalHere("This server has no files: `nebula serve` has those of the project.")
    return ActionResult(await in_thread(_tell_lines, server.settings.root, path))


def _tell_lines(root: str, path: str) -> dict[str, Any]:
    with ProjectBlame(root) as blame:
        real, content = blame.read(path)
        runs = blame.runs(real, content)
    lines = [line.decode(errors="replace") for line in text.split(content)[:MOST_LINES]]
    shown = [run.to_json() for run in cut_runs(runs, 1, len(lines))]
    return {"path": real, "lines": lines, "runs": shown, "total": text.count_lines(content)}
