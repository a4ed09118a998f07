"""nebula config: every setting, where it comes from, and a way to change one's own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.printing import print_json, print_line
from nebula.cli.settings import open_project, origin_of, shown_origin
from nebula.cli.terminal.output.width import pad
from nebula.config import ConfigError, Settings, save_choice
from nebula.config.settings import NOBODY, TABLE
from nebula.files.home import nebula_home
from nebula.files.untrusted_json import parse_json
from nebula.language import translate
from nebula.stage import one_line

WORDS = {"list": "list", "get": "get KEY", "set": "set KEY VALUE", "unset": "unset KEY", "path": "path"}


def main(argv: Sequence[str]) -> None:
    options = _parser().parse_args(argv)
    _check_words(options)
    settings = _open(options)
    if options.action == "path":
        print_line(settings.config_path)
    elif options.action == "list":
        _print_all(settings, options.json)
    elif options.action == "get":
        _print_one(settings, _known(options.key), options.json)
    elif options.action == "set":
        _set(settings, _settable(options.key), options.value)
    else:
        save_choice(settings, **{_settable(options.key): None})


def _open(options: argparse.Namespace) -> Settings:
    """Return the settings; where the user's file says something wrong, what is enough to put it right."""
    try:
        return open_project("nebula", options)
    except ConfigError:
        if options.action not in ("path", "set", "unset"):
            raise
        return Settings(home=nebula_home())


def _parser() -> Parser:
    parser = Parser(
        "nebula config",
        "Every setting with its value and the layer that won; `set` and `unset` change your own config.json.",
        examples=("nebula config", "nebula config get model", "nebula config set lang ja", "nebula config unset lang"),
    )
    parser.add_argument("action", nargs="?", choices=tuple(WORDS), default="list")
    parser.add_argument("key", nargs="?", metavar="KEY")
    parser.add_argument("value", nargs="?", metavar="VALUE", help="as it is, or as JSON")
    parser.add_root()
    parser.add_flag("--json", "print values and origins as JSON")
    return parser


def _check_words(options: argparse.Namespace) -> None:
    given = sum(each is not None for each in (options.key, options.value))
    if given != WORDS[options.action].count(" "):
        raise UsageError("say it as: nebula config {words}", words=WORDS[options.action])


def _print_all(settings: Settings, as_json: bool) -> None:
    if as_json:
        print_json({name: _as_json(settings, name) for name in TABLE})
        return
    for name in TABLE:
        print_line(f"{name:20} {pad(one_line(settings.shown(name)) or '-', 40)} {shown_origin(settings, name)}")


def _print_one(settings: Settings, name: str, as_json: bool) -> None:
    if as_json:
        print_json(_as_json(settings, name))
    else:
        print_line(settings.shown(name))


def _as_json(settings: Settings, name: str) -> dict[str, Any]:
    found = getattr(settings, name)
    is_plain = isinstance(found, bool | int | float | tuple) and not TABLE[name].secret
    return {"value": found if is_plain else settings.shown(name), "origin": origin_of(settings, name)}


def _known(name: str) -> str:
    if name not in TABLE:
        raise UsageError("there is no setting '{name}'; `nebula config` lists them", name=name)
    return name


def _settable(name: str) -> str:
    declared = TABLE[_known(name)]
    if declared.file == NOBODY:
        variables = " or ".join(declared.variables) or translate("the command line")
        raise UsageError("'{name}' is never kept in a file; set it by {variables}", name=name, variables=variables)
    return name


def _set(settings: Settings, name: str, text: str) -> None:
    """Save a setting from what people type: a word, a number, true, a list with commas, or JSON."""
    problem: ConfigError | None = None
    for candidate in _readings(text):
        try:
            TABLE[name].check(candidate)
        except ConfigError as error:
            problem = error
        else:
            save_choice(settings, **{name: candidate})
            return
    raise UsageError("'{name}' cannot be '{text}': {problem}", name=name, text=text, problem=problem)


def _readings(text: str) -> list[Any]:
    try:
        return [parse_json(text), text]
    except ValueError:
        return [text, [each.strip() for each in text.split(",")]]
