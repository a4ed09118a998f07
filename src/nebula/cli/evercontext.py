"""evercontext: the seed's own command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nebula import __version__
from nebula.cli.arguments import Parser, UsageError, dispatch, unknown_command
from nebula.cli.error_boundary import error_boundary

COMMANDS = {
    "gateway": "nebula.cli.evercontext_commands.gateway:main",
}

_EPILOG = """\
commands (each has its own --help):
  gateway    the guarded files over REST

exit codes: 0 success, 1 failed, 2 refused by policy, 3 model output unusable, 64 bad usage, 130 interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    return error_boundary("evercontext", _run, sys.argv[1:] if argv is None else argv)


def _run(argv: Sequence[str]) -> int:
    if argv and argv[0] in COMMANDS:
        return dispatch(COMMANDS, argv[0], argv[1:])
    if argv and not argv[0].startswith("-"):
        return unknown_command("evercontext", argv[0], list(COMMANDS))
    if _parser().parse_args(argv).version:
        print(f"evercontext {__version__}")
        return 0
    raise UsageError(f"say which command to run: {', '.join(COMMANDS)} (see evercontext --help)")


def _parser() -> Parser:
    parser = Parser(
        "evercontext",
        "Plan, then carry out under guard, then keep the index in step.",
        epilog=_EPILOG,
        usage="evercontext COMMAND [options]",
    )
    parser.add_argument("--version", action="store_true", help="print the version and end")
    return parser
