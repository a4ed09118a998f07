"""vizprompt: the conversation graph from the shell, under the names of its specification."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula import __version__
from nebula.cli.arguments import (
    Parser,
    UsageError,
    command_list,
    no_command,
    take_option,
    unknown_command,
    version_option,
)
from nebula.cli.error_boundary import error_boundary
from nebula.cli.printing import print_line
from nebula.language import Sentence, translate

DEFAULT_DATA_DIR = "project"
DATA_DIR_VARIABLE = "VIZPROMPT_DATA_DIR"

COMMANDS = {
    "create-node": Sentence("store a prompt and its answer as a node"),
    "search": Sentence("find nodes by tag, keyword and text"),
    "flow": Sentence("make, list, show and rewire flows"),
    "node": Sentence("list, show, edit, mark and delete nodes"),
    "tag": Sentence("list tags, rename or merge them everywhere"),
    "undo": Sentence("take back what the last command changed"),
    "redo": Sentence("do again what was undone last"),
    "build": Sentence("make summaries and tags, by a model or as extracts"),
    "check": Sentence("find (and fix) what is wrong in the files"),
    "context": Sentence("a path as one text to give to any model"),
    "export": Sentence("a part of the conversation as Markdown, HTML or JSON"),
    "chat": Sentence("talk to a model; every exchange becomes a node"),
    "serve": Sentence("the graph as a web page and over WebSocket"),
}


def main(argv: Sequence[str] | None = None) -> int:
    with error_boundary("vizprompt", argv) as command:
        command.exit_code = _run(command.words)
    return command.exit_code


def _run(argv: Sequence[str]) -> int:
    given, rest = take_option(argv, "--data-dir")
    data_dir = _data_dir(given)
    if rest and rest[0] in COMMANDS:
        return run_command(rest[0], data_dir, rest[1:], f"vizprompt {rest[0]}")
    if rest and not rest[0].startswith("-"):
        raise unknown_command(rest[0], list(COMMANDS))
    if make_parser().parse_args(rest).version:
        print_line(f"vizprompt {__version__}")
        return 0
    raise no_command("vizprompt", list(COMMANDS))


def run_command(name: str, data_dir: str, argv: Sequence[str], prog: str) -> int:
    """Each module has `main(data_dir, argv, prog)`; it is imported when it is asked for."""
    from importlib import import_module

    module = import_module(f"nebula.cli.vizprompt_commands.{name.replace('-', '_')}")
    code: int = module.main(data_dir, argv, prog)
    return code


def _data_dir(given: str | None) -> str:
    folder = given or os.environ.get(DATA_DIR_VARIABLE) or DEFAULT_DATA_DIR
    if os.path.exists(folder) and not os.path.isdir(folder):
        raise UsageError("{folder} is not a folder", folder=folder)
    return folder


def make_parser() -> Parser:
    place = translate(
        "The data lies in ./{folder} unless --data-dir or {variable} says otherwise.",
        folder=DEFAULT_DATA_DIR,
        variable=DATA_DIR_VARIABLE,
    )
    parser = Parser(
        "vizprompt",
        "Conversations as a graph of prompt/answer nodes in plain text files.",
        about=f"{command_list(COMMANDS)}\n\n{place}",
        examples=(
            "vizprompt create-node --prompt-file input.txt --response-file output.txt",
            'vizprompt search --tags "tag1,tag2"',
            "vizprompt flow show main",
            "vizprompt chat --ollama -m qwen3:8b",
        ),
        epilog=translate("exit codes: 0 success, 1 failed or not found, 64 bad usage, 130 interrupted"),
        usage="vizprompt [--data-dir DIR] COMMAND [options]",
    )
    parser.add_argument(
        "--data-dir",
        metavar="DIR",
        help=translate("where the graph lies (default: ./{folder})", folder=DEFAULT_DATA_DIR),
    )
    version_option(parser)
    return parser
