"""Commands about how the agent works: mode, model, plan, what is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nebula.agent.brains import list_models, open_brain
from nebula.agent.session import MODES
from nebula.cli.terminal.questions import choose
from nebula.cli.terminal.turns import take_turn
from nebula.cli.terminal.waiting import waiting
from nebula.config import OFFERED_MODELS, save_choice
from nebula.llm.contract import ModelInfo
from nebula.llm.errors import ModelError
from nebula.stage import one_line
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.cli.terminal.sitting import Sitting

Listed = list[tuple[str, list[ModelInfo] | ModelError]]
"""What each configured provider lists, or why it does not."""


async def plan(sitting: Sitting, argument: str) -> None:
    await _switch(sitting, "plan", argument)


async def agent(sitting: Sitting, argument: str) -> None:
    await _switch(sitting, "agent", argument)


async def _switch(sitting: Sitting, to: str, prompt: str) -> None:
    """`/plan do this` switches and asks at once."""
    sitting.switch_mode(to)
    sitting.screen.line(sitting.words("mode_is", mode=to))
    if prompt:
        await take_turn(sitting, prompt)


async def mode(sitting: Sitting, argument: str) -> None:
    words = sitting.words
    if not argument:
        current = sitting.session.mode
        sitting.screen.line(words("mode_title"))
        names = [words("mode_agent"), words("mode_plan")]
        number = await choose(sitting, names, words("mode_ask", mode=current), MODES.index(current))
        argument = MODES[number] if number is not None else current
    if argument.lower() not in MODES:
        sitting.screen.line(words("mode_unknown", mode=one_line(argument)), "yellow")
        return
    await _switch(sitting, argument.lower(), "")


async def model(sitting: Sitting, argument: str) -> None:
    listed = await waiting(sitting, list_models(sitting.session.settings))
    if listed is None:
        return
    offered = offered_models(listed)
    if not argument:
        chosen = await _ask_for_model(sitting, listed, offered)
        if chosen is None:
            return
        argument = chosen
    await _use_model(sitting, argument, offered)


def offered_models(listed: Listed) -> list[ModelInfo]:
    """The two that the seed offers come first, also where OpenAI's list did not come; then all that are listed."""
    ours = [ModelInfo(name, "openai") for name in OFFERED_MODELS] if "openai" in dict(listed) else []
    first = {(info.provider, info.name) for info in ours}
    found = [info for _, models in listed if not isinstance(models, ModelError) for info in models]
    return ours + [info for info in found if (info.provider, info.name) not in first]


async def _ask_for_model(sitting: Sitting, listed: Listed, offered: list[ModelInfo]) -> str | None:
    """A number of the list, or a name; None keeps the model."""
    for provider, models in listed:
        if isinstance(models, ModelError) and provider != "ollama":  # no Ollama running is nothing to report
            sitting.screen.line(f"{provider}: {models}", "yellow")
    brain = sitting.session.brain
    names = [f"{one_line(info.name)} ({info.provider})" for info in offered]
    current = [(info.provider, info.name) for info in offered]
    at = current.index((brain.provider, brain.name)) if (brain.provider, brain.name) in current else None
    sitting.screen.line(sitting.words("model_title"))
    answer = await choose(sitting, names, sitting.words("model_ask", model=one_line(brain.name)), at, free_text=True)
    if isinstance(answer, int):
        return f"{offered[answer].provider}/{offered[answer].name}"
    return answer


async def _use_model(sitting: Sitting, name: str, offered: list[ModelInfo]) -> None:
    session = sitting.session
    exact = [info for info in offered if name in (info.name, f"{info.provider}/{info.name}")]
    try:
        brain = await open_brain(session.settings, f"{exact[0].provider}/{exact[0].name}" if exact else name)
    except ModelError as error:
        sitting.screen.line(str(error), "yellow")
        return
    same_name = [info for info in offered if info.name == brain.name]
    saved = brain.name if len(same_name) <= 1 else f"{brain.provider}/{brain.name}"
    old = session.brain
    session.use_model(brain)
    await old.model.aclose()
    save_choice(session.settings, model=saved)
    outright = f"{brain.provider}/{brain.name}"
    origins = {**sitting.settings.origins, "model": "session"}
    sitting.settings = replace(sitting.settings, model=outright, origins=origins)
    sitting.screen.line(sitting.words("model_is", model=one_line(brain.name)))


async def accept(sitting: Sitting, argument: str) -> None:
    if not sitting.plan_offered:
        sitting.screen.line(sitting.words("plan_none"), "yellow")
        return
    prompt = sitting.session.accept_plan()
    sitting.screen.line(sitting.words("plan_accepted"))
    await take_turn(sitting, f"{prompt}\n{argument}" if argument else prompt)


async def backstage(sitting: Sitting, _: str = "") -> None:
    sitting.toggle_backstage()
    sitting.screen.line(sitting.words("backstage_on" if sitting.house.backstage else "backstage_off"))


async def curtain(sitting: Sitting, argument: str) -> None:
    choices = ("quiet", "paths")
    other = choices[1 - choices.index(sitting.house.curtain)]
    chosen = argument.lower() if argument.lower() in choices else other
    sitting.house = sitting.house._replace(curtain=chosen)
    save_choice(sitting.settings, curtain=chosen)
    sitting.screen.line(sitting.words("curtain_is", curtain=chosen))
