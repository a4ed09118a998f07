"""vizprompt undo and redo: take back what the last command changed in the graph, and do it again."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_remark, tell_line, tell_remark
from nebula.errors import EXIT_FAILED
from nebula.graph.graph import Graph
from nebula.graph.kept_edits import KeptEdits
from nebula.language import sentence_of, translate

_EXAMPLES = ("vizprompt undo", "vizprompt redo")


def undo(data_dir: str, argv: Sequence[str], prog: str) -> int | None:
    Parser(
        prog,
        "Takes back what the last command changed, as one step.",
        about=(
            "Each call goes one command further back, up to twenty. What somebody has changed since stays as it is,\n"
            "and is named. The page has an undo of its own (Ctrl+Z), for what was done there."
        ),
        examples=_EXAMPLES,
    ).parse_args(argv)
    with Graph(data_dir) as graph:
        edits = KeptEdits(graph)
        words = edits.undo()
    if words is None:
        print_remark(translate("There is nothing to undo."))
        return EXIT_FAILED
    tell_line("Undone: {command}", command=words)
    if edits.problem:
        tell_remark("This cannot be done again later: {reason}", reason=sentence_of(edits.problem))
    return None


def redo(data_dir: str, argv: Sequence[str], prog: str) -> int | None:
    Parser(
        prog,
        "Does again what was undone last.",
        about="A command that changes something forgets what could have been done again.",
        examples=_EXAMPLES,
    ).parse_args(argv)
    with Graph(data_dir) as graph:
        edits = KeptEdits(graph)
        words = edits.redo()
    if words is None:
        print_remark(translate("There is nothing to do again."))
        return EXIT_FAILED
    tell_line("Done again: {command}", command=words)
    if edits.problem:
        tell_remark("This cannot be undone later: {reason}", reason=sentence_of(edits.problem))
    return None
