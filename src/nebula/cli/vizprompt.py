"""vizprompt: the conversation graph from the shell, under the names of its specification."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from nebula.cli.arguments import Parser, UsageError, take_option
from nebula.cli.error_boundary import error_boundary
from nebula.cli.program import Subcommand, list_commands, run_words
from nebula.language import translate

DEFAULT_DATA_DIR = "project"
DATA_DIR_VARIABLE = "VIZPROMPT_DATA_DIR"

COMMANDS = {
    "create-node": Subcommand(".create_node", "store a prompt and its answer as a node"),
    "search": Subcommand(".search", "find nodes by tag, keyword and text"),
    "flow": Subcommand(".flow", "make, list, show and rewire flows"),
    "node": Subcommand(".node", "list, show, edit, mark and delete nodes"),
    "tag": Subcommand(".tag", "list tags, rename or merge them everywhere"),
    "undo": Subcommand(".undo:undo", "take back what the last command changed"),
    "redo": Subcommand(".undo:redo", "do again what was undone last"),
    "build": Subcommand(".build", "make summaries and tags, by a model or as extracts"),
    "check": Subcommand(".check", "find (and fix) what is wrong in the files"),
    "context": Subcommand(".context", "a path as one text to give to any model"),
    "export": Subcommand(".export", "a part of the conversation as Markdown, HTML or JSON"),
    "chat": Subcommand(".chat", "talk to a model; every exchange becomes a node"),
    "serve": Subcommand(".serve", "the graph as a web page and over WebSocket"),
}


def main(argv: Sequence[str] | None = None) -> int:
    with error_boundary("vizprompt", argv) as command:
        given, words = take_option(command.words, "--data-dir")
        run = partial(run_command, data_dir=_data_dir(given))
        command.exit_code = run_words("vizprompt", words, COMMANDS, run, make_parser)
    return command.exit_code


def run_command(name: str, words: Sequence[str], data_dir: str = ".", prog: str = "vizprompt") -> int | None:
    """Run a command on the graph in a folder; `prog` is what stands before its name."""
    return COMMANDS[name].load("nebula.cli.vizprompt_commands")(data_dir, words, f"{prog} {name}")


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
        about=f"{list_commands(COMMANDS)}\n\n{place}",
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
    parser.add_version()
    return parser
