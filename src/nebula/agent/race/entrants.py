"""Who runs in a race: the models that are named, each known to its provider before anybody is asked anything."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing, suppress

from nebula.agent.race.race import FEWEST, MOST
from nebula.config import Settings
from nebula.errors import EXIT_USAGE, NebulaError
from nebula.language import sentence_of
from nebula.llm.catalog import known_model
from nebula.llm.choose import choose_model
from nebula.llm.errors import ModelError


class BadRace(NebulaError):
    """Raised when a race cannot begin: nothing was asked and nothing was changed."""

    kind = "start"
    exit_code = EXIT_USAGE


def name_entrants(tries: int | None, models: Sequence[str] | None) -> tuple[str, ...]:
    """Return one model name for each try, empty for the configured model. Raises BadRace."""
    if (tries is None) == (models is None):
        raise BadRace("Say either how many tries (--tries N) or which models (--models A,B).")
    names = ("",) * tries if tries is not None else tuple(name.strip() for name in models or ())
    if not FEWEST <= len(names) <= MOST:
        raise BadRace("A race has {fewest} to {most} tries, not {count}.", fewest=FEWEST, most=MOST, count=len(names))
    if models is not None and not all(names):
        raise BadRace("A model's name is missing in --models.")
    return names


async def check_model(settings: Settings, name: str) -> None:
    """Raise BadRace where nobody has the model of this name, or where no model is set up."""
    try:
        chosen = await choose_model(settings, name)
    except ModelError as problem:
        said = sentence_of(problem)
        raise BadRace(said.sentence, **said.values) from problem
    async with aclosing(chosen.connector):
        listed = []
        if name and known_model(chosen.name) is None:
            with suppress(ModelError):  # a server that lists nothing may have it all the same
                listed = [each.name for each in await chosen.connector.list_models()]
        if listed and not {chosen.name, f"{chosen.name}:latest"} & set(listed):
            raise BadRace("{provider} does not list the model '{model}'.", provider=chosen.provider, model=chosen.name)
