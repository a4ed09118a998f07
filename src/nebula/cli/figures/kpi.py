"""The `kpi` of both commands: measures and spending of one project, several, or all of this user's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from datetime import datetime
from functools import partial

from nebula.agent.figures.gather import TracedTasks, flows_of, gather, known_projects
from nebula.agent.figures.kpis import BY, figures_json, kpis, raced_models, spending
from nebula.agent.figures.surviving import TurnLinesCount, count_lines, sum_lines, surviving_json
from nebula.cli.arguments import Parser, UsageError, checked_root
from nebula.cli.figures.tables import measure_rows, spending_rows, table
from nebula.cli.printing import print_json, print_line, print_lines, print_remark
from nebula.cli.settings import open_settings
from nebula.language import translate, translate_count
from nebula.stage import one_line
from nebula.workspace.records import moment


def _run(prog: str, argv: Sequence[str]) -> None:
    options = _parser(prog).parse_args(argv)
    roots = [checked_root(root) for root in options.root or ["."]]
    settings = open_settings(prog, roots[0])
    known = known_projects(settings.memory_path, settings.home) if options.all else ()
    found = gather([*known, *roots], options.since, settings.audit_log)
    lines = count_lines(found.projects, options.since)
    if options.json:
        print_json(figures_json(found, flows_of(found.projects)) | surviving_json(lines))
        return
    _print(found, options.by)
    _print_surviving(lines)


def _print_surviving(lines: Sequence[TurnLinesCount]) -> None:
    """Print whose lines stay, by model and by week; nothing where no turn wrote any."""
    for title, name in ((translate("model"), "model"), (translate("week"), "week")) if lines else ():
        head = (title, translate("lines written"), translate("still there"))
        sums = sum_lines(lines, lambda each, name=name: (getattr(each, name),))  # type: ignore[misc]
        print_line()
        rows = [(one_line(key), f"{written:,}", f"{alive:,}") for (key,), written, alive in sums]
        print_lines(table([head, *rows], align="<>>"))


def _print(found: TracedTasks, by: Sequence[str]) -> None:
    tasks = translate_count(len(found.tasks), "{count} task", "{count} tasks")
    projects = translate_count(len(found.projects), "{count} project", "{count} projects")
    print_line(f"{tasks}, {projects}")
    if len(found.projects) == 1:
        print_line(one_line(found.projects[0]))
    print_line()
    print_lines(table(measure_rows(kpis(found))))
    flows = flows_of(found.projects) if "flow" in by else {}
    for kind in by if found.tasks else ():
        print_line()
        print_lines(table(spending_rows(kind, spending(found.tasks, kind, flows)), align="<>>>>"))
    if "model" in by:
        _print_races(found)
    if found.damaged:
        print_remark(
            translate_count(
                found.damaged, "{count} line could not be read; left out.", "{count} lines could not be read; left out."
            )
        )


def _print_races(found: TracedTasks) -> None:
    """Print how the models did in races; nothing where there was none."""
    raced = raced_models(found)
    if not raced:
        return
    head = (translate("model"), translate("tries"), translate("passed"), translate("taken"))
    rows = [
        (one_line(each.model), f"{each.tries:,}", f"{each.passed:,}" if each.checked else "–", f"{each.taken:,}")
        for each in raced
    ]
    print_line()
    print_lines(table([head, *rows], align="<>>>"))


def read_moment(text: str) -> datetime:
    """Return the date or time that was typed; argparse tells the user where it is none."""
    try:
        return moment(text)
    except ValueError:
        message = translate("expected a date such as 2026-01-31, or a time such as 2026-01-31T09:00")
        raise argparse.ArgumentTypeError(message) from None


def _kinds(text: str) -> list[str]:
    kinds = [kind.strip() for kind in text.split(",") if kind.strip()]
    for kind in kinds:
        if kind not in BY:
            raise UsageError("--by {kind}: choose from {known}", kind=kind, known=", ".join(BY))
    return kinds


def _parser(prog: str) -> Parser:
    parser = Parser(
        f"{prog} kpi",
        "How often tasks succeed, how long they take and what they cost, from the traces of projects.",
        examples=(f"{prog} kpi --since 2026-01-31", f"{prog} kpi --all --by project,model --json"),
    )
    parser.add_argument(
        "--root", metavar="DIR", action="append", help="a project (repeatable; default: the current directory)"
    )
    parser.add_flag("--all", "every project in which you have had a session or a task, too")
    parser.add_argument("--since", metavar="DATE", type=read_moment, help="only tasks that began on this day or later")
    parser.add_argument(
        "--by",
        metavar="KIND,…",
        type=_kinds,
        default=["model"],
        help=translate("split tokens and cost by {kinds} (default: model)", kinds=", ".join(BY)),
    )
    parser.add_flag("--json", "print JSON")
    return parser


main_of_nebula = partial(_run, "nebula")
main_of_evercontext = partial(_run, "evercontext")
