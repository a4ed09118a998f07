"""Taking a try at the command line: the question, and what came of it."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from nebula.agent.judging import judged
from nebula.agent.race.outcome import TryOutcome
from nebula.agent.race.take import CannotTake, TakenSet, Wanted, take_tries
from nebula.cli.printing import print_lines, print_remark, tell_remark
from nebula.cli.race.comparison import show_comparison
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_OK, EXIT_POLICY, NebulaError
from nebula.events import Approval
from nebula.language import agrees, explain, translate
from nebula.stage import fit_to_decide
from nebula.stage.questions import name_change
from nebula.tools.approval import Approver, Decision, allow_all
from nebula.workspace.local import LocalWorkspace

NO_PATH = "{word}: name a file or a folder after the colon."


def who_decides(settings: Settings, *, yes: bool = False) -> Approver:
    """Return who is asked about what is taken, and the user's hooks after that: the person at the terminal, or nobody
    where they said `yes` ahead."""
    return judged(allow_all if yes else partial(_ask_at_terminal, settings.lang), settings)


async def _ask_at_terminal(lang: str, question: Approval) -> Decision:
    shown = fit_to_decide(question, lang)
    for change in shown.changes:
        print_lines((name_change(change), *change.diff.splitlines()))
    for remark in shown.remarks:
        print_remark(explain(remark))
    print_remark(translate("Take these {count} files? (y/N): ", count=len(question.changes)), end="")
    return Decision(agrees(await asyncio.to_thread(sys.stdin.readline)))


def describe_taken(done: TakenSet) -> Iterator[tuple[str, str]]:
    """Yield what was taken and what was not, line by line, each with its style: yellow for what was not."""
    yield from ((explain(each), "yellow") for each in done.remarks)
    if done.decision.allowed:
        yield from ((f"{each.path} (+{each.added} −{each.removed})", "") for each in done.applied)
        if not done.applied and done.is_whole:
            yield translate("The project has all of it already."), ""
    if done.conflicts:
        paths = ", ".join(done.conflicts)
        yield translate("Left out, because it changed in the project meanwhile: {paths}.", paths=paths), "yellow"
    yield from ((explain(each), "yellow") for each in done.left_out)


def report_taken(done: TakenSet) -> None:
    for line, style in describe_taken(done):
        print_remark(f"nebula: {line}" if style else line)
    if not done.decision.allowed:
        tell_remark("nebula: Nothing was taken.")


def take_exit_code(done: TakenSet) -> int:
    if not done.decision.allowed:
        return EXIT_POLICY
    return EXIT_OK if done.is_whole else EXIT_FAILED


def read_wanted(tries: Mapping[int, TryOutcome], words: Sequence[str]) -> list[Wanted]:
    """Return what the words of /take name: `2`, `2 PATH…`, or `2:PATH 3:PATH`. Raises CannotTake."""
    paths: dict[int, list[str]] = {}
    last = 0
    for word in words:
        number, colon, path = word.partition(":")
        if colon and not path:
            raise CannotTake(NO_PATH, word=word)
        if number.isdecimal() and (colon or not last):
            last = int(number)
            paths.setdefault(last, []).extend([path] if path else [])
        elif last:
            paths[last].append(word)
        else:
            raise CannotTake("Name a try by its number: /take 2")
    wanted = []
    for try_number, named in paths.items():
        found = tries.get(try_number)
        if found is None or found.node_id is None:
            raise CannotTake("There is no try {number} to take.", number=try_number)
        wanted.append(Wanted(found.node_id, found.files, tuple(named)))
    if not wanted:
        raise CannotTake("Name a try by its number: /take 2")
    return wanted


async def offer_at_terminal(tries: Sequence[TryOutcome], workspace: LocalWorkspace, settings: Settings) -> list[int]:
    """Let the person at the terminal take tries, whole or in parts, until an empty line; return their numbers."""
    by_number = {each.number: each for each in tries}
    taken: list[int] = []
    while True:
        print_remark(translate("take 2, take 2:src/a.py 3:tests/, compare src/a.py, or Enter leaves them: "), end="")
        words = (await asyncio.to_thread(sys.stdin.readline)).split()
        if not words:
            return taken
        if words[0] == "compare":
            print_lines(show_comparison(tries, workspace.history, words[1:] or [""]))
            continue
        try:
            wanted = read_wanted(by_number, words[1:] if words[0] == "take" else words)
            done = await take_tries(wanted, workspace, who_decides(settings), settings)
        except NebulaError as problem:
            print_remark(f"nebula: {explain(problem)}")
            continue
        report_taken(done)
        if done.applied:
            names = {each.node_id for each in wanted}
            taken += [each.number for each in tries if each.node_id in names]
