"""vizprompt check: what is wrong in the files, and mending it."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.vizprompt_commands.showing import print_json, remark
from nebula.stage import one_line

_EPILOG = """\
Looks for indexes out of step, ids used twice, circles, connections to nowhere and files that cannot be read.
Nothing is ever deleted. Exit code 1 when something was found, also when it was mended.

examples:
  vizprompt check
  vizprompt check --repair
"""


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    parser = Parser(prog, "Finds what is wrong in the files of the graph.", epilog=_EPILOG)
    parser.add_argument("--repair", action="store_true", help="mend what can be mended, and rebuild metadata/")
    parser.add_argument("--json", action="store_true", help="print the problems as one JSON list")
    options = parser.parse_args(argv)
    from nebula.graph.graph import Graph

    with Graph(data_dir) as graph:
        problems = graph.check(repair=options.repair)
    if options.json:
        print_json([problem.to_json() for problem in problems])
    else:
        for problem in problems:
            done = f" — {problem.repaired}" if problem.repaired else ""
            print(one_line(f"{problem.kind}: {problem.path}: {problem.message}{done}"))
    if not problems:
        remark("Nothing is wrong.")
    return 1 if problems else 0
