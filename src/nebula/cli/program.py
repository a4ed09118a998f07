"""What the three programs have in common: tables of commands, each of which is loaded when it is run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from nebula import __version__
from nebula.cli.arguments import Parser, UsageError
from nebula.cli.printing import print_line
from nebula.errors import EXIT_OK
from nebula.language import translate
from nebula.value import value

Run = Callable[..., int | None]
"""Carries a command out; where it returns nothing, all went well."""


@value
class Subcommand:
    place: str
    """`.MODULE` of the program's package, whose `main` carries it out, or `.MODULE:FUNCTION`."""
    about: str
    """English; shown in the user's language."""

    def load(self, package: str) -> Run:
        from importlib import import_module

        module, _, function = self.place.partition(":")
        run: Run = getattr(import_module(module, package), function or "main")
        return run


def list_commands(commands: Mapping[str, Subcommand]) -> str:
    """Return the subcommands with what they are for, as the help of a command shows them."""
    width = max(map(len, commands))
    lines = [f"  {name:{width}}  {translate(each.about)}" for name, each in commands.items()]
    return "\n".join([translate("commands (each has its own --help):"), *lines])


def run_words(
    prog: str,
    words: Sequence[str],
    commands: Collection[str],
    run: Callable[[str, Sequence[str]], int | None],
    make_parser: Callable[[], Parser],
) -> int:
    """Run the command that `words` begin with, or do what the options without one say; return the exit code."""
    if words and words[0] in commands:
        return run(words[0], words[1:]) or EXIT_OK
    if words and not words[0].startswith("-"):
        raise unknown_command(words[0], commands)
    if make_parser().parse_args(words).version:
        print_line(f"{prog} {__version__}")
        return EXIT_OK
    known = ", ".join(commands)
    raise UsageError("say which command to run: {known} (see {prog} --help)", known=known, prog=prog)


def unknown_command(name: str, known: Collection[str]) -> UsageError:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    if near:
        return UsageError("there is no command '{name}'; did you mean '{near}'?", name=name, near=near[0])
    return UsageError("there is no command '{name}'; it has: {known}", name=name, known=", ".join(known))
