"""Actions on the files that turns left: show them, compare them, restore them; and on who wrote lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from nebula.agent.figures.surviving import count_lines_by_path, count_lines_of
from nebula.agent.judging import judge_of
from nebula.agent.recording.node_files import FileDifference, between, changed_by, plan_return
from nebula.agent.recording.node_files import give_files_back as give_back
from nebula.agent.recording.node_files import take_files as bring_back
from nebula.blame.project import ProjectBlame
from nebula.blame.runs import cut_runs
from nebula.blame.text import count_lines, split
from nebula.language import explain_to
from nebula.server.conversation.actions.declared import Texts
from nebula.server.conversation.context import Client, ServerContext, in_thread
from nebula.server.conversation.protocol import ActionError, ActionResult

MOST_FOUND: Final = 10
MOST_LINES: Final = 5_000
"""Lines of one file; `nebula blame` shows more."""


async def node_files(server: ServerContext, client: Client, *, node_id: str) -> ActionResult:
    """Return as `changed` what the turn did, as `back` what restoring its files would do now, and as `plan` a name for
    that. Of the lines that it had `written`, `alive` are still there."""
    node = await in_thread(server.graph.get_node, node_id)
    workspace = server.files()
    changed = await in_thread(changed_by, workspace, node.id)
    plan = await in_thread(plan_return, workspace, node)
    shown = {"changed": _shown(changed, client), "back": _shown(plan.files, client)}
    written, alive = await in_thread(count_lines_of, server.settings.root, node)
    return ActionResult({"node_id": node.id, "plan": plan.name, "written": written, "alive": alive} | shown)


async def find_files(server: ServerContext, _: Client, *, text: str) -> ActionResult:
    """Return the `paths` of the project that match part of a name best; none where there are no files."""
    names = server.runner.file_names
    found = await in_thread(names.matching, text.strip(), MOST_FOUND) if names is not None and text.strip() else []
    return ActionResult({"paths": found})


async def take_files(
    server: ServerContext, client: Client, *, node_id: str, plan: str, named: Texts | None = None
) -> ActionResult:
    """Restore the files if `plan` is still what would happen; `taken` is for `give_files_back`. Secret and control
    files that are not `named` are left out."""
    node = await in_thread(server.graph.get_node, node_id)
    done, left = await in_thread(bring_back, server.files(), node, plan, judge_of(server.settings), named or ())
    paths = [step.path for step in done.steps]
    told = {"left_out": [explain_to(client.lang, each) for each in left]}
    return ActionResult({"node_id": node.id, "paths": paths, "taken": done.group} | told)


async def give_files_back(server: ServerContext, _: Client, *, taken: str) -> ActionResult:
    """Undo a `take_files`: the files are as they were before it."""
    paths = await in_thread(give_back, server.files(), taken, judge_of(server.settings))
    return ActionResult({"paths": list(paths)})


async def compare_files(server: ServerContext, client: Client, *, node_ids: Texts) -> ActionResult:
    """Compare the files as the first of two turns left them with those of the second."""
    if len(node_ids) != 2:
        raise ActionError("'node_ids' must name two nodes")
    one, other = [await in_thread(server.graph.get_node, each) for each in node_ids]
    found = await in_thread(between, server.files(), one, other)
    return ActionResult({"files": _shown(found, client)})


def _shown(files: Iterable[FileDifference], client: Client) -> list[dict[str, Any]]:
    """Return files as JSON; `conflict` says why one cannot be restored, `protected` why only by name."""
    return [
        {"path": each.path, "added": each.diff.added, "removed": each.diff.removed, "diff": each.diff.text}
        | ({"conflict": explain_to(client.lang, each.conflict)} if each.conflict else {})
        | ({"protected": explain_to(client.lang, each.protected)} if each.protected else {})
        for each in files
    ]


async def file_lines(server: ServerContext, _: Client, *, path: str) -> ActionResult:
    """Return the `lines` of a file of the project, and the `runs` of them in the form of `nebula blame --json`."""
    server.files()
    return ActionResult(await in_thread(_tell_lines, server.settings.root, path))


async def node_lines(server: ServerContext, _: Client, *, node_id: str) -> ActionResult:
    """Return, for each of the `files` in which a turn wrote lines, how many it had `written` and how many are still
    `alive`."""
    server.files()
    node = await in_thread(server.graph.get_node, node_id)
    found = await in_thread(count_lines_by_path, server.settings.root, node)
    files = [{"path": path, "written": written, "alive": alive} for path, (written, alive) in sorted(found.items())]
    return ActionResult({"node_id": node.id, "files": files})


def _tell_lines(root: str, path: str) -> dict[str, Any]:
    with ProjectBlame(root) as blame:
        real, content = blame.read(path)
        runs = blame.runs(real, content)
    lines = [line.decode(errors="replace") for line in split(content)[:MOST_LINES]]
    shown = [run.to_json() for run in cut_runs(runs, 1, len(lines))]
    return {"path": real, "lines": lines, "runs": shown, "total": count_lines(content)}
