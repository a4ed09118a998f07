"""The actions behind the page's view of lines: who wrote each of a file, and how many of a turn's are left."""

from __future__ import annotations

from typing import Any, Final

from nebula.agent.figures.surviving import count_lines_by_path
from nebula.blame import text
from nebula.blame.project import ProjectBlame
from nebula.blame.runs import cut_runs
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionResult

MOST_LINES: Final = 5_000
"""Of a file; whoever wants more asks `nebula blame`."""


async def file_lines(server: ServerContext, _: Client, *, path: str) -> ActionResult:
    """`lines` of a file of the project, and `runs` of them, as `nebula blame --json` tells them."""
    server.files()
    return ActionResult(await in_thread(_tell_lines, server.settings.root, path))


async def node_lines(server: ServerContext, _: Client, *, node_id: str) -> ActionResult:
    """Return, for each of its `files` in which a turn wrote lines, how many it had `written`, and how many of them
    are `alive`."""
    server.files()
    node = await in_thread(server.graph.get_node, node_id)
    found = await in_thread(count_lines_by_path, server.settings.root, node)
    files = [{"path": path, "written": written, "alive": alive} for path, (written, alive) in sorted(found.items())]
    return ActionResult({"node_id": node.id, "files": files})


def _tell_lines(root: str, path: str) -> dict[str, Any]:
    with ProjectBlame(root) as blame:
        real, content = blame.read(path)
        runs = blame.runs(real, content)
    lines = [line.decode(errors="replace") for line in text.split(content)[:MOST_LINES]]
    shown = [run.to_json() for run in cut_runs(runs, 1, len(lines))]
    return {"path": real, "lines": lines, "runs": shown, "total": text.count_lines(content)}
