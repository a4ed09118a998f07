"""nebula race: runs the tries, shows them in the chosen format, and takes one where that was asked for."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

from nebula.agent.places.process import HostProcess
from nebula.agent.race import FIRST_PASSING
from nebula.agent.race.begin import RaceWish, prepare_race
from nebula.agent.race.judge import ask_opinion
from nebula.agent.race.outcome import TryOutcome, first_passing
from nebula.agent.race.race import Race
from nebula.agent.race.take import TakenSet, Wanted, take_tries
from nebula.cli.asking import is_attended
from nebula.cli.busy import busy
from nebula.cli.headless.run import interruptible
from nebula.cli.printing import columns_of, make_room, print_json, print_lines, print_remark, print_words, tell_remark
from nebula.cli.race.comparison import show_comparison
from nebula.cli.race.progress import RaceKeys, RaceLines
from nebula.cli.race.taking import offer_at_terminal, report_taken, take_exit_code, who_decides
from nebula.cli.race.view import reasons, result_table
from nebula.cli.settings import remark_on_trust, session_overrides
from nebula.cli.terminal.output.screen import screen_on
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, EXIT_POLICY
from nebula.events import Stamped, new_trace_id, now
from nebula.language import Sentence, explain, translate
from nebula.llm.errors import ModelError
from nebula.tools.contract import CancelledLate
from nebula.tools.permissions import YES_TO_ALL
from nebula.workspace.errors import RefusedByHook


class _RaceOutput:
    """The race as the command line shows it: lines, every event as JSON, or nothing before its end."""

    def __init__(self, output_format: str) -> None:
        self._format = output_format
        self._screen = screen_on(sys.stderr)
        self._keys = RaceKeys()
        ways = translate("Esc ends all · stop N ends one")
        self._lines = RaceLines(self._screen, lambda: self._keys.typed, ways)

    def hear(self, number: int, stamped: Stamped) -> None:
        if self._format == "text":
            self._lines.hear(number, stamped)
        elif self._format == "stream-json":
            print_json(stamped.to_json())

    def remark(self, sentence: Sentence) -> None:
        make_room()
        self._screen.line(f"nebula: {explain(sentence)}")

    @contextmanager
    def shown(self, race: Race) -> Iterator[None]:
        """Show the race for the length of the block; at a terminal Esc ends all tries, `stop 2` and Enter one."""
        if self._format != "text":
            yield
            return
        has_keys = self._screen.capable and sys.stdin.isatty()
        with self._keys.reading(race) if has_keys else nullcontext(), self._lines.shown():
            yield


async def run_race(options: argparse.Namespace, settings: Settings, wish: RaceWish, host: HostProcess) -> int:
    """Run a race to its end, in the places that `host` makes; return the exit code."""
    remark_on_trust("nebula", settings)
    output = _RaceOutput(options.output_format)
    with busy(Sentence("copying the project")):
        race = await prepare_race(settings, wish, output.hear, output.remark, host=host)
    tries: list[TryOutcome] = []
    taken: int | None = None
    opinion = ""
    is_text = options.output_format == "text"
    try:
        if options.take and not options.yes and not sys.stdin.isatty():
            print_remark(f"nebula: {translate('Nobody is there to ask: add --yes to take it.')}")
            return EXIT_POLICY
        with interruptible(settings, lambda _: None), output.shown(race):
            task = asyncio.current_task()
            tries = await race.run()
            interrupted = task is not None and task.cancelling() > 0
        if is_text:
            _print_results(race, tries)
        if interrupted:
            return EXIT_INTERRUPTED
        opinion = await _judge(settings, wish, race, tries) if wish.judge else ""
        if opinion and is_text:
            print_words(f"{translate('Opinion of {model}:', model=wish.judge)}\n{opinion}")
        code = EXIT_OK if any(each.final.status == "ok" for each in tries) else EXIT_FAILED
        if options.take:
            taken, code = await _take(options, settings, race, tries, code)
        elif is_text and is_attended() and any(each.files for each in tries):
            await offer_at_terminal(tries, race.workspace, settings)
        return code
    finally:
        if not is_text:
            print_json(_final(race, tries, taken) | ({"opinion": opinion} if wish.judge else {}))
        race.workspace.close()
        race.archive.close()


def _print_results(race: Race, tries: list[TryOutcome]) -> None:
    columns = columns_of(sys.stdout) if sys.stdout.isatty() else 0
    print_lines((*result_table(tries, race.archive.graph, columns=columns), *reasons(tries)))
    print_lines(show_comparison(tries, race.workspace.history))
    for each in tries:
        if each.final.status == "ok" and each.final.remark is not None:  # else it stands below the table
            print_remark(f"{each.number}: {explain(each.final.remark)}")
    if any(each.files for each in tries):
        tell_remark("To take one of them: nebula take NODE[:PATH]…")


async def _judge(settings: Settings, wish: RaceWish, race: Race, tries: list[TryOutcome]) -> str:
    """Return what the judge thinks; nothing where it could not be asked, which is told."""
    try:
        return await ask_opinion(settings, wish.judge, wish.prompt, tries, race.workspace)
    except ModelError as problem:
        print_remark(f"nebula: {explain(problem)}")
        return ""


async def _take(
    options: argparse.Namespace, settings: Settings, race: Race, tries: list[TryOutcome], code: int
) -> tuple[int | None, int]:
    """Take the try that `--take` names; return its number, if anything of it was taken, and the exit code."""
    chosen = first_passing(tries) if options.take == FIRST_PASSING else tries[int(options.take) - 1]
    if chosen is None:
        print_remark(f"nebula: {translate('No try passed the checks; nothing was taken.')}")
        return None, EXIT_FAILED
    node = await asyncio.to_thread(race.archive.find, chosen.node_id) if chosen.node_id else None
    if node is None:
        print_remark(f"nebula: {translate('Try {number} left nothing to take.', number=chosen.number)}")
        return None, EXIT_FAILED
    ask = who_decides(settings, yes=options.yes)
    try:
        done: TakenSet = await take_tries([Wanted(node.id, tuple(node.files))], race.workspace, ask, settings)
    except CancelledLate as late:  # it was told to end, and took it nevertheless
        done = late.outcome
    except RefusedByHook as refusal:
        print_remark(f"nebula: {explain(refusal)}")
        return None, EXIT_POLICY
    report_taken(done)
    return (chosen.number if done.decision.allowed else None), take_exit_code(done) or code


def _final(race: Race, tries: list[TryOutcome], taken: int | None) -> dict[str, Any]:
    return {
        "type": "final",
        "trace_id": new_trace_id(),
        "session_id": race.order.session_id,
        "seq": 1,
        "ts": now().isoformat(),
        "tries": [each.to_json() for each in tries],
        "taken": taken,
    }


def make_wish(options: argparse.Namespace, prompt: str) -> RaceWish:
    models = tuple(options.models.split(",")) if options.models is not None else None
    return RaceWish(
        prompt,
        options.tries,
        models,
        tuple(options.from_nodes),
        session_overrides(options),
        tuple(options.allow),
        options.judge or "",
        (YES_TO_ALL,) if options.yes else (),
    )
