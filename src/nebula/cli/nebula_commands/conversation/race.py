"""nebula race: the same task tried several times side by side, each try in its own copy of the project."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Sequence

from nebula.agent.places.process import HostProcess
from nebula.agent.race import ATTEMPT, FIRST_PASSING
from nebula.cli.arguments import Parser, UsageError, check_allowed, checked_root


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    check_allowed(options.allow)
    checked_root(options.root)
    with HostProcess(ATTEMPT) as host:
        return _run(options, host)


def _run(options: Namespace, host: HostProcess) -> int:
    import asyncio  # all of this while the other process loads what the tries need

    from nebula.agent.race.begin import name_entrants
    from nebula.cli.headless.prompt import read_prompt
    from nebula.cli.race.run import make_wish, run_race
    from nebula.cli.settings import open_project

    tries = name_entrants(options.tries, options.models.split(",") if options.models is not None else None)
    _check_take(options, len(tries))
    prompt, _ = read_prompt(options.task)
    settings = open_project("nebula", options)
    return asyncio.run(run_race(options, settings, make_wish(options, prompt), host))


def _check_take(options: Namespace, tries: int) -> None:
    named = options.take
    if named is None or named == FIRST_PASSING:
        return
    if not named.isdecimal() or not 1 <= int(named) <= tries:
        raise UsageError("--take names a try from 1 to {most}, or {first}", most=tries, first=FIRST_PASSING)


def _number(text: str) -> int:
    if not text.isdecimal():
        raise UsageError("--tries needs a number, not {text}", text=text)
    return int(text)


def _parser() -> Parser:
    parser = Parser(
        "nebula race",
        "Tries the same task several times side by side; the project is not touched until one is taken.",
        about=(
            "Each try works in its own copy of the project as it is now, and becomes a node of the graph.\n"
            "Compare them when they are done, and take one whole or in parts, now or later (nebula take)."
        ),
    )
    parser.add_argument("task", metavar="TASK", help="what to do; - reads it from standard input")
    parser.add_argument("--tries", type=_number, metavar="N", help="how often the configured model tries it")
    parser.add_argument("--models", metavar="A,B", help="one try for each of these models")
    parser.add_repeatable("--from", "NODE", "continue from this node (repeatable)", dest="from_nodes")
    parser.add_argument("--judge", metavar="MODEL", help="ask this model for its opinion of the tries")
    parser.add_argument("--take", metavar="N", help="take this try at the end, or first-passing")
    parser.add_flag("--yes", "take without a question")
    parser.add_output_format("how to print it", "json", "stream-json")
    parser.add_root()
    parser.add_model()
    parser.add_trust()
    parser.add_allow()
    parser.add_network()
    return parser
