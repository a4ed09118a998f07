"""nebula commit: a message for what is staged, from the turns behind it; then the user's own git commits."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence
from contextlib import aclosing, closing

from nebula.agent.assembly import graph_opener
from nebula.agent.commits.message import propose_message
from nebula.agent.commits.staged import StagedFile, staged_diff, staged_files, turns_behind
from nebula.agent.recording.turn_archive import TurnArchive
from nebula.cli.arguments import Parser
from nebula.cli.asking import ask, is_attended
from nebula.cli.printing import print_line, print_words, tell_remark
from nebula.cli.settings import open_project
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_OK
from nebula.language import agrees, translate_count
from nebula.llm.choose import choose_model
from nebula.messages.redaction import Redactor
from nebula.stage import one_line

EDIT = ("e", "edit", "編集")


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        "nebula commit",
        "Proposes a message for what is staged, and commits.",
        about=(
            "The message comes from the prompts of the turns behind what is staged. Your own git makes the commit,\n"
            "with your hooks; nothing is added to the message. Without a terminal and --yes it is only printed."
        ),
    )
    parser.add_root()
    parser.add_argument("-m", "--model", metavar="M", help="model to use; provider/model names the provider, too")
    parser.add_flag("--yes", "commit without a question")
    options = parser.parse_args(argv)
    settings = open_project("nebula", options)

    files = staged_files(settings.root)
    if not files:
        tell_remark("nebula: Nothing is staged. Choose what to commit with git add.")
        return EXIT_FAILED
    message = asyncio.run(_propose(settings, files))
    print_words(message)
    if options.yes:
        return _commit(settings.root, message)
    if not is_attended():
        return EXIT_OK
    return _ask(settings.root, message, len(files))


async def _propose(settings: Settings, files: Sequence[StagedFile]) -> str:
    with closing(TurnArchive(graph_opener(settings), read_only=True)) as archive:
        nodes = map(archive.find, turns_behind(settings.root, files))
        prompts = [node.prompt for node in nodes if node is not None]
    chosen = await choose_model(settings)
    async with aclosing(chosen.connector):
        diff = staged_diff(settings.root, files)
        return await propose_message(chosen, files, diff, prompts, Redactor(settings.secrets))


def _ask(root: str, message: str, files: int) -> int:
    print_line()
    question = translate_count(
        files,
        "Commit 1 file with this message? (y/N, e: edit it first): ",
        "Commit {count} files with this message? (y/N, e: edit it first): ",
    )
    answer = ask(question)
    if answer.lower() in EDIT:
        return _commit(root, message, edit=True)
    if agrees(answer):
        return _commit(root, message)
    tell_remark("Nothing was committed.")
    return EXIT_FAILED


def _commit(root: str, message: str, *, edit: bool = False) -> int:
    """Run the user's own git, as they would at the prompt: with their settings, hooks and signature."""
    how = ["-e", "-m", message] if edit else ["-m", message]
    try:
        ended = subprocess.run(["git", "commit", *how], cwd=root, check=False)
    except OSError as problem:
        tell_remark("nebula: git could not be run: {problem}", problem=one_line(str(problem)))
        return EXIT_FAILED
    return EXIT_OK if ended.returncode == 0 else EXIT_FAILED
