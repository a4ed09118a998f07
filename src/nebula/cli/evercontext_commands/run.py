"""evercontext run: a task from plan to report, with nobody to ask."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from contextlib import nullcontext

from nebula.agent.checks.find import with_found_checks
from nebula.agent.orchestrator.limits import TaskLimits
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.agent.plan.kept_plans import find_plan
from nebula.cli.arguments import Parser, UsageError, check_allowed, number_up_to, write_last_message
from nebula.cli.asking import ask, is_attended
from nebula.cli.busy import busy
from nebula.cli.evercontext_commands.plan_file import read_plan_file
from nebula.cli.evercontext_commands.task_view import TaskView
from nebula.cli.headless.between import Between
from nebula.cli.headless.faces import chosen_face
from nebula.cli.headless.run import interruptible
from nebula.cli.nebula import exit_codes
from nebula.cli.printing import print_remark, tell_remark
from nebula.cli.settings import open_project, remark_on_trust, said_of_settings
from nebula.config import Settings, is_declined, remember_trust
from nebula.events import Final, Reader
from nebula.files.home import derived_folder
from nebula.language import Sentence, agrees, explain, translate
from nebula.llm.dialect.answer_schema import read_schema
from nebula.stage import one_line
from nebula.value import replace

MOST_PARALLEL = 8


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    options.task = given_task(options.task)
    _check(options)
    settings = open_project("evercontext", options, planner=options.planner, executor=options.executor)
    remark_on_trust("evercontext", settings)
    said = said_of_settings(settings)
    request = _request(options, settings)
    if not request.dry_run:
        settings = _confirmed_checks(settings, said)
    form = options.output_format
    face = chosen_face(form, lambda: TaskView(settings, said), settings.lang, said, "evercontext")
    with busy() if form == "json" else nullcontext():
        final = asyncio.run(_run(settings, request, face, said, is_stream=form == "stream-json"))
    write_last_message(options.output_last_message, final.text)
    return final.exit_code


async def _run(
    settings: Settings, request: TaskRequest, show: Reader, said: list[Sentence], *, is_stream: bool
) -> Final:
    with interruptible(settings, show) as audience:
        reader = Between(audience) if is_stream else audience
        watchers = [reader] if is_stream else []
        result = await run_task(settings, request, [reader], watchers=watchers, said=said)
    return result.final


def _confirmed_checks(settings: Settings, said: list[Sentence]) -> Settings:
    """Return the settings with the project's own checks, where the user lets them run; remarks go into `said`."""
    settings = with_found_checks(settings)
    if not settings.checks_need_trust or is_declined(settings):
        return settings
    listed = ", ".join(one_line(command) for command in settings.checks)
    if not is_attended():
        remark = Sentence(
            "Checks that were not run, since nobody has confirmed them: {checks} (--trust lets them run)", checks=listed
        )
        said.append(remark)
        print_remark(f"evercontext: {explain(remark)}")
        return settings
    tell_remark("This project seems to be checked by: {checks}", checks=listed)
    return remember_trust(settings, "checks", trusted=agrees(ask(translate("Run them after each task? (y/N): "))))


def given_task(task: str | None) -> str | None:
    """`-` stands for standard input."""
    return sys.stdin.buffer.read().decode("utf-8", "replace") if task == "-" else task


def _check(options: argparse.Namespace) -> None:
    ways = [options.task is not None, options.plan is not None, options.resume_plan is not None]
    if not any(ways):
        raise UsageError('say what to do: --task "…", --plan FILE or --resume-plan')
    if options.resume_plan is not None and (options.plan is not None or options.task is not None):
        raise UsageError("--resume-plan goes on with a plan that was begun; it takes no --task and no --plan")
    if options.task is not None and not options.task.strip():
        raise UsageError("the task is empty; say what to do after --task")
    check_allowed(options.allow)


def _request(options: argparse.Namespace, settings: Settings) -> TaskRequest:
    request = TaskRequest(
        (options.task or "").strip(),
        dry_run=options.dry_run,
        rollback=options.rollback,
        allow=tuple(options.allow),
        limits=TaskLimits(options.max_rounds, options.timeout, options.max_cost),
        replan=options.replan,
        parallel=options.parallel,
        answer_schema=read_schema(options.output_schema) if options.output_schema else None,
    )
    if options.resume_plan is not None:
        kept = find_plan(derived_folder(settings.root, settings.home), options.resume_plan)
        return replace(request, prompt=kept.task, plan=kept.plan, done=kept.done, resumes=kept.trace_id)
    if options.plan is not None:
        plan, task = read_plan_file(options.plan)
        return replace(request, plan=plan, prompt=request.prompt or task)
    return request


def _parser() -> Parser:
    parser = Parser(
        "evercontext run",
        (
            "Plans a task, carries the plan out step by step in the guarded files, checks the result, and repairs it.\n"
            "Nobody is asked: the policy limits what is written (EC_ALLOW_EXT, EC_MAX_BYTES), every change is in the "
            "journal."
        ),
        examples=(
            'evercontext run --task "make a FastAPI hello world in app"',
            'evercontext run --task "…" --dry-run --planner gemini-2.5-flash --executor ollama/qwen3:8b',
            "evercontext run --plan plan.json --rollback",
            "evercontext run --resume-plan",
        ),
        epilog=exit_codes(),
    )
    task_options(parser)
    parser.add_argument("--executor", metavar="M", help="model that carries the steps out")
    plan_options(parser)
    parser.add_flag("--dry-run", "write nothing; show the plan and the changes it would make")
    parser.add_flag("--rollback", "if the task fails, put every file back as it was")
    parser.add_flag("--replan", "if a step fails for good, ask the planner once more with what happened")
    parser.add_argument(
        "--parallel",
        type=number_up_to(MOST_PARALLEL),
        default=1,
        metavar="N",
        help="how many steps that do not depend on each other run at a time (default: 1)",
    )
    parser.add_flag("--trust", "let the project's own checks run")
    parser.add_answer()
    parser.add_allow()
    parser.add_limits()
    formats = parser.add_mutually_exclusive_group()
    formats.add_argument(
        "--output-format",
        choices=("text", "json", "stream-json"),
        default="text",
        help="what is printed: text for people, the last event, or every event as it happens",
    )
    formats.add_argument(
        "--json", dest="output_format", action="store_const", const="json", help="same as --output-format json"
    )
    return parser


def task_options(parser: Parser) -> None:
    """Add the options that say what is done, where, and by whom."""
    parser.add_argument("--task", metavar="T", help="what to do, in words ('-': standard input)")
    parser.add_app_root()
    parser.add_argument("--planner", metavar="M", help="model that plans; gemini-cli is the `gemini` command")


def plan_options(parser: Parser) -> None:
    parser.add_argument("--plan", metavar="FILE", help="carry out the plan in this file ('-': standard input)")
    parser.add_argument(
        "--resume-plan",
        metavar="ID",
        nargs="?",
        const="",
        help="go on with the plan that was begun last, or with the one of this trace id",
    )
