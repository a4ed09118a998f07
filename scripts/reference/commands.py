"""Every command of the three programs with its options, as its parser declares them."""

from __future__ import annotations

import argparse
import contextlib
import io
from collections.abc import Callable, Iterator, Sequence

from words import page, say, table

from nebula.cli import evercontext, vizprompt
from nebula.cli import nebula as umbrella
from nebula.cli.nebula_commands.conversation import graph
from nebula.cli.nebula_commands.servers import mcp

PROGRAMS = {"nebula": umbrella, "evercontext": evercontext, "vizprompt": vizprompt}
BEHIND = {"nebula mcp": mcp.WORDS, "nebula graph": (graph.SHARE,), "nebula import": ("settings",)}
"""Words that a command reads by itself, before its parser."""


def list_commands() -> str:
    parts = []
    for program in PROGRAMS:
        parts.append(f"## {program}")
        parts += _describe(program, [])
        for name in PROGRAMS[program].COMMANDS:
            parts += _with_those_behind(program, [name], 3)
    return page(
        "Commands",
        "Every command and option of the three programs; each prints the same with `--help`.",
        *parts,
    )


def _with_those_behind(program: str, words: list[str], level: int) -> Iterator[str]:
    name = " ".join([program, *words])
    parser = find_parser(program, words)
    yield f"{'#' * level} {name}"
    yield from _describe(program, words)
    for each in _subcommands(parser) or BEHIND.get(name, ()):
        yield from _with_those_behind(program, [*words, each], level + 1)


def _describe(program: str, words: Sequence[str]) -> Iterator[str]:
    parser = find_parser(program, words)
    yield _plain(parser.description or "")
    yield table(("option", "what it does"), list(_options(parser)))
    examples = _examples(parser.epilog or "")
    if examples:
        yield "```\n" + "\n".join(examples) + "\n```"


def find_parser(program: str, words: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser of a command: the one that prints its help."""
    found: list[argparse.ArgumentParser] = []
    with _reporting(found.append), contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        PROGRAMS[program].main([*words, "--help"])
    return found[-1]


@contextlib.contextmanager
def _reporting(report: Callable[[argparse.ArgumentParser], None]) -> Iterator[None]:
    usual = argparse.ArgumentParser.print_help
    argparse.ArgumentParser.print_help = lambda parser, *_: report(parser)  # type: ignore[method-assign]
    try:
        yield
    finally:
        argparse.ArgumentParser.print_help = usual  # type: ignore[method-assign]


def _subcommands(parser: argparse.ArgumentParser) -> Sequence[str]:
    groups = [each for each in parser._actions if isinstance(each, argparse._SubParsersAction)]
    return [name for group in groups for name in group.choices]


def _options(parser: argparse.ArgumentParser) -> Iterator[tuple[str, str]]:
    for action in parser._actions:
        if isinstance(action, argparse._HelpAction | argparse._SubParsersAction) or action.help is argparse.SUPPRESS:
            continue
        value = _value_of(action)
        names = ", ".join(f"`{name}`" for name in action.option_strings[:-1])
        last = action.option_strings[-1] if action.option_strings else ""
        shown = f"`{' '.join(filter(None, (last, value)))}`"
        yield ", ".join(filter(None, (names, shown))), _plain(action.help or "")


def _value_of(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    name = action.metavar if isinstance(action.metavar, str) else None
    value = name or ("|".join(map(str, action.choices)) if action.choices else action.dest.upper())
    return {"?": f"[{value}]", "*": f"[{value} …]", "+": f"{value} …"}.get(str(action.nargs), value)


def _plain(text: str) -> str:
    return text.replace("%(default)s", "").replace("<", "\\<")


def _examples(epilog: str) -> list[str]:
    """Return the lines below «examples:» in the help."""
    head = say("examples:")
    lines = epilog.splitlines()
    if head not in lines:
        return []
    behind = lines[lines.index(head) + 1 :]
    return [line.strip() for line in behind[: behind.index("") if "" in behind else None]]
