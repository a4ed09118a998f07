"""Which model answers: from the settings to a connector and a name, with as few questions as can be.

A well-known name, `provider/model` or `--provider` needs no question at all. With no key set a reachable Ollama is
used; with neither, one sentence says what to type. What a project names counts only within the provider that the user
chose: a clone must not decide where prompts go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress

from nebula.config import Settings
from nebula.config.parsing import printable
from nebula.language import Sentence
from nebula.llm.catalog import (
    configured_providers,
    connect_as_set,
    context_length,
    cost,
    has_own_address,
    how_to_set_up,
    known_provider,
    split_name,
)
from nebula.llm.contract import Model, ModelInfo, Usage
from nebula.llm.errors import AuthError, ModelError, NotFoundError, UnavailableError, UnknownVendorError
from nebula.messages.redaction import SHORTEST_KEY
from nebula.providers import PROVIDERS, Provider
from nebula.value import replace, value


@value
class ChosenModel:
    """The model that answers: a connector, and the name to ask it by."""

    connector: Model
    name: str
    context_tokens: int = 0

    @property
    def provider(self) -> str:
        return self.connector.provider

    @property
    def context(self) -> int:
        """How many tokens the model takes: configured, reported or known, and never more than its server accepted."""
        size = self.context_tokens or context_length(self.name)
        learnt: Mapping[str, int] = getattr(self.connector, "learnt", {})
        return min(size, learnt.get(self.name, size))

    def cost(self, usage: Usage) -> float | None:
        """Return what several short requests cost in US dollars; None where the price is not known."""
        return cost(self.provider, self.name, usage, is_sum=True)

    async def takes_images(self) -> bool:
        """Return whether the model takes images, as far as its server says."""
        with suppress(ModelError):  # the request itself meets the same problem, and reports it
            return (await self.connector.describe(self.name)).images is not False
        return True


@value
class _Wanted:
    """A choice, each part empty where nobody made it."""

    provider: str = ""
    model: str = ""
    whole: str = ""
    """The name as it was said, where it begins with a provider of ours. To a server for many vendors that is a name."""

    @property
    def likely_provider(self) -> str:
        return self.provider or known_provider(self.model)


NOTHING_SAID = _Wanted()
OVER_FOLDERS = ("environment", "command line")
"""Where a model comes from that counts before the one of a data folder."""


class _Asking:
    """The servers that are asked while a model is chosen. Each has one connector and lists its models once."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self._connectors: dict[str, Model] = {}
        self._lists: dict[str, list[ModelInfo] | ModelError] = {}

    async def listed(self, row: Provider) -> list[ModelInfo] | ModelError:
        if row.name not in self._lists:
            connector = self._connectors.setdefault(row.name, connect_as_set(row, self.settings))
            try:
                self._lists[row.name] = await connector.list_models()
            except ModelError as error:
                self._lists[row.name] = error
        return self._lists[row.name]

    async def listed_by_all(self, rows: Sequence[Provider]) -> list[list[ModelInfo] | ModelError]:
        return await asyncio.gather(*map(self.listed, rows))

    def take(self, row: Provider, remark: Sentence | None) -> Model:
        """Return the connector of a provider, which the caller now closes. It does not ask again what it knows
        already."""
        if remark is None and row.name in self._connectors:
            return self._connectors.pop(row.name)
        return connect_as_set(row, self.settings, remark)

    async def __aenter__(self) -> _Asking:
        return self

    async def __aexit__(self, *_: object) -> None:
        for connector in self._connectors.values():
            await connector.aclose()


async def choose_model(
    settings: Settings,
    name: str = "",
    *,
    provider: str = "",
    suggested: str = "",
    role: str = "model",
    own_model_first: bool = True,
) -> ChosenModel:
    """Return the model by this name, or the one the settings choose. Raises ModelError.

    `role` is the setting that chooses: `model`, or `planner` and `executor`, which fall back on it. `suggested` is
    `provider/model` as a data folder names it: it counts before the user's config, within the provider that they chose.
    `own_model_first`: a `provider` without a name means the user's model, where it is that provider's; else always the
    provider's default.
    """
    async with _Asking(settings) as asking:
        return await _chosen(asking, name, provider, suggested, role, own_model_first=own_model_first)


async def _chosen(
    asking: _Asking, name: str, provider: str, suggested: str, role: str, *, own_model_first: bool
) -> ChosenModel:
    settings = asking.settings
    remark: Sentence | None = None
    outright, model = split_name(name)
    wanted = _Wanted(provider or outright, model, name if outright and not provider else "")
    if wanted == NOTHING_SAID:
        wanted = _users_choice(settings, role)
        if settings.is_from_project(role):
            named = _Wanted(*split_name(getattr(settings, role)))
            wanted, remark = await _within_users_provider(asking, wanted, named)
        elif suggested and settings.origins.get(role) not in OVER_FOLDERS:
            wanted, _ = await _within_users_provider(asking, wanted, _Wanted(*split_name(suggested)))
    elif not wanted.model and own_model_first:
        wanted = replace(wanted, model=await _model_at(asking, PROVIDERS[wanted.provider], suggested, role))
    elif not wanted.provider and settings.provider:
        wanted = replace(wanted, provider=settings.provider)
    row, model = await _resolved(asking, wanted, said_now=bool(name))
    return await _described(asking, row, model, remark)


async def list_models(settings: Settings) -> list[tuple[str, list[ModelInfo] | ModelError]]:
    """Return what each configured provider lists, or why it does not."""
    rows = configured_providers(settings)
    async with _Asking(settings) as asking:
        answers = await asking.listed_by_all(rows)
    return [(row.name, answer) for row, answer in zip(rows, answers, strict=True)]


def offered_models(listed: Sequence[tuple[str, list[ModelInfo] | ModelError]]) -> list[ModelInfo]:
    """Return all that can be chosen: what a provider offers first, also where its list did not come; then what is
    listed."""
    first = [ModelInfo(name, provider) for provider, _ in listed for name in PROVIDERS[provider].offered]
    known = {(info.provider, info.name) for info in first}
    found = [info for _, models in listed if not isinstance(models, ModelError) for info in models]
    return first + [info for info in found if (info.provider, info.name) not in known]


def _users_choice(settings: Settings, role: str) -> _Wanted:
    """Return what the user chose, whatever a project wishes."""
    said = getattr(settings, role) if role in settings.origins else ""
    name = settings.overruled.get(role, "") if settings.is_from_project(role) else said
    outright, model = split_name(name)
    whole = name if outright else ""
    if role == "model":
        return _Wanted(outright or settings.provider, model, whole)
    if not model:
        return _users_choice(settings, "model")
    # A role may have a provider of its own; `provider` says where all else goes.
    return _Wanted(outright or known_provider(model) or settings.provider, model, whole)


async def _model_at(asking: _Asking, row: Provider, suggested: str, role: str) -> str:
    """Return the model for a provider that was named without one: the environment's, else the data folder's, else the
    one in the user's config, each only where it is that provider's; "" for its own default."""
    users = _users_choice(asking.settings, role)
    home_of_it = users.likely_provider
    is_there = home_of_it == row.name if home_of_it or not users.model else await _may_have(asking, row, users.model)
    own = users.model if is_there else ""
    home, model = split_name(suggested)
    folders = model if home == row.name else ""
    return own or folders if asking.settings.origins.get(role) in OVER_FOLDERS else folders or own


async def _within_users_provider(asking: _Asking, users: _Wanted, named: _Wanted) -> tuple[_Wanted, Sentence | None]:
    """Return what a project names, if the user's provider has it; else the user's own choice and why."""
    home = users.likely_provider
    if not home:
        row = (await _resolved(asking, users))[0] if users.model else configured_providers(asking.settings)[0]
        home = row.name
    provider = named.likely_provider or home
    # A model in a file is one the user put into the home; a clone must not name a file of its own.
    is_sure = bool(named.likely_provider) and not PROVIDERS[home].in_home
    if provider == home and (is_sure or await _may_have(asking, PROVIDERS[home], named.model)):
        return _Wanted(home, named.model), None
    return users, Sentence(
        "The project asks for the model '{model}', but you chose {label}, which does not list it; it was ignored.",
        model=printable(named.model, 200),
        label=PROVIDERS[home].label,
    )


async def _may_have(asking: _Asking, row: Provider, model: str) -> bool:
    answer = await asking.listed(row)
    return not row.in_home if isinstance(answer, ModelError) else _lists(answer, model)


async def _resolved(asking: _Asking, wanted: _Wanted, *, said_now: bool = False) -> tuple[Provider, str]:
    """Return the provider, and the name of its model. Asks servers only where a name leaves a doubt."""
    configured = configured_providers(asking.settings)
    if wanted.provider or not wanted.model:
        row = PROVIDERS[wanted.provider] if wanted.provider else configured[0]
        if row not in configured and (server := await _server_for_many(asking, wanted.whole, configured)):
            return server, wanted.whole
        _require(row, configured)
        if wanted.model:
            return row, wanted.model
        return await _default_model(asking, row, configured[1:], named=bool(wanted.provider))
    vendor, _, rest = wanted.model.partition("/")
    if vendor and rest:  # one that begins with a provider of ours was split before
        return await _server_of_vendor(asking, wanted.model, configured), wanted.model
    likely = PROVIDERS.get(wanted.likely_provider)
    if likely in configured:
        return likely, wanted.model
    if likely is not None and not any(row.key for row in configured):
        _require(likely, configured)
    own = [row for row in configured if has_own_address(row, asking.settings)]
    try:
        return await _asked_around(asking, wanted.model, configured), wanted.model
    except NotFoundError:
        if likely is not None:
            _require(likely, configured)
        if said_now or len(own) != 1:
            raise
        return own[0], wanted.model  # a server of one's own need not list all it can


async def _server_for_many(asking: _Asking, whole: str, configured: Sequence[Provider]) -> Provider | None:
    """Return the server of one's own that has the models of many vendors, `whole` among them."""
    for row in configured if whole else ():
        if has_own_address(row, asking.settings):
            answer = await asking.listed(row)
            if not isinstance(answer, ModelError) and _lists(answer, whole):
                return row
    return None


async def _server_of_vendor(asking: _Asking, model: str, configured: Sequence[Provider]) -> Provider:
    """Return the provider that lists `model`, or the server of one's own that does not say what it has."""
    answers = await asking.listed_by_all(configured)
    for row, answer in zip(configured, answers, strict=True):
        if not isinstance(answer, ModelError) and _lists(answer, model):
            return row
    for row, answer in zip(configured, answers, strict=True):
        is_silent = isinstance(answer, ModelError) and not isinstance(answer, UnavailableError)
        if is_silent and has_own_address(row, asking.settings):
            return row
    raise UnknownVendorError(
        "No configured server lists the model '{model}', and '{vendor}' is no provider ({known}). For a server that "
        "has it, set OPENAI_BASE_URL.",
        model=printable(model, 200),
        vendor=printable(model.partition("/")[0], 80),
        known=", ".join(PROVIDERS),
    )


def _require(row: Provider, configured: Sequence[Provider]) -> None:
    if row.key and row not in configured:
        raise AuthError("{variable} is not set. {advice}", variable=row.key_variable, advice=how_to_set_up(row))


async def _default_model(
    asking: _Asking, row: Provider, others: Sequence[Provider], *, named: bool
) -> tuple[Provider, str]:
    """Return the model where nobody names one: the provider's default, or the only one of a local server; of the others
    one that has a model, where the user did not name this one.

    Behind an address with a real key is the provider by another way, which needs no question.
    """
    if row.default_model:
        is_own_server = has_own_address(row, asking.settings) and len(getattr(asking.settings, row.key)) < SHORTEST_KEY
        answer = await asking.listed(row) if is_own_server else []
        if isinstance(answer, ModelError) or len(answer) != 1:
            return row, row.default_model
        return row, answer[0].name
    try:
        return row, await _first_listed(asking, row, named=named)
    except ModelError:
        for other in () if named else others:  # a file in the home, where no server runs
            if other.in_home and not isinstance(await asking.listed(other), ModelError):
                return other, await _first_listed(asking, other)
        raise


async def _first_listed(asking: _Asking, row: Provider, *, named: bool = False) -> str:
    answer = await asking.listed(row)
    if isinstance(answer, ModelError):
        if named and row.in_home:
            raise answer  # it says which folder is empty, and what to put there
        advice = how_to_set_up(row if named else None)
        if named or has_own_address(row, asking.settings):
            raise AuthError("No model can be reached. {problem} {advice}", problem=answer, advice=advice)
        raise AuthError("No model can be reached. {advice}", advice=advice)
    if not answer:
        raise NotFoundError(
            "{label} is running but has no model yet. Get one with `ollama pull NAME`.", label=row.label
        )
    return answer[0].name


async def _described(asking: _Asking, row: Provider, model: str, remark: Sentence | None) -> ChosenModel:
    """Return the model with the context length that its server reports; the connector asks for it only once."""
    connector = asking.take(row, remark)
    context = asking.settings.context_tokens
    if not context:
        with suppress(ModelError):  # the turn meets the same problem, and reports it
            context = (await connector.describe(model)).context_length or 0
    return ChosenModel(connector, model, context)


async def _asked_around(asking: _Asking, model: str, configured: Sequence[Provider]) -> Provider:
    """Return the provider that lists the model. Where there is only one, it has it: a server of one's own need not list
    all it can."""
    if len(configured) == 1:
        return configured[0]
    answers = await asking.listed_by_all(configured)
    names: list[str] = []
    reasons: list[Sentence] = []
    unlisting: list[Provider] = []
    for row, answer in zip(configured, answers, strict=True):
        if isinstance(answer, UnavailableError):
            reasons.append(Sentence("{provider} did not answer: {problem}", provider=row.name, problem=answer))
        elif isinstance(answer, ModelError):
            unlisting.append(row)
            reasons.append(Sentence("{provider} lists no models: {problem}", provider=row.name, problem=answer))
        elif _lists(answer, model):
            return row
        else:
            names += [f"{row.name}/{info.name}" for info in answer]
    if len(unlisting) == 1 and not names:
        return unlisting[0]  # it is there, cannot say what it has, and nobody else has anything
    raise _not_listed(model, names, reasons)


def _not_listed(model: str, names: Sequence[str], reasons: Sequence[Sentence]) -> NotFoundError:
    shown, near = printable(model, 200), _nearest(model, names)
    said = Sentence("No provider lists the model '{model}'.", model=shown)
    if near:
        said = Sentence("No provider lists the model '{model}'. Near it: {near}.", model=shown, near=", ".join(near))
    for reason in reasons:
        said = Sentence("{first} {then}", first=said, then=reason)
    return NotFoundError.of(said)


def _lists(models: Sequence[ModelInfo], name: str) -> bool:
    return any(info.name in (name, f"{name}:latest") for info in models)


def _nearest(model: str, names: Sequence[str]) -> list[str]:
    from difflib import get_close_matches

    short = {name.partition("/")[2]: name for name in names}
    return [short[each] for each in get_close_matches(model, short, n=3, cutoff=0.5)]
