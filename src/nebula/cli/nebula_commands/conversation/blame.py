"""nebula blame: who wrote each line of a file, and for which prompt."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence

from nebula.blame import text
from nebula.blame.project import ProjectBlame
from nebula.blame.runs import LineRun, cut_runs
from nebula.cli.arguments import Parser, UsageError
from nebula.cli.printing import fit_to_print, make_room, print_json
from nebula.cli.settings import open_project
from nebula.errors import EXIT_POLICY
from nebula.language import explain, translate
from nebula.stage import one_line
from nebula.workspace.errors import Forbidden, MalformedRequest, PathRefused

PROMPT_COLUMNS = 24
MODEL_COLUMNS = 16


def main(argv: Sequence[str]) -> None:
    options = _parser().parse_args(argv)
    root = open_project("nebula", options).root
    with ProjectBlame(root) as blame:
        try:
            path, content = blame.read(_path_below(root, options.file), options.rev)
        except (PathRefused, MalformedRequest) as problem:
            raise UsageError("{problem}", problem=explain(problem)) from None
        except Forbidden as problem:
            raise _Refused.of(problem) from None
        first, last = _range(options.lines, text.count_lines(content))
        as_json = options.format == "json" or (options.json and options.format == "text")
        if as_json and options.lines is None:
            print_json(blame.told(path, content, options.rev))
            return
        runs = cut_runs(blame.runs(path, content, options.rev), first, last)
        if options.format == "agent-trace":
            from nebula.blame.exchange.agent_trace import trace_file

            print_json(trace_file(root, path, content, runs, options.rev))
        elif as_json:
            print_json([run.to_json() for run in runs])
        else:
            _print_lines(runs, text.split(content), blame.short_ids(run.node_id for run in runs if run.node_id))


class _Refused(UsageError):
    """Raised where the guard does not let a file be read."""

    exit_code = EXIT_POLICY


def _path_below(root: str, file: str) -> str:
    """Return the path as the workspace names it; one that is outside is left for the guard to refuse."""
    if not os.path.isabs(file):
        return file
    for base in (root, os.path.realpath(root)):
        if file.startswith(os.path.join(base, "")):
            return os.path.relpath(file, base)
    return file


def _range(asked: str | None, total: int) -> tuple[int, int]:
    if asked is None:
        return 1, total
    found = re.fullmatch(r"(\d{1,9}),(\d{1,9})", asked, re.ASCII)
    first, last = (int(found[1]), int(found[2])) if found else (0, 0)
    if not 1 <= first <= last or first > total:
        raise UsageError("-L wants two lines of the file, A,B with A not after B: it has {total}", total=total)
    return first, min(last, total)


def _print_lines(runs: Sequence[LineRun], lines: Sequence[bytes], short: dict[str, str]) -> None:
    """Print each line behind what is told of it; the columns are as wide as what stands in them."""
    from nebula.cli.terminal.output.screen import screen_on
    from nebula.cli.terminal.output.width import cut, display_width, pad

    screen = screen_on(sys.stdout)
    rows = []
    for run in runs:
        words = {"you": translate("you"), "before": run.author or translate("before"), "other": run.tool}
        rows.append(
            (
                short.get(run.node_id, run.commit[:8]),
                cut(one_line(run.prompt or words.get(run.by, "")), PROMPT_COLUMNS),
                cut(one_line(run.model), MODEL_COLUMNS),
                run.tell_time("%Y-%m-%d"),
                "✓" if run.verified else "",
            )
        )
    widths = [max((display_width(row[column]) for row in rows), default=0) for column in range(5)]
    digits = len(str(runs[-1].end_line)) if runs else 1
    make_room()
    for run, row in zip(runs, rows, strict=True):
        told = " ".join(pad(cell, width) for cell, width in zip(row, widths, strict=True) if width)
        style = "cyan" if run.by == "turn" else "dim"
        for number in range(run.start_line, run.end_line + 1):
            shown = fit_to_print(lines[number - 1].decode(errors="replace"))
            sys.stdout.write(f"{screen.styled(fit_to_print(told), style)} {number:>{digits}} {shown}".rstrip() + "\n")


def _parser() -> Parser:
    parser = Parser(
        "nebula blame",
        "Who wrote each line of a file: a turn and its prompt, you, or what was there before.",
        examples=("nebula blame src/app.py", "nebula blame src/app.py -L 10,20 --json"),
    )
    parser.add_argument("file", metavar="FILE", help="a file of the project")
    parser.add_argument("-L", dest="lines", metavar="A,B", help="only these lines, both included")
    parser.add_argument("--rev", default="", metavar="REV", help="the file as it was in this commit")
    parser.add_argument("--format", choices=("text", "json", "agent-trace"), default="text", help="what is printed")
    parser.add_flag("--json", "print JSON")
    parser.add_root()
    return parser
