"""evercontext plan: a plan to look at, to edit as a file, and to measure how far plans agree."""

from __future__ import annotations

import argparse
import asyncio
import os
from collections.abc import Callable, Sequence

from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest, TaskResult
from nebula.cli.arguments import Parser, UsageError, number_up_to
from nebula.cli.evercontext_commands.plan_file import plan_text
from nebula.cli.evercontext_commands.run import given_task, task_options
from nebula.cli.evercontext_commands.task_view import TaskView, plan_lines
from nebula.cli.headless.run import interruptible
from nebula.cli.printing import print_json, print_lines, print_remark, tell_line, tell_remark
from nebula.cli.settings import open_project
from nebula.config import Settings
from nebula.events import Error, Stamped
from nebula.files.descriptors import naming
from nebula.language import explain_to

MOST_REPEATS = 100


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    options.task = given_task(options.task)
    if options.task is None or not options.task.strip():
        raise UsageError('say what to plan: --task "…"')
    if options.output is not None and os.path.exists(options.output):
        raise UsageError("{path} is there already; remove it, or choose another name", path=options.output)
    settings = open_project("evercontext", options, planner=options.planner)
    result = asyncio.run(_plan(settings, options))
    if result.plans:
        _show(result, options)
    return result.final.exit_code


async def _plan(settings: Settings, options: argparse.Namespace) -> TaskResult:
    request = TaskRequest(options.task.strip(), only_plan=options.repeat)
    with interruptible(settings, _face(settings, quiet=options.json)) as audience:
        return await run_task(settings, request, [audience])


def _face(settings: Settings, *, quiet: bool) -> Callable[[Stamped], None]:
    if not quiet:
        return TaskView(settings)

    def show(stamped: Stamped) -> None:
        if isinstance(stamped.event, Error):
            print_remark(f"evercontext: {explain_to(settings.lang, stamped.event.sentence)}")

    return show


def _show(result: TaskResult, options: argparse.Namespace) -> None:
    task = options.task.strip()
    if options.output is not None:
        with naming(options.output), open(options.output, "x", encoding="utf-8") as file:
            file.write(plan_text(result.plans[0], task))
        tell_remark("Written: {path}. Carry it out with: evercontext run --plan {path}", path=options.output)
    if options.json:
        plans = [plan.to_json() for plan in result.plans]
        print_json({"task": task, "plans": plans, "reproducibility": result.reproducibility})
        return
    print_lines(plan_lines(result.plans[0].to_json()))
    if options.repeat > 1:
        share = f"{100 * (result.reproducibility or 0):.0f}"
        tell_line("{share} % of {count} plans agree", share=share, count=options.repeat)


def _parser() -> Parser:
    parser = Parser(
        "evercontext plan",
        (
            "Plans a task and carries nothing out. The plan can be written to a file, edited, and handed to "
            "evercontext run --plan.\nWith --repeat the same request is made again and again: the figure says how many "
            "of the plans have the same steps."
        ),
        examples=(
            'evercontext plan --task "add a priority field" --output plan.json',
            'evercontext plan --task "add a priority field" --repeat 5 --json',
        ),
    )
    task_options(parser)
    parser.add_argument(
        "--repeat",
        metavar="N",
        type=number_up_to(MOST_REPEATS),
        default=1,
        help="how many times to plan, to compare the plans (default: 1)",
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write the plan to a new file")
    parser.add_flag("--json", "print the plans and the figure as JSON")
    return parser
