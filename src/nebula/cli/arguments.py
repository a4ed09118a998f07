"""Reading the command line the same way everywhere: help that helps, one clear line for a mistake, exit code 64."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

EXIT_USAGE = 64

Command = Callable[[Sequence[str]], int]


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line and say where help is."""

    def __init__(self, prog: str, description: str, **options: object) -> None:
        super().__init__(
            prog=prog,
            description=description,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,  # type: ignore[arg-type]
        )

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message} (see {self.prog} --help)", file=sys.stderr)
        raise SystemExit(EXIT_USAGE)


def root_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--root", metavar="DIR", help="the project (default: the current directory)")


def checked_root(root: str | None) -> str:
    """The project's directory, or a plain complaint."""
    try:
        folder = os.path.abspath(root or ".")
    except FileNotFoundError:
        raise UsageError("the current directory is gone; go to another one") from None
    if not os.path.isdir(folder):
        raise UsageError(f"{root}: there is no such directory")
    return folder


def check_allowed(paths: Sequence[str]) -> None:
    """Complains about an --allow that names no file a project can have."""
    for path in paths:
        if os.path.isabs(path) or ".." in path.split("/"):
            raise UsageError(f"--allow {path}: give the path relative to the project")


class UsageError(Exception):
    """A mistake of the user; its sentence says what to do."""


def dispatch(commands: Mapping[str, str], name: str, rest: Sequence[str]) -> int:
    """Runs `module:function` for a subcommand, importing it only now."""
    from importlib import import_module

    module, function = commands[name].split(":")
    command: Command = getattr(import_module(module), function)
    return command(rest)


def unknown_command(prog: str, name: str, known: Sequence[str]) -> int:
    import difflib

    near = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean '{near[0]}'?" if near else f"; it has: {', '.join(known)}"
    print(f"{prog}: there is no command '{name}'{hint}", file=sys.stderr)
    return EXIT_USAGE
