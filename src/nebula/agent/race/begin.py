"""Begin a race: check what somebody asks for and make an order of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import Any

from nebula.agent.assembly import graph_opener, project_recorders, take_back_half_applied
from nebula.agent.places.process import HostProcess
from nebula.agent.race.race import FEWEST, MOST, Hear, Race
from nebula.agent.race.wire import RaceOrder
from nebula.agent.recording.redactors import redactor_of
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.config import Settings
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.events import new_trace_id
from nebula.graph.errors import GraphError
from nebula.language import Sentence, sentence_of
from nebula.llm.catalog import known_model
from nebula.llm.choose import choose_model
from nebula.llm.errors import ModelError
from nebula.llm.known_models import UNKNOWN
from nebula.tools.permissions import Permission
from nebula.value import value
from nebula.workspace import open_workspace
from nebula.workspace.state_folder import prepare_state_folder


class BadRace(NebulaError):
    """Raised when a race cannot begin: no model was asked and nothing was changed."""

    kind = "start"
    exit_code = EXIT_USAGE


def name_entrants(tries: int | None, models: Sequence[str] | None) -> tuple[str, ...]:
    """Return a model name for each try; an empty name is the configured model. Raises BadRace."""
    if (tries is None) == (models is None):
        raise BadRace("Say either how many tries (--tries N) or which models (--models A,B).")
    names = ("",) * tries if tries is not None else tuple(name.strip() for name in models or ())
    if not FEWEST <= len(names) <= MOST:
        raise BadRace("A race has {fewest} to {most} tries, not {count}.", fewest=FEWEST, most=MOST, count=len(names))
    if models is not None and not all(names):
        raise BadRace("A model's name is missing in --models.")
    return names


async def check_model(settings: Settings, name: str) -> None:
    """Raise BadRace where no provider has a model of this name, or where no model is set up."""
    try:
        chosen = await choose_model(settings, name)
    except ModelError as problem:
        said = sentence_of(problem)
        raise BadRace(said.sentence, **said.values) from problem
    async with aclosing(chosen.connector):
        listed = []
        if name and known_model(chosen.name) is UNKNOWN:
            with suppress(ModelError):  # a server that lists no models may have it nevertheless
                listed = [each.name for each in await chosen.connector.list_models()]
        if listed and not {chosen.name, f"{chosen.name}:latest"} & set(listed):
            raise BadRace("{provider} does not list the model '{model}'.", provider=chosen.provider, model=chosen.name)


@value
class RaceWish:
    """The race that somebody asks for."""

    prompt: str
    tries: int | None = None
    models: tuple[str, ...] | None = None
    parents: tuple[str, ...] = ()
    overrides: Mapping[str, Any] = {}
    allow: tuple[str, ...] = ()
    judge: str = ""
    """The model that is asked for its opinion at the end; empty: none."""
    granted: tuple[Permission, ...] = ()
    """What goes without asking where this is asked for."""


def command_line(settings: Settings) -> dict[str, Any]:
    """Return the settings from the command line of this process, for the processes of a race."""
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
    """Return a race that is ready to run, in copies made by `host`, if one was started ahead. Raises BadRace before any
    model is asked."""
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
        granted=wish.granted,
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
