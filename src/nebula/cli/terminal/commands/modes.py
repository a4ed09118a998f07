"""Commands about how the agent works: mode, model, plan, what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.agent.session import MODES
from nebula.cli.terminal.dialogs.numbered_list import choose
from nebula.cli.terminal.output.waiting import waiting
from nebula.cli.terminal.turns import take_turn
from nebula.config import save_choice
from nebula.llm.choose import choose_model, list_models, offered_models
from nebula.llm.contract import ModelInfo
from nebula.llm.errors import ModelError
from nebula.stage import one_line
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession

Listed = list[tuple[str, list[ModelInfo] | ModelError]]
"""What each configured provider lists, or why it does not."""


async def plan(terminal: TerminalSession, argument: str) -> None:
    await _switch(terminal, "plan", argument)


async def agent(terminal: TerminalSession, argument: str) -> None:
    await _switch(terminal, "agent", argument)


async def _switch(terminal: TerminalSession, to: str, prompt: str) -> None:
    """`/plan do this` switches and asks at once."""
    terminal.switch_mode(to)
    terminal.screen.line(terminal.words("mode_is", mode=to))
    if prompt:
        await take_turn(terminal, prompt)


async def mode(terminal: TerminalSession, argument: str) -> None:
    words = terminal.words
    if not argument:
        current = terminal.session.mode
        terminal.screen.line(words("mode_title"))
        names = [words("mode_agent"), words("mode_plan")]
        number = await choose(terminal, names, words("mode_ask", mode=current), MODES.index(current))
        argument = MODES[number] if number is not None else current
    if argument.lower() not in MODES:
        terminal.screen.line(words("mode_unknown", mode=one_line(argument)), "yellow")
        return
    await _switch(terminal, argument.lower(), "")


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
    """A number of the list, or a name; None keeps the model."""
    for provider, models in listed:
        if isinstance(models, ModelError) and provider != "ollama":  # no Ollama running is nothing to report
            terminal.screen.line(f"{provider}: {models}", "yellow")
    chosen = terminal.session.chosen
    names = [f"{one_line(info.name)} ({info.provider})" for info in offered]
    current = [(info.provider, info.name) for info in offered]
    at = current.index((chosen.provider, chosen.name)) if (chosen.provider, chosen.name) in current else None
    terminal.screen.line(terminal.words("model_title"))
    answer = await choose(terminal, names, terminal.words("model_ask", model=one_line(chosen.name)), at, free_text=True)
    if isinstance(answer, int):
        return f"{offered[answer].provider}/{offered[answer].name}"
    return answer


async def _use_model(terminal: TerminalSession, name: str, offered: list[ModelInfo]) -> None:
    session = terminal.session
    exact = [info for info in offered if name in (info.name, f"{info.provider}/{info.name}")]
    try:
        chosen = await choose_model(session.settings, f"{exact[0].provider}/{exact[0].name}" if exact else name)
    except ModelError as error:
        terminal.screen.line(str(error), "yellow")
        return
    same_name = [info for info in offered if info.name == chosen.name]
    saved = chosen.name if len(same_name) <= 1 else f"{chosen.provider}/{chosen.name}"
    old = session.chosen
    session.use_model(chosen)
    await old.connector.aclose()
    save_choice(session.settings, model=saved)
    outright = f"{chosen.provider}/{chosen.name}"
    origins = {**terminal.settings.origins, "model": "session"}
    terminal.settings = replace(terminal.settings, model=outright, origins=origins)
    terminal.screen.line(terminal.words("model_is", model=one_line(chosen.name)))


async def accept(terminal: TerminalSession, argument: str) -> None:
    if not terminal.plan_offered:
        terminal.screen.line(terminal.words("plan_none"), "yellow")
        return
    prompt = terminal.session.accept_plan()
    terminal.screen.line(terminal.words("plan_accepted"))
    await take_turn(terminal, f"{prompt}\n{argument}" if argument else prompt)


async def backstage(terminal: TerminalSession, _: str = "") -> None:
    terminal.toggle_backstage()
    terminal.screen.line(terminal.words("backstage_on" if terminal.stage_options.backstage else "backstage_off"))


async def curtain(terminal: TerminalSession, argument: str) -> None:
    choices = ("quiet", "paths")
    other = choices[1 - choices.index(terminal.stage_options.curtain)]
    chosen = argument.lower() if argument.lower() in choices else other
    terminal.stage_options = terminal.stage_options._replace(curtain=chosen)
    save_choice(terminal.settings, curtain=chosen)
    terminal.screen.line(terminal.words("curtain_is", curtain=chosen))
