"""vizprompt flow: make, list, show and rewire flows."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_json, print_line, print_lines, tell_line
from nebula.cli.vizprompt_commands.flow_changes import add_changes
from nebula.cli.vizprompt_commands.showing import find_flow, legend, print_flows, run_on_graph, show_node
from nebula.graph.errors import AmbiguousId, NotFound
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW
from nebula.language import translate


def main(data_dir: str, argv: Sequence[str], prog: str) -> int | None:
    return run_on_graph(_parser(prog), data_dir, argv)


def _list(graph: Graph, options: argparse.Namespace) -> None:
    if options.json:
        print_json([flow.to_json() for flow in graph.list_flows() if options.archived or not flow.archived])
        return
    print_flows(graph, archived=options.archived)


def _create(graph: Graph, options: argparse.Namespace) -> None:
    try:
        known = graph.get_flow(options.name)
    except NotFound:
        flow = graph.create_flow(options.name, options.description)
        tell_line("Created flow: {id}", id=flow.id)
    else:
        tell_line("There is a flow of that name already: {id}", id=known.id)


def _show(graph: Graph, options: argparse.Namespace) -> None:
    flow = find_flow(graph, options.flow)
    if options.json:
        print_json({**flow.to_json(), "map": graph.draw_map(flow.id)})
        return
    print_line(graph.draw_map(flow.id))
    if options.log:
        for node_id in flow.nodes:
            print_line()
            show_node(graph.get_node(node_id))
    elif options.nodes or sys.stdout.isatty():
        print_line()
        print_lines(legend(graph, flow))


def _connect(graph: Graph, options: argparse.Namespace) -> None:
    source, target = graph.resolve_id(options.source), graph.resolve_id(options.target)
    graph.connect_nodes(source, target, options.branch, flow=_known_flow(graph, options))
    tell_line("Connected: {source} → {target}", source=source, target=target)


def _disconnect(graph: Graph, options: argparse.Namespace) -> None:
    source, target = _end(graph, options.source), _end(graph, options.target)
    graph.disconnect_nodes(source, target, flow=_known_flow(graph, options))
    tell_line("Disconnected: {source} → {target}", source=source, target=target)


def _known_flow(graph: Graph, options: argparse.Namespace) -> str:
    """Return the id of the flow; `main`, which the first use makes, needs none."""
    return DEFAULT_FLOW if options.flow == DEFAULT_FLOW else find_flow(graph, options.flow).id


def _end(graph: Graph, name: str) -> str:
    """Return an end of a connection; it may be a node that is gone."""
    try:
        return graph.resolve_id(name)
    except AmbiguousId:
        raise
    except NotFound:
        return name


def _branch(graph: Graph, options: argparse.Namespace) -> None:
    behind, flow = graph.resolve_id(options.node), _known_flow(graph, options)
    node = graph.create_branch(behind, options.name, options.prompt, options.response, flow=flow)
    tell_line("Created node: {id}", id=node.id)


def _rebuild(graph: Graph, options: argparse.Namespace) -> None:
    flow = graph.rebuild_flow(_known_flow(graph, options), [graph.resolve_id(each) for each in options.ids])
    print_line(graph.draw_map(flow.id))


def _parser(prog: str) -> Parser:
    about = translate(
        "A flow is named by its name, its id, or its number in `flow list`. The map that `show` draws: 1→2 goes on,\n"
        "2< branches, >5 runs into node 5."
    )
    parser = Parser(
        prog,
        "Makes, lists, shows and rewires flows.",
        about=about,
        examples=(
            "vizprompt flow list",
            'vizprompt flow create "another subject"',
            "vizprompt flow show main",
            'vizprompt flow connect SRC DST --branch "another try"',
            "vizprompt flow rebuild main ID1 ID2 ID3",
        ),
    )
    _add_commands(parser)
    return parser


def _add_commands(parser: Parser) -> None:
    listing = parser.add_command("list", "All flows, with their numbers.", _list)
    listing.add_flag("--archived", "those that are archived as well")
    listing.add_flag("--json", "print them as one JSON list")

    create = parser.add_command("create", "Makes an empty flow, and prints its id.", _create)
    create.add_argument("name", metavar="NAME", help="name of the flow")
    create.add_argument("--description", metavar="T", default="", help="what it is about")

    show = parser.add_command("show", "Draws the map of a flow.", _show)
    show.add_argument("flow", metavar="FLOW", help="name, id or number")
    show.add_flag("--nodes", "say what the numbers stand for (a terminal always does)")
    show.add_flag("--log", "show every node in full")
    show.add_flag("--json", "print the flow as JSON")

    connect = parser.add_command("connect", "Makes DST follow SRC. A circle is refused.", _connect)

    disconnect = parser.add_command(
        "disconnect", "Takes away the connection from SRC to DST, and nothing else.", _disconnect
    )
    for each in (connect, disconnect):
        each.add_argument("source", metavar="SRC", help="id of the earlier node")
        each.add_argument("target", metavar="DST", help="id of the later node")
    connect.add_argument("--branch", metavar="NAME", help="name of the branch")

    branch = parser.add_command("branch", "Begins a branch behind NODE with a new node.", _branch)
    branch.add_argument("node", metavar="NODE", help="id of the node to branch from")
    branch.add_argument("name", metavar="NAME", help="name of the branch")
    branch.add_argument("--prompt", metavar="T", default="", help="prompt of the new node")
    branch.add_argument("--response", metavar="T", default="", help="answer of the new node")

    rebuild = parser.add_command("rebuild", "Makes FLOW the chain of exactly these nodes, in this order.", _rebuild)
    rebuild.add_argument("flow", metavar="FLOW", help="name, id or number")
    rebuild.add_argument("ids", metavar="ID", nargs="+", help="node ids")
    for each in (connect, disconnect, branch):
        each.add_argument("--flow", metavar="F", default=DEFAULT_FLOW, help="the flow (default: main)")
    add_changes(parser)
