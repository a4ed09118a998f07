"""vizprompt undo: takes back what the last command changed in the graph."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_line, print_remark
from nebula.graph.graph import Graph
from nebula.graph.kept_edits import KeptEdits
from nebula.language import translate


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    _parser(prog).parse_args(argv)
    with Graph(data_dir) as graph:
        words = KeptEdits(graph).undo()
    if words is None:
        print_remark(translate("There is nothing to undo."))
        return 1
    print_line(translate("Undone: {command}", command=words))
    return 0


def _parser(prog: str) -> Parser:
    return Parser(
        prog,
        "Takes back what the last command changed, as one step.",
        about=(
            "Each call goes one command further back, up to twenty. What somebody has changed since stays as it is,\n"
            "and is named. The page has an undo of its own (Ctrl+Z), for what was done there."
        ),
        examples=("vizprompt undo", "vizprompt redo"),
    )
