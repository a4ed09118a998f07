"""Commands that tell: help, cost, what is sent, which tools there are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nebula.agent.budget import estimate_tokens
from nebula.agent.prices import cost as price
from nebula.cli.command_words import ABOUT, KEYS
from nebula.cli.terminal.spent import Spent, by_model, total
from nebula.cli.terminal.width import cut, pad
from nebula.events import Usage
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.sitting import Sitting


async def show_help(sitting: Sitting, _: str = "") -> None:
    from nebula.cli.terminal.commands import TABLE  # the table names this function

    lang = sitting.settings.lang if sitting.settings.lang in ABOUT else "en"
    sitting.screen.line(sitting.words("help_title"), "bold")
    for command in TABLE:
        name = f"{command.name}, /{command.name}" if command.bare else f"/{command.name}"
        sitting.screen.line(f"  {pad(name, 18)} {ABOUT[lang][command.name]}")
    sitting.screen.line(sitting.words("help_keys"), "bold")
    for key, meaning in KEYS[lang]:
        sitting.screen.line(f"  {pad(key, 18)} {meaning}")


async def cost(sitting: Sitting, _: str = "") -> None:
    if not sitting.spent:
        sitting.screen.line(sitting.words("cost_none"))
        return
    for each in by_model(sitting.spent).values():
        sitting.screen.line(sitting.words("cost_line", model=one_line(each.model), **_figures(sitting, each)))
    turns = len(sitting.spent)
    sitting.screen.line(sitting.words("cost_total", turns=turns, **_figures(sitting, total(sitting.spent))))


def _figures(sitting: Sitting, spent: Spent) -> dict[str, object]:
    usage = spent.usage
    return {"input": usage.input_tokens, "output": usage.output_tokens, "dollars": _money(sitting, spent.dollars)}


async def context(sitting: Sitting, _: str = "") -> None:
    session, words = sitting.session, sitting.words
    system, sent, tool_tokens = await asyncio.to_thread(session.preview)
    system_tokens = estimate_tokens(system)
    all_tokens = system_tokens + tool_tokens + sent.tokens
    past = words("context_past", full=sent.full, summarised=sent.summarised, left_out=sent.left_out)
    rows = ((words("context_system"), system_tokens), (words("context_tools"), tool_tokens), (past, sent.tokens))
    sitting.screen.line(words("context_title"))
    for name, tokens in rows:
        sitting.screen.line(f"  {tokens:>9,}  {name}")
    limit = session.brain.context
    dollars = price(session.brain.provider, session.brain.name, Usage(all_tokens, 0))
    percent = round(100 * all_tokens / max(1, limit), 1)
    sitting.screen.line(
        words("context_total", total=all_tokens, limit=limit, percent=percent, dollars=_money(sitting, dollars))
    )


async def tools(sitting: Sitting, _: str = "") -> None:
    session = sitting.session
    sitting.screen.line(sitting.words("tools_title", mode=session.mode))
    for spec in session.tools("shown").specs:
        sitting.screen.line(
            cut(f"  {pad(spec.name, 18)} {_first_sentence(spec.description)}", sitting.screen.columns - 1)
        )


async def compact(sitting: Sitting, _: str = "") -> None:
    count = sitting.session.conversation.compact()
    sitting.screen.line(sitting.words("compacted", count=count) if count else sitting.words("compact_none"))


def _money(sitting: Sitting, dollars: float | None) -> str:
    return sitting.words("cost_unknown") if dollars is None else f"${dollars:.4f}"


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).split(". ")[0]
