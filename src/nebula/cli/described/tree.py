"""Read from the parsers what each command takes.

A command makes its parser when it is run, and asks it first of all. So each is run up to that moment, in which its
parser is handed out instead of being asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nebula.cli.arguments import Parser, ParserMet
from nebula.cli.nebula_commands.conversation import graph
from nebula.cli.nebula_commands.servers import mcp
from nebula.language import translate
from nebula.value import value

_FILES = ("FILE", "PATH", "PLAN", "TASKS")
_FOLDERS = ("DIR", "FOLDER")
_WITH_WORDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("nebula", "mcp"): mcp.WORDS,
    ("nebula", "graph"): (*graph.COMMANDS, graph.SHARE),
    ("nebula", "import"): ("settings",),
}
"""Commands that hand a first word over to a parser of its own."""


@value
class Option:
    names: tuple[str, ...]
    about: str
    metavar: str
    """What stands behind it; empty: nothing does."""
    choices: tuple[str, ...]
    is_optional: bool
    """What stands behind it may be left out."""

    @property
    def kind(self) -> str:
        return "file" if self.names[0].endswith("-file") else kind_of(self.metavar, self.choices)


@value
class DescribedCommand:
    path: tuple[str, ...]
    """From the program's name on."""
    about: str
    options: tuple[Option, ...]
    commands: tuple[DescribedCommand, ...]
    operands: tuple[str, ...]
    """What else it takes, by their metavars."""
    operand_choices: tuple[str, ...]
    help: str
    """As `--help` prints it."""

    def walk(self) -> Iterator[DescribedCommand]:
        yield self
        for each in self.commands:
            yield from each.walk()


def kind_of(metavar: str, choices: Sequence[str]) -> str:
    """Return what completes a word: `none`, `choices`, `folder`, `file`, or `text`, which nobody can guess."""
    if not metavar and not choices:
        return "none"
    if choices:
        return "choices"
    if metavar.endswith(_FOLDERS):
        return "folder"
    return "file" if metavar.startswith(_FILES) or metavar.endswith(_FILES) else "text"


def describe_programs() -> list[DescribedCommand]:
    from nebula.cli import evercontext, nebula, vizprompt

    programs = {"nebula": nebula, "evercontext": evercontext, "vizprompt": vizprompt}
    return [_describe_program(name, program) for name, program in programs.items()]


def _describe_program(program: str, module: Any) -> DescribedCommand:
    commands = []
    for name, command in module.COMMANDS.items():
        path = (program, name)
        inner = [
            _describe((*path, word), parser, parser.description or "")
            for word in _WITH_WORDS.get(path, ())
            for parser in [_meet(module.run_command, name, [word])]
        ]
        commands.append(_describe(path, _meet(module.run_command, name, []), translate(command.about), inner))
    parser = module.make_parser()
    return _describe((program,), parser, parser.description or "", commands)


def _meet(run: Callable[[str, list[str]], object], name: str, words: list[str]) -> Parser:
    Parser.is_described = True
    try:
        run(name, words)
    except ParserMet as met:
        return met.parser
    finally:
        Parser.is_described = False
    raise LookupError(f"a command without a parser: {name} {words}")


def _describe(
    path: tuple[str, ...], parser: argparse.ArgumentParser, about: str, more: Sequence[DescribedCommand] = ()
) -> DescribedCommand:
    options, operands, choices, commands = [], [], [], list(more)
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            told = {each.dest: each.help or "" for each in action._choices_actions}
            commands += [_describe((*path, name), each, told.get(name, "")) for name, each in action.choices.items()]
        elif action.option_strings:
            options.append(_option(action))
        else:
            operands.append(_metavar(action))
            choices += [str(each) for each in action.choices or ()]
    return DescribedCommand(
        path, about, tuple(options), tuple(commands), tuple(operands), tuple(choices), parser.format_help()
    )


def _option(action: argparse.Action) -> Option:
    takes = action.nargs != 0
    return Option(
        tuple(action.option_strings),
        (action.help or "").replace("%%", "%"),
        _metavar(action) if takes else "",
        tuple(str(each) for each in action.choices or ()) if takes else (),
        action.nargs == "?",
    )


def _metavar(action: argparse.Action) -> str:
    return action.metavar if isinstance(action.metavar, str) else action.dest.upper()
