"""One try: a turn in its own copy. It reports its events to the race, and at its end what it changed."""

from __future__ import annotations

import asyncio
import os
import socket
from typing import TYPE_CHECKING

from nebula.agent.assembly import open_workbench
from nebula.agent.context.project_context import GitState
from nebula.agent.past.summaries import Summaries
from nebula.agent.places.wire import interrupted_by, send
from nebula.agent.race.wire import RaceOrder, TryChanges, TryContent
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.agent.session import Session
from nebula.config import Settings
from nebula.events import Final, Reader, Stamped
from nebula.files.digest import digest
from nebula.graph.graph import Graph
from nebula.graph.values import FileState
from nebula.llm.choose import choose_model
from nebula.sandbox.contract import Entry, LayerChange
from nebula.sandbox.layer import Layer
from nebula.tools.approval import Approvals, allow_all
from nebula.tools.commands.ignored import split_ignored
from nebula.tools.permissions import YES_TO_ALL
from nebula.value import replace
from nebula.workspace.guard.paths import folders_above
from nebula.workspace.journal.objects import KEPT_BYTES
from nebula.workspace.journal.states import EntryState
from nebula.workspace.state_folder import prepare_state_folder

if TYPE_CHECKING:
    from nebula.sandbox.tries.places import TryPlace


def run_attempt(
    order: RaceOrder, number: int, settings: Settings, git: GitState, place: TryPlace, line: socket.socket
) -> None:
    """Run the turn of one try; whatever comes on `line`, also its end, interrupts it. `git` was asked once, for all
    tries."""
    asyncio.run(_run(order, number, replace(settings, root=place.root), git, place, line))


async def _run(
    order: RaceOrder, number: int, settings: Settings, git: GitState, place: TryPlace, line: socket.socket
) -> None:
    rounds = settings.repair_rounds if settings.repair else 0
    settings = replace(settings, repair=True, repair_rounds=rounds)
    last: list[Stamped] = []

    def tell(stamped: Stamped) -> None:
        if isinstance(stamped.event, Final):
            last.append(stamped)
        else:
            send(line, stamped)

    with interrupted_by(line):
        session = await open_try(settings, order, place, tell)
        session.bench.git = git
        await session.turn(order.prompt, parents=order.parents, trace_id=order.trace_ids[number - 1])
    await session.close()
    for said in read_kept_changes(place):
        send(line, said)
    send(line, last[0])


async def open_try(settings: Settings, order: RaceOrder, place: TryPlace, tell: Reader) -> Session:
    """Open the session of a try: it reads the conversation, adds nothing to it, and remembers nothing."""

    def open_graph() -> Graph:
        return Graph(place.graph)

    archive = TurnArchive(open_graph if place.has_graph else None, read_only=True)
    chosen = await choose_model(settings)
    approvals = Approvals(allow_all, "yes")
    bench = open_workbench(settings, approvals, order.allow, prepare_state_folder(settings.root), order.mode)
    if bench.project.external is not None:
        bench.project.external.asks = YES_TO_ALL in order.granted
    for each in order.granted:
        if each.kind == "call":
            approvals.permissions.give(each)
    bench.project.code = None  # the index belongs to the project, and a try's changes do not belong to it yet
    bench.find_node = archive.find_by_beginning
    summaries = Summaries(archive)
    session = Session(order.session_id, settings, chosen, bench, archive, (tell,), summaries, mode=order.mode)
    if order.parents and not order.fresh:
        await asyncio.to_thread(session.continue_from, order.parents)
    return session


def read_kept_changes(place: TryPlace) -> list[TryChanges | TryContent]:
    """Return what the try changed, with contents, but nothing that git ignores and nothing of git's own files."""
    split = split_ignored(place.root, place.changes().changes, place.layer)
    contents: dict[str, TryContent] = {}
    merged: dict[str, list[LayerChange]] = {}
    for change in split.proposed:
        entry = change.after or change.before
        if not change.secret and (entry is None or entry.size <= KEPT_BYTES) and _is_text(change.path):
            merged.setdefault(change.path, []).append(change)
    above = {folder for path in merged for folder in folders_above(path)}
    kept = []
    for path, changes in merged.items():
        before = _keep(place.layer, path, changes[0].before, contents, old=True)
        after = _keep(place.layer, path, changes[-1].after, contents, old=False)
        is_implied = not before and path in above and changes[-1].is_folder
        if before != after and not is_implied:
            kept.append(FileState(path, before, after))
    return [*contents.values(), TryChanges(tuple(kept))]


def _is_text(path: str) -> bool:
    """Return whether a node can hold the path: it is text, so a path with other bytes has no name there."""
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _keep(layer: Layer, path: str, entry: Entry | None, contents: dict[str, TryContent], *, old: bool) -> str:
    if entry is None:
        return ""
    if entry.kind == "folder":
        return EntryState("folder", mode=entry.mode).name
    if entry.kind == "link":
        content = os.fsencode(entry.target or "")
    else:
        content = layer.read_before(path) if old else layer.read(path)
    name = digest(content)
    contents[name] = TryContent(content)
    return EntryState("link", name).name if entry.kind == "link" else EntryState("file", name, entry.mode).name
