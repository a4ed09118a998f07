"""evercontext: the seed's own command."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.error_boundary import error_boundary
from nebula.cli.nebula import exit_codes
from nebula.cli.program import Subcommand, list_commands, run_words

COMMANDS = {
    "run": Subcommand(".run", "plan a task, carry it out, check and repair it"),
    "plan": Subcommand(".plan", "only plan a task, and measure how far plans agree"),
    "gateway": Subcommand(".gateway", "the guarded files over REST"),
    "rag": Subcommand(".rag", "the code index over REST"),
    "hook": Subcommand(".hook", "hand every commit over to the code index"),
    "batch": Subcommand(".batch", "many tasks, each in its own copy of its project"),
    "kpi": Subcommand("..figures.kpi:main_of_evercontext", "how well tasks go and what they cost"),
}


def main(argv: Sequence[str] | None = None) -> int:
    with error_boundary("evercontext", argv) as command:
        command.exit_code = run_words("evercontext", command.words, COMMANDS, run_command, make_parser)
    return command.exit_code


def run_command(name: str, words: Sequence[str]) -> int | None:
    return COMMANDS[name].load("nebula.cli.evercontext_commands")(words)


def make_parser() -> Parser:
    parser = Parser(
        "evercontext",
        "Plan, then carry out under guard, then keep the index in step.",
        epilog=f"{list_commands(COMMANDS)}\n\n{exit_codes()}",
        usage="evercontext COMMAND [options]",
    )
    parser.add_version()
    return parser
