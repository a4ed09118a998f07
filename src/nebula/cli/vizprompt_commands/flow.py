"""vizprompt flow: list, show and rewire flows."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.cli.arguments import Parser
from nebula.cli.vizprompt_commands.showing import find_flow, flow_lines, legend, print_json, show_node

if TYPE_CHECKING:
    from nebula.graph.graph import Graph

_EPILOG = """\
A flow is named by its name, its id, or its number in `flow list`. The map that `show` draws: 1→2 goes on,
2< branches, >5 runs into node 5.

examples:
  vizprompt flow list
  vizprompt flow show main
  vizprompt flow connect SRC DST --branch "another try"
  vizprompt flow rebuild main ID1 ID2 ID3
"""


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    options = _parser(prog).parse_args(argv)
    run: Callable[[Graph, argparse.Namespace], int] = options.run
    from nebula.graph.graph import Graph

    with Graph(data_dir) as graph:
        return run(graph, options)


def _list(graph: Graph, options: argparse.Namespace) -> int:
    flows = graph.list_flows()
    if options.json:
        print_json([flow.to_json() for flow in flows])
        return 0
    for line in flow_lines(flows):
        print(line)
    return 0


def _show(graph: Graph, options: argparse.Namespace) -> int:
    flow = find_flow(graph, options.flow)
    if options.json:
        print_json({**flow.to_json(), "map": graph.draw_map(flow.id)})
        return 0
    print(graph.draw_map(flow.id))
    if options.log:
        for node_id in flow.nodes:
            print()
            show_node(graph.get_node(node_id))
    elif options.nodes or sys.stdout.isatty():
        print()
        for line in legend(graph, flow):
            print(line)
    return 0


def _connect(graph: Graph, options: argparse.Namespace) -> int:
    graph.connect_nodes(options.source, options.target, options.branch, flow=options.flow)
    print(f"Connected: {options.source} → {options.target}")
    return 0


def _disconnect(graph: Graph, options: argparse.Namespace) -> int:
    graph.disconnect_nodes(options.source, options.target, flow=options.flow)
    print(f"Disconnected: {options.source} → {options.target}")
    return 0


def _branch(graph: Graph, options: argparse.Namespace) -> int:
    node = graph.create_branch(options.node, options.name, options.prompt, options.response, flow=options.flow)
    print(f"Created node: {node.id}")
    return 0


def _rebuild(graph: Graph, options: argparse.Namespace) -> int:
    flow = graph.rebuild_flow(options.flow, options.ids)
    print(graph.draw_map(flow.id))
    return 0


def _parser(prog: str) -> Parser:
    from nebula.graph.values import DEFAULT_FLOW

    parser = Parser(prog, "Lists, shows and rewires flows.", epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)

    def command(name: str, about: str, run: Callable[[Graph, argparse.Namespace], int]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.set_defaults(run=run)
        return added

    listing = command("list", "All flows, with their numbers.", _list)
    listing.add_argument("--json", action="store_true", help="print them as one JSON list")

    show = command("show", "Draws the map of a flow.", _show)
    show.add_argument("flow", metavar="FLOW", help="name, id or number")
    show.add_argument("--nodes", action="store_true", help="say what the numbers stand for (a terminal always does)")
    show.add_argument("--log", action="store_true", help="show every node in full")
    show.add_argument("--json", action="store_true", help="print the flow as JSON")

    connect = command("connect", "Makes DST follow SRC. A circle is refused.", _connect)
    connect.add_argument("source", metavar="SRC", help="id of the earlier node")
    connect.add_argument("target", metavar="DST", help="id of the later node")
    connect.add_argument("--branch", metavar="NAME", help="name of the branch")

    disconnect = command("disconnect", "Takes away the connection from SRC to DST, and nothing else.", _disconnect)
    disconnect.add_argument("source", metavar="SRC", help="id of the earlier node")
    disconnect.add_argument("target", metavar="DST", help="id of the later node")

    branch = command("branch", "Begins a branch behind NODE with a new node.", _branch)
    branch.add_argument("node", metavar="NODE", help="id of the node to branch from")
    branch.add_argument("name", metavar="NAME", help="name of the branch")
    branch.add_argument("--prompt", metavar="T", default="", help="prompt of the new node")
    branch.add_argument("--response", metavar="T", default="", help="answer of the new node")

    rebuild = command("rebuild", "Makes FLOW the chain of exactly these nodes, in this order.", _rebuild)
    rebuild.add_argument("flow", metavar="FLOW", help="name or id")
    rebuild.add_argument("ids", metavar="ID", nargs="+", help="node ids")
    for each in (connect, disconnect, branch):
        each.add_argument("--flow", metavar="F", default=DEFAULT_FLOW, help="the flow (default: main)")
    return parser
