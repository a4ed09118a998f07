"""nebula: the umbrella command."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nebula import __version__
from nebula.cli.arguments import Parser, UsageError, check_allowed, dispatch, root_option, unknown_command
from nebula.cli.error_boundary import error_boundary

COMMANDS = {
    "serve": "nebula.cli.nebula_commands.serve:main",
    "mcp": "nebula.cli.nebula_commands.mcp:main",
    "sessions": "nebula.cli.nebula_commands.sessions:main",
    "graph": "nebula.cli.nebula_commands.graph:main",
    "doctor": "nebula.cli.nebula_commands.doctor:main",
    "demo": "nebula.cli.nebula_commands.demo:main",
}

_EPILOG = """\
commands (each has its own --help):
  serve      the conversation as a web page, agent included
  mcp        the guarded file tools over the Model Context Protocol
  sessions   the sessions of this directory
  graph      the conversation graph of this directory
  doctor     which models can be reached, and where each setting comes from
  demo       a recorded conversation on a sample project; no key and no network needed

exit codes: 0 success, 1 failed, 2 refused by policy, 3 model output unusable, 64 bad usage, 130 interrupted
"""


def main(argv: Sequence[str] | None = None) -> int:
    return error_boundary("nebula", _run, sys.argv[1:] if argv is None else argv)


def _run(argv: Sequence[str]) -> int:
    if argv and argv[0] in COMMANDS:
        return dispatch(COMMANDS, argv[0], argv[1:])
    if argv and not argv[0].startswith("-"):
        return unknown_command("nebula", argv[0], list(COMMANDS))
    options = _parser().parse_args(argv)
    if options.version:
        print(f"nebula {__version__}")
        return 0
    check_allowed(options.allow)
    if options.prompt is None:
        if options.output_format != "text":
            raise UsageError('--output-format needs a prompt: add -p "task"')
        from nebula.cli.interactive import run_interactive

        return run_interactive(options)
    from nebula.cli.headless import run_headless

    return run_headless(options)


def _parser() -> Parser:
    parser = Parser(
        "nebula",
        "A coding agent. Without -p: an interactive session in the current directory.",
        epilog=_EPILOG,
        usage='nebula [-p "task"] [options]\n       nebula COMMAND [options]',
    )
    parser.add_argument(
        "-p", "--print", dest="prompt", metavar="TASK", help="do one task and end; '-' reads it from standard input"
    )
    parser.add_argument(
        "--mode", choices=("plan", "agent"), help="plan only looks and plans; agent (default) also writes"
    )
    parser.add_argument("--yes", action="store_true", help="allow ordinary writes without asking")
    parser.add_argument(
        "--allow",
        metavar="PATH",
        action="append",
        default=[],
        help="allow one secret or control file by name (repeatable)",
    )
    parser.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        help="what -p prints (default: text)",
    )
    parser.add_argument("-m", "--model", metavar="M", help="model to use; provider/model says it outright")
    parser.add_argument("--provider", choices=("openai", "gemini", "ollama"), help="provider to use")
    parser.add_argument(
        "-c", "--continue", dest="continue_last", action="store_true", help="go on with this directory's newest session"
    )
    parser.add_argument(
        "-r", "--resume", metavar="ID", nargs="?", const="", help="go on with a session (without ID: the newest)"
    )
    parser.add_argument(
        "--from",
        dest="from_nodes",
        metavar="NODE",
        action="append",
        default=[],
        help="continue from a node of the conversation graph (repeatable: merge)",
    )
    root_option(parser)
    parser.add_argument("--backstage", action="store_true", help="show the tools at work (on stderr with -p)")
    parser.add_argument("--trust", action="store_true", help="let this project's configured checks run")
    parser.add_argument("--version", action="store_true", help="print the version and end")
    return parser
