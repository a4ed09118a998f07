"""vizprompt check: what is wrong in the files, and fixing it."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_json, print_line, tell_remark
from nebula.graph.graph import Graph
from nebula.language import explain
from nebula.stage import one_line


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    parser = Parser(
        prog,
        "Finds what is wrong in the files of the graph.",
        about=(
            "Looks for indexes out of step, ids used twice, circles, connections to nowhere and files that cannot be\n"
            "read. Nothing is ever deleted. Exit code 1 when something was found, also when it was fixed."
        ),
        examples=("vizprompt check", "vizprompt check --repair"),
    )
    parser.add_flag("--repair", "fix what can be fixed, and rebuild metadata/")
    parser.add_flag("--json", "print the problems as one JSON list")
    options = parser.parse_args(argv)

    with Graph(data_dir) as graph:
        problems = graph.check(repair=options.repair)
    if options.json:
        print_json([problem.to_json() for problem in problems])
    else:
        for problem in problems:
            done = f" — {explain(problem.done)}" if problem.done else ""
            print_line(one_line(f"{problem.kind}: {problem.path}: {explain(problem.what)}{done}"))
    if not problems:
        tell_remark("Nothing is wrong.")
    return 1 if problems else 0
