"""Read from the parsers what each command takes.

A command makes its parser when it is run, and asks it first of all. So each is run up to that moment, in which its
parser is handed out instead of being asked.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence

from nebula.cli.arguments import Parser, ParserMet, dispatch
from nebula.language import Sentence, explain
from nebula.value import value

_FILES = ("FILE", "PATH", "PLAN", "TASKS")
_FOLDERS = ("DIR", "FOLDER")
_WITH_WORDS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("nebula", "mcp"): ("add", "remove", "list", "test", "login", "logout"),
    ("nebula", "graph"): ("flow", "node", "search", "context", "check", "build", "share"),
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

    def of_nebula(name: str) -> Callable[[list[str]], int]:
        return lambda words: dispatch("nebula.cli.nebula_commands", nebula.find_module(name), words)

    def of_evercontext(name: str) -> Callable[[list[str]], int]:
        return lambda words: dispatch("nebula.cli.evercontext_commands", name, words)

    def of_vizprompt(name: str) -> Callable[[list[str]], int]:
        return lambda words: vizprompt.run_command(name, ".", words, f"vizprompt {name}")

    programs = (
        ("nebula", nebula.make_parser(), nebula.COMMANDS, of_nebula),
        ("evercontext", evercontext.make_parser(), evercontext.COMMANDS, of_evercontext),
        ("vizprompt", vizprompt.make_parser(), vizprompt.COMMANDS, of_vizprompt),
    )
    return [
        _describe((name,), parser, parser.description or "", _commands((name,), commands, run))
        for name, parser, commands, run in programs
    ]


def _commands(
    path: tuple[str, ...], commands: dict[str, Sentence], run: Callable[[str], Callable[[list[str]], int]]
) -> list[DescribedCommand]:
    found = []
    for name, about in commands.items():
        here = (*path, name)
        inner = [
            _describe((*here, word), parser, parser.description or "")
            for word in _WITH_WORDS.get(here, ())
            for parser in [_meet(run(name), [word])]
        ]
        found.append(_describe(here, _meet(run(name), []), explain(about), inner))
    return found


def _meet(run: Callable[[list[str]], int], words: list[str]) -> Parser:
    Parser.is_described = True
    try:
        run(words)
    except ParserMet as met:
        return met.parser
    finally:
        Parser.is_described = False
    raise LookupError(f"a command without a parser: {words}")


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
