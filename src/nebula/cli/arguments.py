"""Reading the command line the same way everywhere: help that helps, one clear line for a mistake, exit code 64."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, NoReturn, TypeVar

from nebula.errors import EXIT_USAGE, NebulaError
from nebula.files.descriptors import naming
from nebula.language import translate
from nebula.providers import PROVIDERS

_Action = TypeVar("_Action", bound=argparse.Action)

# argparse looks up its own sentences under these two names, to be translated.
argparse._ = translate  # type: ignore[attr-defined]
argparse.ngettext = lambda one, many, count: translate(one if count == 1 else many)  # type: ignore[attr-defined]


class UsageError(NebulaError):
    """A mistake of the user; its sentence says what to do."""

    exit_code = EXIT_USAGE


class ParserMet(BaseException):
    """Raised by a parser that is to be described instead of being asked; see `described.tree`."""

    def __init__(self, parser: Parser) -> None:
        super().__init__(parser.prog)
        self.parser = parser


class _DeclaringFormatter(argparse.HelpFormatter):
    """argparse makes a formatter for each option that is declared, to try its metavar. What prints help, its width
    above all, costs more to find out than declaring all options."""

    def __init__(self) -> None:
        pass


class Parser(argparse.ArgumentParser):
    """An argument parser whose complaints are one line and say where help is."""

    is_described: ClassVar[bool] = False
    _declaring = False
    _commands: argparse._SubParsersAction[Parser] | None = None

    def __init__(
        self,
        prog: str,
        description: str,
        *,
        about: str = "",
        examples: Sequence[str] = (),
        epilog: str = "",
        **options: Any,
    ) -> None:
        """Behind the options help has what more there is to say, how the command is called, and the `epilog`. All of
        it, and the help of each option, is said in the user's language."""
        shown = "\n  ".join([translate("examples:"), *examples]) if examples else ""
        super().__init__(
            prog=prog,
            description=translate(description),
            epilog="\n\n".join(filter(None, (translate(about), shown, epilog))),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )

    def _get_formatter(self) -> argparse.HelpFormatter:
        return _DeclaringFormatter() if self._declaring else super()._get_formatter()

    def add_argument(self, *names: Any, **options: Any) -> argparse.Action:
        self._declaring = True
        try:
            return super().add_argument(*names, **options)
        finally:
            self._declaring = False

    def add_command(self, name: str, about: str, run: Callable[..., int | None]) -> Parser:
        """Add a subcommand, which `run` carries out: the options that were read have it as `run`."""
        if self._commands is None:
            self._commands = self.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
        about = translate(about)
        added = self._commands.add_parser(name, help=about, description=about)
        added.set_defaults(run=run)
        return added

    def add_flag(self, name: str, about: str) -> None:
        self.add_argument(name, action="store_true", help=about)

    def add_output_format(self, about: str, *formats: str) -> None:
        """Add the option that says what is printed: text, or one of these formats."""
        self.add_argument("--output-format", choices=("text", *formats), default="text", help=about)

    def add_repeatable(self, name: str, metavar: str, about: str, *, dest: str | None = None) -> None:
        self.add_argument(name, dest=dest, metavar=metavar, action="append", default=[], help=about)

    def add_root(self) -> None:
        self.add_argument("--root", metavar="DIR", help="the project (default: the current directory)")

    def add_app_root(self) -> None:
        """Add the option of the seed's own commands."""
        about = translate("the project (default: EC_APP_ROOT, else the current directory)")
        self.add_argument("--root", metavar="DIR", default=os.environ.get("EC_APP_ROOT"), help=about)

    def add_allow(self) -> None:
        self.add_repeatable("--allow", "PATH", "allow one secret or control file by name (repeatable)")

    def add_model(self) -> None:
        self.add_argument("-m", "--model", metavar="M", help="model to use; provider/model names the provider, too")
        self.add_argument("--provider", choices=PROVIDERS, help="provider to use")

    def add_server(self, default_port: int) -> None:
        """Add the options that say where a server listens and whom it lets in."""
        self.add_host()
        about = translate("0 takes any free one (default: {port})", port=default_port)
        self.add_argument("--port", type=port_number, default=default_port, metavar="N", help=about)
        self.add_token()
        self.add_repeatable(
            "--allow-host",
            "NAME",
            "a name clients may call this machine by, when listening on all addresses (repeatable)",
        )

    def add_host(self) -> None:
        self.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")

    def add_token(self) -> None:
        self.add_argument(
            "--token", metavar="T", help="what clients must show; EC_TOKEN keeps it out of the process list"
        )

    def add_network(self) -> None:
        self.add_flag(
            "--allow-network", "let commands that ask for the network have it, this machine's own servers included"
        )

    def add_trust(self) -> None:
        self.add_flag("--trust", "let this project's configured checks, MCP servers, skills and commands be used")

    def add_references(self, about: str, metavar: str = "ID|#TAG") -> None:
        self.add_repeatable("--ref", metavar, about, dest="references")

    def add_version(self) -> None:
        self.add_flag("--version", "print the version and end")

    def add_answer(self) -> None:
        """Add the options that say what becomes of the answer."""
        self.add_argument("--output-last-message", metavar="FILE", help="write the answer into this file, too")
        self.add_argument(
            "--output-schema",
            metavar="FILE",
            help="answer with JSON that matches the schema in this file, or end with exit code 3",
        )

    def add_limits(self) -> None:
        """Add the limits of a task."""
        rounds = number_up_to(1_000_000)
        self.add_argument("--max-rounds", type=rounds, metavar="N", help="model calls that a task may make")
        self.add_argument("--timeout", type=positive_number, metavar="S", help="seconds that a task may take")
        self.add_argument("--max-cost", type=positive_number, metavar="USD", help="dollars that a task may cost")

    def _add_action(self, action: _Action) -> _Action:
        if action.help:
            action.help = translate(action.help)
        return super()._add_action(action)

    def parse_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        if Parser.is_described:
            raise ParserMet(self)
        return super().parse_args(args, namespace)

    def _print_message(self, message: str, file: Any = None) -> None:
        """argparse keeps it to itself when nobody could read it."""
        (file or sys.stderr).write(message)

    def error(self, message: str) -> NoReturn:
        raise UsageError("{message} (see {prog} --help)", message=message, prog=self.prog)


def port_number(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError(translate("expected a number from 0 to 65535"))
    return int(text)


def number_up_to(most: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or not 1 <= int(text) <= most:
            raise argparse.ArgumentTypeError(translate("expected a number from 1 to {most}", most=most))
        return int(text)

    return read


def write_last_message(path: str | None, text: str) -> None:
    if path:
        with naming(path), open(path, "w", encoding="utf-8", errors="replace", newline="") as file:
            file.write(text)


def positive_number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(translate("expected a number above 0"))
    return number


def refuse_open_door(host: str, token: str) -> None:
    from nebula.server.serving import is_loopback

    if not token and not is_loopback(host):
        raise UsageError("{host} can be reached by others: set EC_TOKEN (or --token), or bind to 127.0.0.1", host=host)


def checked_root(root: str | None) -> str:
    """Return the project's directory. Raises UsageError where there is none."""
    try:
        folder = os.path.abspath(root or ".")
    except FileNotFoundError:
        raise UsageError("the current directory is gone; go to another one") from None
    if not os.path.isdir(folder):
        raise UsageError("{root}: there is no such directory", root=root)
    return folder


def check_allowed(paths: Sequence[str]) -> None:
    """Refuse an --allow that names no file a project can have."""
    for path in paths:
        if os.path.isabs(path) or ".." in path.split("/"):
            raise UsageError("--allow {path}: give the path relative to the project", path=path)
        if os.path.normpath(path) == os.curdir:
            raise UsageError("The root itself cannot be allowed; name the files.")


def take_option(argv: Sequence[str], name: str) -> tuple[str | None, list[str]]:
    """Return the folder that an option names which may stand before a command or anywhere behind it, None where it is
    not there; and the words without it."""
    given: str | None = None
    rest: list[str] = []
    words = iter(argv)
    for word in words:
        if word == "--":
            rest += [word, *words]
        elif word == name:
            given = next(words, "")
        elif word.startswith(f"{name}="):
            given = word.partition("=")[2]
        else:
            rest.append(word)
    if given == "":
        raise UsageError("{option} needs a folder", option=name)
    return given, rest
