"""Commands that tell: help, cost, what is sent, which tools there are."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from nebula.agent.budget import estimate_tokens
from nebula.cli.command_words import ABOUT, KEYS
from nebula.cli.terminal.output.width import cut, pad
from nebula.cli.terminal.usage_report import TurnUsage, by_model, total
from nebula.events import Usage
from nebula.llm.catalog import cost as price
from nebula.stage import one_line

if TYPE_CHECKING:
    from nebula.cli.terminal.terminal_session import TerminalSession


async def show_help(terminal: TerminalSession, _: str = "") -> None:
    from nebula.cli.terminal.commands.table import TABLE  # the table names this function

    lang = terminal.settings.lang if terminal.settings.lang in ABOUT else "en"
    terminal.screen.line(terminal.words("help_title"), "bold")
    for command in TABLE:
        name = f"{command.name}, /{command.name}" if command.bare else f"/{command.name}"
        terminal.screen.line(f"  {pad(name, 18)} {ABOUT[lang][command.name]}")
    terminal.screen.line(terminal.words("help_keys"), "bold")
    for key, meaning in KEYS[lang]:
        terminal.screen.line(f"  {pad(key, 18)} {meaning}")


async def cost(terminal: TerminalSession, _: str = "") -> None:
    if not terminal.spent:
        terminal.screen.line(terminal.words("cost_none"))
        return
    for each in by_model(terminal.spent).values():
        terminal.screen.line(terminal.words("cost_line", model=one_line(each.model), **_figures(terminal, each)))
    turns = len(terminal.spent)
    terminal.screen.line(terminal.words("cost_total", turns=turns, **_figures(terminal, total(terminal.spent))))


def _figures(terminal: TerminalSession, spent: TurnUsage) -> dict[str, object]:
    usage = spent.usage
    return {"input": usage.input_tokens, "output": usage.output_tokens, "dollars": _money(terminal, spent.dollars)}


async def context(terminal: TerminalSession, _: str = "") -> None:
    session, words = terminal.session, terminal.words
    system, sent, tool_tokens = await asyncio.to_thread(session.preview)
    system_tokens = estimate_tokens(system)
    all_tokens = system_tokens + tool_tokens + sent.tokens
    past = words("context_past", full=sent.full, summarised=sent.summarised, left_out=sent.left_out)
    rows = ((words("context_system"), system_tokens), (words("context_tools"), tool_tokens), (past, sent.tokens))
    terminal.screen.line(words("context_title"))
    for name, tokens in rows:
        terminal.screen.line(f"  {tokens:>9,}  {name}")
    limit = session.chosen.context
    dollars = price(session.chosen.provider, session.chosen.name, Usage(all_tokens, 0))
    percent = round(100 * all_tokens / max(1, limit), 1)
    terminal.screen.line(
        words("context_total", total=all_tokens, limit=limit, percent=percent, dollars=_money(terminal, dollars))
    )


async def tools(terminal: TerminalSession, _: str = "") -> None:
    session = terminal.session
    terminal.screen.line(terminal.words("tools_title", mode=session.mode))
    for spec in session.tools("shown").specs:
        terminal.screen.line(
            cut(f"  {pad(spec.name, 18)} {_first_sentence(spec.description)}", terminal.screen.columns - 1)
        )


async def compact(terminal: TerminalSession, _: str = "") -> None:
    count = terminal.session.conversation.compact()
    terminal.screen.line(terminal.words("compacted", count=count) if count else terminal.words("compact_none"))


def _money(terminal: TerminalSession, dollars: float | None) -> str:
    return terminal.words("cost_unknown") if dollars is None else f"${dollars:.4f}"


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).split(". ")[0]
