"""evercontext: the seed's own command."""

from __future__ import annotations

from collections.abc import Sequence

from nebula import __version__
from nebula.cli.arguments import Parser, command_list, dispatch, no_command, unknown_command, version_option
from nebula.cli.error_boundary import error_boundary
from nebula.cli.nebula import exit_codes
from nebula.cli.printing import print_line
from nebula.language import translate

COMMANDS = {
    "run": "nebula.cli.evercontext_commands.run:main",
    "plan": "nebula.cli.evercontext_commands.plan:main",
    "gateway": "nebula.cli.evercontext_commands.gateway:main",
    "rag": "nebula.cli.evercontext_commands.rag:main",
    "hook": "nebula.cli.evercontext_commands.hook:main",
    "batch": "nebula.cli.evercontext_commands.batch:main",
    "kpi": "nebula.cli.evercontext_commands.kpi:main",
}


def main(argv: Sequence[str] | None = None) -> int:
    with error_boundary("evercontext", argv) as command:
        command.exit_code = _run(command.words)
    return command.exit_code


def _run(argv: Sequence[str]) -> int:
    if argv and argv[0] in COMMANDS:
        return dispatch(COMMANDS, argv[0], argv[1:])
    if argv and not argv[0].startswith("-"):
        raise unknown_command(argv[0], list(COMMANDS))
    if _parser().parse_args(argv).version:
        print_line(f"evercontext {__version__}")
        return 0
    raise no_command("evercontext", list(COMMANDS))


def _parser() -> Parser:
    commands = {
        "run": translate("plan a task, carry it out, check and repair it"),
        "plan": translate("only plan a task, and measure how far plans agree"),
        "gateway": translate("the guarded files over REST"),
        "rag": translate("the code index over REST"),
        "hook": translate("hand every commit over to the code index"),
        "batch": translate("many tasks, each in a place of its own"),
        "kpi": translate("how well tasks go and what they cost"),
    }
    parser = Parser(
        "evercontext",
        translate("Plan, then carry out under guard, then keep the index in step."),
        epilog=f"{command_list(commands)}\n\n{exit_codes()}\n",
        usage="evercontext COMMAND [options]",
    )
    version_option(parser)
    return parser
