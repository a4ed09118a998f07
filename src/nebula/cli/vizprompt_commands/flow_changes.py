"""vizprompt flow: rename, archive, delete, count and fill a flow; name, move, copy and nest a branch."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_json, print_line, tell_line
from nebula.cli.terminal.output.width import display_width, pad
from nebula.cli.vizprompt_commands.showing import find_flow
from nebula.graph.flows.statistics import FlowStatistics
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW
from nebula.language import translate


def _rename(graph: Graph, options: argparse.Namespace) -> None:
    flow = graph.update_flow(find_flow(graph, options.flow).id, name=options.name)
    tell_line("Renamed flow: {name}", name=flow.name)


def _delete(graph: Graph, options: argparse.Namespace) -> None:
    flow = find_flow(graph, options.flow)
    graph.delete_flow(flow.id)
    tell_line("Deleted flow: {name}; its nodes stay (vizprompt node list --outside)", name=flow.name)


def _move(graph: Graph, options: argparse.Namespace) -> None:
    goal, source = find_flow(graph, options.to), find_flow(graph, options.flow)
    moved = graph.move_branch(graph.resolve_id(options.node), goal.id, source.id, copy=options.copy)
    tell_line("Nodes put into {flow}: {count}", flow=goal.name, count=len(moved))


def _name(graph: Graph, options: argparse.Namespace) -> None:
    source, target = graph.resolve_id(options.source), graph.resolve_id(options.target)
    graph.name_branch(source, target, options.name, find_flow(graph, options.flow).id)
    tell_line("Named branch: {name}", name=options.name)


def _archive(graph: Graph, options: argparse.Namespace) -> None:
    flow = graph.update_flow(find_flow(graph, options.flow).id, archived=True)
    tell_line("Archived flow: {name} (vizprompt flow unarchive brings it back)", name=flow.name)


def _unarchive(graph: Graph, options: argparse.Namespace) -> None:
    flow = graph.update_flow(find_flow(graph, options.flow).id, archived=False)
    tell_line("No longer archived: {name}", name=flow.name)


def _nest(graph: Graph, options: argparse.Namespace) -> None:
    made = graph.nest_branch(graph.resolve_id(options.node), options.name, find_flow(graph, options.flow).id)
    tell_line("Nodes put into {flow}: {count}", flow=made.name, count=len(made.entries))


def _link(graph: Graph, options: argparse.Namespace) -> None:
    goal = find_flow(graph, options.to) if options.to else None
    graph.link_flow(graph.resolve_id(options.node), goal.id if goal else "", find_flow(graph, options.flow).id)
    print_line(translate("Opens flow: {name}", name=goal.name) if goal else translate("Opens no flow any more."))


def _add(graph: Graph, options: argparse.Namespace) -> None:
    flow = graph.add_node_to_flow(find_flow(graph, options.flow).id, graph.resolve_id(options.node))
    tell_line("Nodes put into {flow}: {count}", flow=flow.name, count=1)


def _count(graph: Graph, options: argparse.Namespace) -> None:
    counted = graph.count_flow(find_flow(graph, options.flow).id)
    if options.json:
        print_json(counted.to_json())
        return
    shown = [(translate(title), figure(counted)) for title, figure in _FIGURES.items()]
    wide = max(display_width(title) for title, _ in shown)
    for title, text in shown:
        print_line(f"{pad(title, wide)}  {text}")


def _priced(counted: FlowStatistics) -> str:
    known = f"${counted.cost:.4f}"
    return f"{known} + ?" if counted.unpriced else known


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items()) or "–"


_FIGURES: dict[str, Callable[[FlowStatistics], str]] = {
    "Turns": lambda counted: f"{counted.turns:,}",
    "Conversations": lambda counted: f"{counted.conversations:,}",
    "Branch points": lambda counted: f"{counted.branch_points:,}",
    "Merges": lambda counted: f"{counted.merges:,}",
    "Tokens sent": lambda counted: f"{counted.input_tokens:,}",
    "Tokens written": lambda counted: f"{counted.output_tokens:,}",
    "Cost": _priced,
    "Models": lambda counted: _list_counts(counted.models),
    "Tags": lambda counted: _list_counts(counted.tags),
}


def add_changes(parser: Parser) -> None:
    """Add the commands of this module to those of `vizprompt flow`."""
    rename = parser.add_command("rename", "Gives a flow another name.", _rename)
    delete = parser.add_command("delete", "Deletes a flow; its nodes stay.", _delete)
    archive = parser.add_command("archive", "Keeps a flow, and leaves it out of lists.", _archive)
    unarchive = parser.add_command("unarchive", "Brings an archived flow back into lists.", _unarchive)
    for each in (rename, delete, archive, unarchive):
        each.add_argument("flow", metavar="FLOW", help="name, id or number")
    rename.add_argument("name", metavar="NAME", help="name of the flow")

    about = translate("Puts all that follows from NODE alone into a new flow, which NODE opens from then on.")
    nest = parser.add_command("nest", about, _nest)
    link = parser.add_command("link", "Makes NODE open the flow TO; without TO it opens none.", _link)
    add = parser.add_command("add", "Puts a node into a flow, unconnected.", _add)
    move = parser.add_command("move", "Puts NODE and all that follows from it alone into the flow TO.", _move)
    for each in (nest, link, add, move):
        each.add_argument("node", metavar="NODE", help="id of the node")
    nest.add_argument("name", metavar="NAME", help="name of the new flow")
    link.add_argument("to", metavar="TO", nargs="?", default="", help="name, id or number")
    move.add_argument("to", metavar="TO", help="name, id or number")
    move.add_flag("--copy", "let it stay where it is, too")

    name = parser.add_command("name", "Names the branch from SRC to DST; an empty name takes it away.", _name)
    name.add_argument("source", metavar="SRC", help="id of the earlier node")
    name.add_argument("target", metavar="DST", help="id of the later node")
    name.add_argument("name", metavar="NAME", help="name of the branch")

    count = parser.add_command("count", "Turns, conversations, tokens, cost, models and tags of a flow.", _count)
    count.add_argument("flow", metavar="FLOW", nargs="?", default=DEFAULT_FLOW, help="name, id or number")
    count.add_flag("--json", "print them as one JSON object")
    for each in (move, name, nest, link, add):
        each.add_argument("--flow", metavar="F", default=DEFAULT_FLOW, help="the flow (default: main)")
