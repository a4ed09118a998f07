"""evercontext batch: many tasks, each in its own copy of its project."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout
from functools import partial
from typing import Any

from nebula.agent.batch.outcome import TaskOutcome
from nebula.agent.batch.places import TaskPlaces
from nebula.agent.batch.ray_engine import RayEngine
from nebula.agent.batch.reports import format_junit, format_predictions, score_models, with_one_name
from nebula.agent.batch.results import Results
from nebula.agent.batch.run import Engine, LocalEngine, run_batch
from nebula.agent.batch.task_file import BadTaskFile, BatchTask, read_task_file
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.orchestrator.models import GEMINI_COMMAND
from nebula.agent.race.begin import BadRace, check_model
from nebula.cli.arguments import Parser, UsageError, checked_root, number_up_to, positive_number
from nebula.cli.evercontext_commands.batch_view import BatchView, compare_results, print_scores, print_table
from nebula.cli.headless.signals import Signals
from nebula.cli.printing import print_json, print_remark, tell_remark
from nebula.cli.settings import open_settings
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED
from nebula.files.descriptors import naming
from nebula.language import translate, translate_count

MOST_PARALLEL = 1_000
_FORM = '{"task": "…", "root"?: "…", "id"?: "…", "planner"?: "…", "executor"?: "…", "plan"?: {…}}'
_FORM += '\n  {"task": "…", "ref"?: "…", "checks"?: […], "setup"?: "…", "env"?: {…}, "tries"?: N, "models"?: […]}'


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    if options.compare is not None:
        compare_results(*options.compare, as_json=options.json)
        return 0
    if options.tasks is None:
        raise UsageError("name the file of tasks, or two folders of results with --compare")
    root = checked_root(options.root) if options.root else None
    said = {"planner": options.planner, "executor": options.executor, "trust": options.trust or None}
    said["allow_network"] = options.allow_network or None
    settings = open_settings("evercontext", root, said)
    models = _read_models(options.models)
    tasks = read_task_file(options.tasks, root, models)
    if not options.on:  # the machines of a cluster reach models of their own
        asyncio.run(_check_models(tasks, settings))
    with closing(Results(options.out or os.path.splitext(options.tasks)[0] + ".results")) as results:
        return asyncio.run(_run(tasks, results, said, options))


async def _check_models(tasks: Sequence[BatchTask], settings: Settings) -> None:
    """Raise BadTaskFile where nobody has a model that a task names, before any of them is begun."""
    lines = {name: task.line for task in reversed(tasks) for name in (task.planner, task.executor) if name}
    for name, number in lines.items():
        if name.partition("/")[0] != GEMINI_COMMAND:
            try:
                await check_model(settings, name)
            except BadRace as problem:
                raise BadTaskFile("line {number}: {problem}", number=number, problem=problem) from None


async def _run(tasks: list[BatchTask], results: Results, said: dict[str, Any], options: argparse.Namespace) -> int:
    done = results.done(tasks, again=options.again)
    waiting = [task for task in tasks if task.id not in done]
    if done:
        before = "1 task was done before; its result stands.", "{count} tasks were done before; their results stand."
        print_remark(translate_count(len(done), *before))
    view = BatchView(len(tasks), len(done))
    started = time.monotonic()
    places = TaskPlaces(waiting, results.folder, lambda said: print_remark(str(said)))
    try:
        with _engine(results, places, said, options) as engine:
            work = asyncio.create_task(run_batch(waiting, options.parallel, engine, view, options.max_total_cost))
            with Signals(work.cancel):
                fresh = {outcome.id: outcome for outcome in await work}
    except asyncio.CancelledError:
        view.close()
        tell_remark("Interrupted: what has ended is kept, the same command goes on with the rest.")
        return EXIT_INTERRUPTED
    finally:
        await asyncio.to_thread(places.close)
    view.close()
    outcomes = with_one_name([fresh.get(task.id) or done[task.id] for task in tasks])
    _write_reports(outcomes, results, options)
    if options.json:
        print_json(_report(outcomes, results))
    else:
        print_table(outcomes, time.monotonic() - started)
        if any(outcome.group for outcome in outcomes):
            print_scores(score_models(outcomes))
        tell_remark("Patches and traces: {folder}", folder=results.folder)
    return 0 if all(outcome.exit_code == 0 for outcome in outcomes) else EXIT_FAILED


def _report(outcomes: Sequence[TaskOutcome], results: Results) -> dict[str, Any]:
    ok = sum(outcome.exit_code == 0 for outcome in outcomes)
    tasks = [{**outcome.to_json(), "patch": results.patch(outcome.id)} for outcome in outcomes]
    models = [each.to_json() for each in score_models(outcomes)]
    return {"ok": ok, "failed": len(outcomes) - ok, "results": results.folder, "models": models, "tasks": tasks}


def _write_reports(outcomes: Sequence[TaskOutcome], results: Results, options: argparse.Namespace) -> None:
    """Write the files that were asked for."""
    for path, text in (
        (options.predictions, partial(format_predictions, outcomes, results)),
        (options.junit, partial(format_junit, outcomes)),
    ):
        if path:
            with naming(path), open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text())


def _read_models(text: str | None) -> list[str]:
    models = [name.strip() for name in text.split(",")] if text is not None else []
    if not all(models):
        raise UsageError("a model's name is missing in --models")
    return models


@contextmanager
def _engine(
    results: Results, places: TaskPlaces, said: dict[str, Any], options: argparse.Namespace
) -> Iterator[Engine]:
    limits = TaskLimits(options.max_rounds, options.timeout, options.max_cost)
    if not options.on:
        yield LocalEngine(results, places, said, options.keep, limits)
        return
    with redirect_stdout(sys.stderr), closing(RayEngine(results, places, said, options.on, limits)) as engine:
        yield engine  # Ray prints what goes wrong to standard output, which is for results


def _parser() -> Parser:
    parser = Parser(
        "evercontext batch",
        translate(
            "Carries out many tasks, each in its own copy of its project as it is at the start, or as it was at the\n"
            "commit `ref`. No project is changed: the changes of each task are a patch in the folder of results.\n"
            "Started again after it was stopped or killed, it continues with the rest. The file has one JSON\n"
            "object a line:"
        )
        + f"\n\n  {_FORM}",
        examples=("evercontext batch tasks.jsonl --parallel 8", "evercontext batch tasks.jsonl --on ray://head:10001"),
    )
    parser.add_argument("tasks", metavar="FILE", nargs="?", help="the tasks, one JSON object a line")
    parser.add_argument(
        "--parallel",
        type=number_up_to(MOST_PARALLEL),
        default=os.cpu_count() or 1,
        metavar="N",
        help="how many tasks run at a time",
    )
    parser.add_argument("--root", metavar="DIR", help="the project of tasks that name none")
    parser.add_argument("--out", metavar="DIR", help="folder of results (default: tasks.results for tasks.jsonl)")
    parser.add_argument(
        "--on", metavar="ADDRESS", help="a Ray cluster: ray://HOST:PORT, or 'ray' for one on this machine"
    )
    parser.add_argument("--planner", metavar="M", help="model that plans; gemini-cli is the `gemini` command")
    parser.add_argument("--executor", metavar="M", help="model that carries the steps out")
    parser.add_argument(
        "--models", metavar="A,B", help="do every task with each of these models, and print how each did"
    )
    parser.add_argument("--predictions", metavar="FILE", help="write the patches as predictions in SWE-bench's form")
    parser.add_argument("--junit", metavar="FILE", help="write the results as JUnit XML")
    parser.add_limits()
    parser.add_argument("--max-total-cost", type=positive_number, metavar="USD", help="dollars that all tasks may cost")
    parser.add_network()
    parser.add_argument("--compare", nargs=2, metavar="DIR", help="print what differs between two folders of results")
    parser.add_flag("--again", "run again what failed")
    parser.add_flag("--keep", "keep the projects as the tasks left them in work/ of the results")
    parser.add_flag("--trust", "let the projects' own checks run")
    parser.add_flag("--json", "print JSON")
    return parser
