"""Taking a try at the command line: the question, and what came of it."""

from __future__ import annotations

import asyncio
import sys

from nebula.agent.race.take import Taken
from nebula.cli.printing import print_line, print_remark, print_words
from nebula.errors import EXIT_FAILED, EXIT_OK, EXIT_POLICY
from nebula.events import Approval
from nebula.language import explain, translate
from nebula.tools.approval import Decision, agrees


async def ask_at_terminal(question: Approval) -> Decision:
    """Show the changes and ask the person at the terminal."""
    for change in question.changes:
        print_words(change.diff or change.path)
    for remark in question.remarks:
        print_remark(explain(remark))
    print_remark(translate("Take these {count} files? (y/N): ", count=len(question.changes)), end="")
    return Decision(agrees(await asyncio.to_thread(sys.stdin.readline)))


def report_taken(done: Taken) -> None:
    """Say what was taken and what was not."""
    if not done.decision.allowed:
        print_remark(translate("nebula: Nothing was taken."))
    for each in done.applied:
        print_remark(f"{each.path} (+{each.added} −{each.removed})")
    if done.conflicts:
        paths = ", ".join(done.conflicts)
        said = translate("Left out, because it changed in the project meanwhile: {paths}.", paths=paths)
        print_remark(f"nebula: {said}")
    for sentence in done.left_out:
        print_remark(f"nebula: {sentence}")
    if done.decision.allowed and not done.applied and done.is_whole:
        print_line(translate("The project has all of it already."))


def take_exit_code(done: Taken) -> int:
    if not done.decision.allowed:
        return EXIT_POLICY
    return EXIT_OK if done.is_whole else EXIT_FAILED
