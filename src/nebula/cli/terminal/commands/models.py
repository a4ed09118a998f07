"""/model: which model answers."""

from __future__ import annotations

from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.dialogs.questions import choose
from nebula.cli.terminal.output.live_line import waiting
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.config import save_choice
from nebula.language import explain, translate
from nebula.llm.catalog import is_set_up, short_name
from nebula.llm.choose import ChosenModel, choose_model, list_models, offered_models
from nebula.llm.contract import ModelInfo
from nebula.llm.errors import ModelError, NotFoundError
from nebula.providers import PROVIDERS
from nebula.stage import one_line
from nebula.value import replace

Listed = list[tuple[str, list[ModelInfo] | ModelError]]
"""What each configured provider lists, or why it does not."""


async def model(terminal: TerminalSession, argument: str) -> None:
    listed = await waiting(terminal, list_models(terminal.session.settings))
    if listed is None:
        return
    offered = offered_models(listed)
    if not argument:
        chosen = await _ask_for_model(terminal, listed, offered)
        if chosen is None:
            return
        argument = chosen
    await _use_model(terminal, argument, offered)


async def _ask_for_model(terminal: TerminalSession, listed: Listed, offered: list[ModelInfo]) -> str | None:
    """Return the model that the user chose, by its number in the list or by name; None keeps the model."""
    for provider, models in listed:
        if isinstance(models, ModelError) and is_set_up(PROVIDERS[provider], terminal.session.settings):
            terminal.screen.line(f"{provider}: {explain(models)}", "yellow")
    chosen = terminal.session.chosen
    names = [f"{one_line(info.name)} ({info.provider})" for info in offered]
    current = [(info.provider, info.name) for info in offered]
    at = current.index((chosen.provider, chosen.name)) if (chosen.provider, chosen.name) in current else None
    terminal.screen.tell("Models:")
    question = translate("Number or name of the model (Enter keeps {model}): ", model=one_line(short_name(chosen.name)))
    answer = await choose(terminal, names, question, at, free_name=True)
    if isinstance(answer, int):
        return f"{offered[answer].provider}/{offered[answer].name}"
    return answer


async def _use_model(terminal: TerminalSession, name: str, offered: list[ModelInfo]) -> None:
    session = terminal.session
    if session.redactor.text(name) != name:
        terminal.screen.warn("That is a key, not the name of a model; nothing was changed.")
        return
    if not name.isprintable():
        terminal.screen.warn("That is not the name of a model; nothing was changed.")
        return
    exact = [info for info in offered if name in (info.name, f"{info.provider}/{info.name}")]
    chosen = await choose_model(session.settings, f"{exact[0].provider}/{exact[0].name}" if exact else name)
    if not exact:
        await _make_sure(chosen)
    same_name = [info for info in offered if info.name == chosen.name]
    saved = chosen.name if len(same_name) <= 1 else f"{chosen.provider}/{chosen.name}"
    old = session.chosen
    session.use_model(chosen)
    await old.connector.aclose()
    save_choice(session.settings, model=saved)
    outright = f"{chosen.provider}/{chosen.name}"
    origins = {**terminal.settings.origins, "model": "session"}
    terminal.settings = replace(terminal.settings, model=outright, origins=origins)
    terminal.screen.tell("Model: {model} (saved as your choice)", model=one_line(short_name(chosen.name)))


async def _make_sure(chosen: ChosenModel) -> None:
    """Make sure that there is such a model, as far as its provider can say without being asked for an answer."""
    try:
        await chosen.connector.describe(chosen.name)
    except NotFoundError:
        await chosen.connector.aclose()
        raise
    except ModelError:
        pass  # no word about the name: the turn meets the same problem, and reports it


MODEL = SessionCommand(
    "model",
    "list the models and choose one; model NAME switches at once",
    model,
    ("models",),
    bare=True,
    bare_argument=True,
)
