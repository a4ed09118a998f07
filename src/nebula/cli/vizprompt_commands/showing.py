"""What the commands on the graph share: how nodes and flows are named, and how they look in a terminal."""

from __future__ import annotations

import argparse
import contextlib
import re
import shlex
from collections.abc import Callable, Iterator, Sequence

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.printing import print_line, print_words, tell_line, tell_remark
from nebula.cli.terminal.output.width import cut
from nebula.graph.errors import GraphError, NotFound
from nebula.graph.graph import Graph
from nebula.graph.ids import shortest_unique
from nebula.graph.values import Flow, Node
from nebula.language import explain, sentence_of, translate

COLUMNS = 100


def run_on_graph(parser: Parser, data_dir: str, argv: Sequence[str]) -> int | None:
    """Run what the parser chose, on the graph in this folder; what it changes can be undone by a later command."""
    options = parser.parse_args(argv)
    run: Callable[[Graph, argparse.Namespace], int | None] = options.run

    with Graph(data_dir) as graph, undoable(graph, parser.prog, argv):
        return run(graph, options)


@contextlib.contextmanager
def undoable(graph: Graph, prog: str, argv: Sequence[str]) -> Iterator[None]:
    """Keep what takes back the changes made inside, under the words of the command."""
    with graph.recording() as inverses:
        yield
    if not inverses:
        return
    from nebula.graph.kept_edits import KeptEdits

    words = cut(one_line(shlex.join([prog.rpartition(" ")[2], *argv])), COLUMNS)
    try:
        KeptEdits(graph).keep(words, inverses)
    except OSError as error:
        tell_remark("This cannot be undone later: {reason}", reason=sentence_of(error))


def split_list(text: str | None) -> list[str]:
    """Return `a,b` as a list; Japanese commas do as well. Raises UsageError where a text names nothing."""
    named = [part.strip() for part in re.split(r"[,，、]", text or "") if part.strip()]
    if text and not named:
        raise UsageError("{text}: name at least one, with commas between them", text=text)
    return named


def split_tags(text: str | None) -> list[str]:
    """Return the same for tags, which may be written as they are shown, with `#`."""
    tags = [tag.lstrip("#＃").strip() for tag in split_list(text)]
    if not all(tags):
        raise UsageError("{text}: name at least one, with commas between them", text=text)
    return tags


def one_line(text: str) -> str:
    """Do what the stage's `one_line` does; loading that is a third of the start of commands that show nothing."""
    from nebula.stage import one_line

    return one_line(text)


def node_line(node: Node, columns: int = COLUMNS, shown_id: str = "") -> str:
    """Id, time, what it is about, tags."""
    about = one_line(" ".join((node.summary or node.prompt).split()))
    tags = one_line(" ".join([*(["★"] if node.pinned else []), *("#" + tag for tag in node.tags)]))
    head = one_line(f"{shown_id or node.id}  {node.timestamp[:16]}")
    return f"{head}  {cut(about, columns)}{'  ' + tags if tags else ''}"


def show_node(node: Node) -> None:
    head = f"{one_line(node.id)}  {one_line(node.timestamp[:19])}" + (f"  {one_line(node.model)}" if node.model else "")
    print_line(head)
    print_line("-" * len(head))
    for text in node.texts:
        print_line(f"[{one_line(text.role)}]")
        print_words(text.text)
        print_line()
    if node.summary:
        print_line(f"{translate('summary (edited since)') if node.updated else translate('summary')}: {node.summary}")
    if node.tags:
        print_line(translate("tags") + ": " + ", ".join(one_line(tag) for tag in node.tags))
    if node.pinned:
        tell_line("pinned")
    if node.note:
        print_line(translate("note") + ": " + node.note)
    for file in node.files:
        print_line(f"{translate('file')}: {one_line(file.path)}")


def flow_lines(flows: Sequence[Flow], among: Sequence[Flow] = ()) -> list[str]:
    """Numbered as `flow show NUMBER` takes them, each with the shortest beginning of its id that no other one has."""
    width = len(str(len(flows)))
    short = shortest_unique((flow.id for flow in flows), (flow.id for flow in among))
    return [
        f"{number:{width}}. {one_line(f'{flow.updated[:19]}  {short[flow.id]}  {flow.name}')} ({len(flow.entries)})"
        for number, flow in enumerate(flows, 1)
    ]


def print_flows(graph: Graph, *, archived: bool = False) -> None:
    """Print the flows; those that are archived keep their numbers, and are shown only when asked for."""
    flows = graph.list_flows()
    hidden = 0
    for flow, line in zip(flows, flow_lines(flows), strict=True):
        if flow.archived and not archived:
            hidden += 1
        else:
            print_line(line + (f"  {translate('archived')}" if flow.archived else ""))
    if hidden:
        tell_remark("Archived flows: {count} (vizprompt flow list --archived)", count=hidden)
    remark_on_unreadable(graph)


def remark_on_unreadable(graph: Graph) -> None:
    """A flow whose file cannot be read is shown as that, never as if there were none."""
    for problem in graph.unreadable_flows():
        reason = one_line(explain(problem.what))
        tell_remark("{path} cannot be read: {reason}", path=one_line(problem.path), reason=reason)


def find_flow(graph: Graph, wanted: str) -> Flow:
    """By name, id or a unique beginning of it and, as the original has it, by its number in `flow list`.

    Raises NotFound, and BadFile where the file of that flow cannot be read.
    """
    try:
        return graph.get_flow(wanted)
    except NotFound:
        flows = graph.list_flows()
        if wanted.isdecimal() and 1 <= int(wanted) <= len(flows):
            return flows[int(wanted) - 1]
        found = [flow for flow in flows if wanted and flow.id.startswith(wanted.lower())]
        if len(found) > 1:
            ids = ", ".join(flow.id for flow in found[:5]) + (", …" if len(found) > 5 else "")
            raise NotFound(
                "{wanted} stands for several flows; give more of the id: {ids}", wanted=wanted, ids=ids
            ) from None
        if not found:
            raise
        return found[0]


def legend(graph: Graph, flow: Flow) -> list[str]:
    """Say what the numbers of a map stand for."""
    width = len(str(max((entry.index for entry in flow.entries), default=0)))
    short = graph.shortest_unique_ids([entry.id for entry in flow.entries])
    lines = []
    for entry in flow.entries:
        try:
            lines.append(f"{entry.index:{width}}  {node_line(graph.get_node(entry.id), 60, short[entry.id])}")
        except GraphError as problem:
            lines.append(f"{entry.index:{width}}  {one_line(entry.id)}  ({one_line(explain(problem))})")
    return lines
