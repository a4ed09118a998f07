"""nebula trace: the tasks of a project, what happened in one, and its replies played once more."""

from __future__ import annotations

import argparse
import asyncio
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from nebula.agent.figures.gather import is_since, read_tasks
from nebula.agent.figures.task_record import TaskRecord
from nebula.agent.traces.find import TaskTrace, audited, find_trace, short_ids
from nebula.agent.traces.lesson import play_lesson
from nebula.agent.traces.replay import replay, settings_of_copy
from nebula.agent.traces.story import StoryEntry, tell
from nebula.blame.exchange.agent_trace import trace_turn
from nebula.blame.project import ProjectBlame
from nebula.cli.arguments import Parser, UsageError, number_up_to
from nebula.cli.figures.kpi import read_moment
from nebula.cli.nebula_commands.conversation.trace_lesson import print_lesson_json, show_lesson
from nebula.cli.printing import print_json, print_line, tell_line, tell_remark
from nebula.cli.settings import open_project
from nebula.cli.terminal.output.width import cut, pad
from nebula.config import Settings
from nebula.errors import EXIT_FAILED
from nebula.language import explain, translate
from nebula.stage import join_lines, one_line

SHOWN = 20
LINE = 200
"""Columns of an entry where nobody asks for all of it and no terminal says how wide it is."""


def main(argv: Sequence[str]) -> int | None:
    options = _parser().parse_args(argv)
    settings = open_project("nebula", options)
    run: Callable[[Settings, argparse.Namespace], int | None] = options.run
    return run(settings, options)


def _list(settings: Settings, options: argparse.Namespace) -> None:
    tasks = read_tasks(settings.root)
    short = short_ids(task.trace_id for task in tasks)
    newest = tasks[::-1][: options.count]
    if options.json:
        print_json([_as_json(task) for task in newest])
        return
    for task in newest:
        status = task.status or translate("unfinished")
        when = task.started[:19].replace("T", " ")
        head = f"{short[task.trace_id]}  {when}  {pad(status, 11)} {task.duration_s:8.1f} s  "
        print_line(cut(head + join_lines(task.prompt), _columns()))
    if not newest:
        tell_remark("There is no task in the trace yet.")


def _as_json(task: TaskRecord) -> dict[str, Any]:
    names = ("trace_id", "started", "prompt", "mode", "model", "provider", "status", "exit_code", "duration_s", "steps")
    return {name: getattr(task, name) for name in names}


def _show(settings: Settings, options: argparse.Namespace) -> None:
    trace = find_trace(settings.root, options.id)
    audit = audited(settings.root, trace.trace_id, settings.audit_log) if options.audit else []
    if options.json:
        for event in (*trace.events, *({"type": "audit", **line} for line in audit)):
            print_json(event)
        return
    _print_head(trace)
    for entry in tell(trace.events, audit):
        _print_entry(entry, options.full)


def _export(settings: Settings, options: argparse.Namespace) -> None:
    """Print one record a turn that wrote lines, the oldest first."""
    if not options.agent_trace:
        raise UsageError("name the form of the records: --agent-trace")
    with ProjectBlame(settings.root) as blame:
        for node in blame.nodes():
            since = options.since
            if (since is None or is_since(node.timestamp, since)) and (told := trace_turn(settings.root, node)):
                print_json(told)


def _print_head(trace: TaskTrace) -> None:
    task = trace.task
    model = f"{task.get('model')} ({task.get('provider')})" if task.get("provider") else str(task.get("model"))
    print_line(one_line(f"{trace.trace_id}  {str(task.get('ts'))[:19]}  {model}  {task.get('mode')}") + "\n")


def _print_entry(entry: StoryEntry, full: bool) -> None:
    time = f"{entry.seconds:+9.3f} s" if entry.seconds is not None else " " * 11
    head = f"{time}  {pad(one_line(entry.what), 10)} "
    if entry.task_id:
        head += f"{one_line(entry.task_id)}: "
    first, *rest = entry.text.split("\n")
    if full:
        print_line(head + first)
        for line in rest:
            print_line(" " * 24 + line)
        return
    more = " …" if any(line.strip() for line in rest) else ""
    print_line(cut(head + one_line(first), _columns() - len(more)) + more)


def _columns() -> int:
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else LINE


def _replay(settings: Settings, options: argparse.Namespace) -> int:
    trace = find_trace(settings.root, options.id)
    if options.here:
        return asyncio.run(_play(settings, trace, options))

    with _copy_of(settings, trace, keep=options.keep) as copy:
        return asyncio.run(_play(copy, trace, options))


@contextmanager
def _copy_of(settings: Settings, trace: TaskTrace, *, keep: bool) -> Iterator[Settings]:
    """Make a throw-away copy of the project as the task found it, and yield its settings."""
    folder = tempfile.mkdtemp(prefix="nebula-replay-")
    try:
        copy, missing = settings_of_copy(settings, trace, folder)
        for path in missing:
            tell_remark("{path}: what it was then is not kept; the copy has it as it is now.", path=path)
        yield copy
    finally:
        if keep:
            tell_remark("kept: {folder}", folder=folder)
        else:
            shutil.rmtree(folder)


def _lesson(settings: Settings, options: argparse.Namespace) -> None:
    trace = find_trace(settings.root, options.id)
    with _copy_of(settings, trace, keep=False) as copy:
        steps = asyncio.run(play_lesson(copy, trace))
    if options.json:
        print_lesson_json(steps)
    else:
        show_lesson(trace, steps, full=options.full)


async def _play(settings: Settings, trace: TaskTrace, options: argparse.Namespace) -> int:
    """0 where it went as recorded, else 1: what differs may be what was looked for."""
    events: list[dict[str, Any]] = []
    played = await replay(settings, trace, [lambda stamped: events.append(stamped.to_json())])
    if options.json:
        said = [str(each) for each in played.differences]
        print_json({"same": not said, "differences": said, "events": events, "final": played.final.to_json()})
        return EXIT_FAILED if said else 0
    for entry in tell(events):
        _print_entry(entry, options.full)
    print_line()
    if not played.differences:
        tell_line("It went as recorded.")
        return 0
    for each in played.differences:
        tell_line("Not as recorded: {what}", what=explain(each))
    return EXIT_FAILED


def _parser() -> Parser:
    parser = Parser(
        "nebula trace",
        "What happened in the tasks of this project, from its trace.",
        examples=(
            "nebula trace list",
            "nebula trace show 01a1e1fe",
            "nebula trace replay 01a1e1fe --keep",
            "nebula trace lesson",
        ),
    )
    listing = parser.add_command("list", "the tasks, the newest first", _list)
    listing.add_argument(
        "-n", "--count", type=number_up_to(1_000_000), default=SHOWN, metavar="N", help="how many at most"
    )
    showing = parser.add_command("show", "what happened in one task, in order, with times", _show)
    playing = parser.add_command(
        "replay",
        "play its model's replies once more, in a throw-away copy of the project as the task found it",
        _replay,
    )
    teaching = parser.add_command(
        "lesson", "a recorded turn step by step: what the model was sent, what it sent back", _lesson
    )
    for command in (showing, playing, teaching):
        command.add_argument(
            "id", nargs="?", default="", metavar="ID", help="the beginning of its id (default: the newest task)"
        )
        command.add_flag("--full", "show every text whole")
    showing.add_flag("--audit", "with what the audit log recorded of it")
    playing.add_flag("--keep", "keep the copy to look at")
    playing.add_flag("--here", "in the project itself: files change, which can be undone")
    exporting = parser.add_command(
        "export", "the lines that turns wrote, as records for other tools, one a line", _export
    )
    exporting.add_flag("--agent-trace", "in the form of Agent Trace 0.1")
    exporting.add_argument("--since", metavar="DATE", type=read_moment, help="only turns of this day or later")
    exporting.add_root()
    for command in (listing, showing, playing, teaching):
        command.add_root()
        command.add_flag("--json", "print JSON")
    return parser
