"""vizprompt undo and redo: take back what the last command changed in the graph, and do it again."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import tell_line, tell_remark
from nebula.errors import EXIT_FAILED
from nebula.graph.graph import Graph
from nebula.graph.kept_edits import KeptEdits
from nebula.language import sentence_of


def undo(data_dir: str, argv: Sequence[str], prog: str) -> int | None:
    about = (
        "Each call goes one command further back, up to twenty. What somebody has changed since stays as it is,\n"
        "and is named. The page has an undo of its own (Ctrl+Z), for what was done there."
    )
    _parse(prog, "Takes back what the last command changed, as one step.", about, argv)
    with Graph(data_dir) as graph:
        edits = KeptEdits(graph)
        words = edits.undo()
    said = "Undone: {command}", "There is nothing to undo.", "This cannot be done again later: {reason}"
    return _tell(words, edits, *said)


def redo(data_dir: str, argv: Sequence[str], prog: str) -> int | None:
    about = "A command that changes something forgets what could have been done again."
    _parse(prog, "Does again what was undone last.", about, argv)
    with Graph(data_dir) as graph:
        edits = KeptEdits(graph)
        words = edits.redo()
    said = "Done again: {command}", "There is nothing to do again.", "This cannot be undone later: {reason}"
    return _tell(words, edits, *said)


def _parse(prog: str, description: str, about: str, argv: Sequence[str]) -> None:
    Parser(prog, description, about=about, examples=("vizprompt undo", "vizprompt redo")).parse_args(argv)


def _tell(words: str | None, edits: KeptEdits, done: str, nothing: str, final: str) -> int | None:
    """Say which command was undone or done again, or that there was none, and where it cannot be turned round."""
    if words is None:
        tell_remark(nothing)
        return EXIT_FAILED
    tell_line(done, command=words)
    if edits.problem:
        tell_remark(final, reason=sentence_of(edits.problem))
    return None
