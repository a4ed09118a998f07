"""Beginning a race: from what somebody wants to an order that nothing speaks against."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nebula.agent.assembly import graph_opener, project_recorders, take_back_half_applied
from nebula.agent.places.process import HostProcess
from nebula.agent.race.entrants import BadRace, check_model, name_entrants
from nebula.agent.race.race import Hear, Race
from nebula.agent.race.wire import RaceOrder
from nebula.agent.recording.redactors import redactor_of
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.config import Settings
from nebula.events import new_trace_id
from nebula.graph.errors import GraphError
from nebula.language import Sentence
from nebula.value import value
from nebula.workspace import open_workspace
from nebula.workspace.state_folder import prepare_state_folder


@value
class RaceWish:
    """What somebody asks for."""

    prompt: str
    tries: int | None = None
    models: tuple[str, ...] | None = None
    parents: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = {}
    allow: tuple[str, ...] = ()
    judge: str = ""
    """The model that is asked for its opinion at the end."""


def command_line(settings: Settings) -> dict[str, Any]:
    """Return what the command line of this process set, for the processes of a race."""
    return {name: getattr(settings, name) for name, origin in settings.origins.items() if origin == "command line"}


async def prepare_race(
    settings: Settings,
    wish: RaceWish,
    hear: Hear,
    remark: Callable[[Sentence], None],
    archive: TurnArchive | None = None,
    session_id: str = "",
    host: HostProcess | None = None,
) -> Race:
    """Return a race that is ready to run, in the places that `host` makes, if that was started ahead. Raises BadRace,
    before any model is asked."""
    names = name_entrants(wish.tries, wish.models)
    if not wish.prompt.strip():
        raise BadRace("The task is empty.")
    if settings.mcp_url:
        raise BadRace("The files are behind a gateway (EC_MCP_URL); a race needs them on this machine.")
    state = prepare_state_folder(settings.root)
    if archive is None:
        opener = graph_opener(settings) if state.has_graph else None
        archive = TurnArchive(opener, read_only=not state.keeps_records)
    parents = await asyncio.to_thread(_known_parents, archive, wish.parents)
    asked = (*names, wish.judge) if wish.judge else names
    await asyncio.gather(*(check_model(settings, name) for name in dict.fromkeys(asked)))
    order = RaceOrder(
        settings.root,
        wish.prompt,
        names,
        tuple(new_trace_id() for _ in names),
        tuple((name, each) for name, each in wish.overrides.items() if each is not None),
        tuple(parents),
        session_id or new_trace_id(),
        wish.allow,
    )
    workspace = open_workspace(settings.root)
    for sentence in await asyncio.to_thread(take_back_half_applied, workspace) if state.keeps_records else ():
        remark(sentence)
    recorders, redactor = project_recorders(settings, state), redactor_of(settings, wish.allow)
    return Race(order, archive, workspace, recorders, hear, remark, redactor, host=host)


def _known_parents(archive: TurnArchive, named: Sequence[str]) -> Sequence[str]:
    try:
        return archive.known(named) if named else ()
    except GraphError as problem:
        raise BadRace.of(problem) from problem
