"""vizprompt redo: does again what was undone last."""

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
        words = KeptEdits(graph).redo()
    if words is None:
        print_remark(translate("There is nothing to do again."))
        return 1
    print_line(translate("Done again: {command}", command=words))
    return 0


def _parser(prog: str) -> Parser:
    return Parser(
        prog,
        "Does again what was undone last.",
        about="A command that changes something forgets what could have been done again.",
        examples=("vizprompt undo", "vizprompt redo"),
    )
