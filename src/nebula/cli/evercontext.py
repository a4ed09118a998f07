"""evercontext: the seed's own command."""

from __future__ import annotations

from collections.abc import Sequence

from nebula import __version__
from nebula.cli.arguments import Parser, command_list, dispatch, no_command, unknown_command, version_option
from nebula.cli.error_boundary import error_boundary
from nebula.cli.nebula import exit_codes
from nebula.cli.printing import print_line
from nebula.language import Sentence

COMMANDS = {
    "run": Sentence("plan a task, carry it out, check and repair it"),
    "plan": Sentence("only plan a task, and measure how far plans agree"),
    "gateway": Sentence("the guarded files over REST"),
    "rag": Sentence("the code index over REST"),
    "hook": Sentence("hand every commit over to the code index"),
    "batch": Sentence("many tasks, each in a place of its own"),
    "kpi": Sentence("how well tasks go and what they cost"),
}


def main(argv: Sequence[str] | None = None) -> int:
    with error_boundary("evercontext", argv) as command:
        command.exit_code = _run(command.words)
    return command.exit_code


def _run(argv: Sequence[str]) -> int:
    if argv and argv[0] in COMMANDS:
        return dispatch("nebula.cli.evercontext_commands", argv[0], argv[1:])
    if argv and not argv[0].startswith("-"):
        raise unknown_command(argv[0], list(COMMANDS))
    if make_parser().parse_args(argv).version:
        print_line(f"evercontext {__version__}")
        return 0
    raise no_command("evercontext", list(COMMANDS))


def make_parser() -> Parser:
    parser = Parser(
        "evercontext",
        "Plan, then carry out under guard, then keep the index in step.",
        epilog=f"{command_list(COMMANDS)}\n\n{exit_codes()}",
        usage="evercontext COMMAND [options]",
    )
    version_option(parser)
    return parser
