"""Commands that tell: cost, what is sent, which tools there are."""

from __future__ import annotations

import asyncio

from nebula.agent.context.building import past_sizes
from nebula.agent.context.tokens import tool_tokens
from nebula.cli.printing import compacted
from nebula.cli.terminal.commands.command import SessionCommand
from nebula.cli.terminal.output.live_line import waiting
from nebula.cli.terminal.output.width import cut, pad
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.usage_report import TurnUsage, by_model, total
from nebula.events import Usage
from nebula.graph.tokens import estimate_tokens
from nebula.language import translate, translate_count
from nebula.llm.catalog import cost as price
from nebula.llm.catalog import short_name
from nebula.stage import one_line


async def cost(terminal: TerminalSession, _: str = "") -> None:
    summaries = _summaries(terminal)
    if terminal.running_usage is not None:
        running = _figures(TurnUsage(terminal.session.chosen.name, terminal.running_usage, None))
        terminal.screen.tell("This turn so far: {used}", used=running.partition(" · ")[0])
    elif not terminal.usage and summaries is None:
        terminal.screen.tell("Nothing was asked in this session yet.")
        return
    for each in by_model(terminal.usage).values():
        terminal.screen.line(f"{one_line(short_name(each.model))}: {_figures(each)}")
    if summaries is not None:
        count = terminal.session.summaries.count
        made = (
            translate_count(count, "{count} summary", "{count} summaries") if count else translate("No usable summary")
        )
        terminal.screen.line(f"{made}: {_figures(summaries)}")
    if not terminal.usage:
        return
    turns = translate_count(len(terminal.usage), "This session: {count} turn", "This session: {count} turns")
    used = _figures(total([*terminal.usage, *([summaries] if summaries else [])]))
    terminal.screen.tell("{turns}, {used}", turns=turns, used=used)


def _summaries(terminal: TerminalSession) -> TurnUsage | None:
    """Print what summaries made in the background or by /compact have cost; they belong to no turn."""
    session = terminal.session
    used = session.summaries.usage
    return TurnUsage(session.chosen.name, used, session.chosen.cost(used)) if used != Usage() else None


def _figures(used: TurnUsage) -> str:
    usage = used.usage
    tokens = translate("{input:,} tokens in, {output:,} out", input=usage.input_tokens, output=usage.output_tokens)
    return f"{tokens} · {_money(used.dollars)}"


async def context(terminal: TerminalSession, _: str = "") -> None:
    session, line = terminal.session, terminal.screen.line
    next_turn = await asyncio.to_thread(session.build_context, "preview")
    sent = next_turn.past
    system_tokens, all_tools = estimate_tokens(next_turn.system), tool_tokens(next_turn.tools.specs)
    all_tokens = system_tokens + all_tools + sent.tokens
    past = translate(
        "past turns: {full} in full, {summarised} as summaries, {left_out} left out",
        full=len(sent.whole),
        summarised=len(sent.packed),
        left_out=len(sent.left_out),
    )
    line(translate("What the next request sends, beside your prompt (estimated):"))
    for name, tokens in ((translate("system prompt"), system_tokens), (translate("tools"), all_tools)):
        line(f"  {tokens:>9,}  {name}")
    line(f"  {sent.tokens:>9,}  {past}", hang=13)
    full, short = await asyncio.to_thread(past_sizes, session.conversation, session.archive.find)
    if session.conversation.turns:
        line(
            translate(
                "the past in full: {full:,} tokens · as summaries: {short:,} (`past` in the configuration)",
                full=full,
                short=short,
            )
        )
    limit = session.chosen.context
    dollars = price(session.chosen.provider, session.chosen.name, Usage(all_tokens, 0))
    line(
        translate(
            "together {total:,} of {limit:,} tokens ({percent} %) · {dollars} a request",
            total=all_tokens,
            limit=limit,
            percent=round(100 * all_tokens / max(1, limit), 1),
            dollars=_money(dollars),
        )
    )


async def tools(terminal: TerminalSession, _: str = "") -> None:
    session = terminal.session
    terminal.screen.tell("Tools of {mode} mode:", mode=session.mode)
    offered = await asyncio.to_thread(session.bench.tools, "shown", session.mode)
    for spec in offered.specs:
        about = translate(" ".join(spec.description.split()).split(". ")[0])
        terminal.screen.line(cut(f"  {pad(spec.name, 18)} {about}", terminal.screen.columns - 1))


async def compact(terminal: TerminalSession, argument: str = "") -> None:
    """Make the summaries that are missing; Ctrl-C stops that, and what was made is kept."""
    count = await waiting(terminal, terminal.session.compact(argument), translate("writing summaries"))
    for sentence in terminal.session.remarks.take():
        terminal.warn(sentence)
    if count is None:
        terminal.screen.warn("Stopped; the turns go on as before.")
        return
    terminal.measure_context()
    terminal.screen.line(compacted(count))
    if count and terminal.session.conversation.digest and argument:
        terminal.screen.say(terminal.session.conversation.digest)


def _money(dollars: float | None) -> str:
    return translate("price unknown") if dollars is None else f"${dollars:.4f}"


COMMANDS = (
    SessionCommand("cost", "tokens and dollars of this session", cost, ("usage", "stats"), alone=True, at_once=True),
    SessionCommand(
        "context", "what is sent with the next prompt, and what it costs", context, alone=True, at_once=True
    ),
    SessionCommand("tools", "what the model may call in this mode", tools, alone=True, at_once=True),
    SessionCommand(
        "compact",
        "send all turns but the newest as summaries; /compact FOCUS keeps that in sight",
        compact,
        ("compress", "summarize"),
    ),
)
