"""nebula graph: the conversation graph of this project, with the views of `vizprompt`."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula.cli import vizprompt
from nebula.cli.arguments import Parser, checked_root, take_option
from nebula.cli.nebula_commands.conversation import graph_merge, graph_share
from nebula.cli.printing import print_line, print_lines, tell_remark
from nebula.cli.program import Subcommand, list_commands, unknown_command
from nebula.cli.vizprompt_commands.showing import flow_lines, legend, remark_on_unreadable
from nebula.graph.graph import Graph
from nebula.language import translate

COMMANDS = ("flow", "node", "tag", "undo", "redo", "search", "context", "check", "build")
"""Of those that `vizprompt` has."""
SHARE = "share"
_SHARE = Subcommand(".graph_share", "let git keep the conversation of this project")


def main(argv: Sequence[str]) -> int | None:
    root, rest = take_option(argv, "--root")
    place = checked_root(root)
    data_dir = os.path.join(place, ".nebula", "graph")
    if rest and rest[0] == graph_merge.COMMAND:
        return graph_merge.merge_file(rest[1:])
    graph_merge.tell_settled(data_dir)
    if rest and rest[0] == SHARE:
        return graph_share.main(place, rest[1:])
    if rest and rest[0] in COMMANDS:
        return vizprompt.run_command(rest[0], rest[1:], data_dir, "nebula graph")
    if rest and not rest[0].startswith("-"):
        raise unknown_command(rest[0], (*COMMANDS, SHARE))
    listed = {name: vizprompt.COMMANDS[name] for name in COMMANDS} | {SHARE: _SHARE}
    parser = Parser(
        "nebula graph",
        "The conversation graph of this project.",
        epilog=f"{list_commands(listed)}\n\n{translate('Without a command: the map of every flow.')}",
        usage="nebula graph [--root DIR] [COMMAND …]",
    )
    parser.add_root()
    parser.parse_args(rest)
    _show_maps(data_dir)
    return None


def _show_maps(data_dir: str) -> None:
    with Graph(data_dir) as graph:
        known = graph.list_flows()
        flows = [flow for flow in known if flow.entries]
        for line, flow in zip(flow_lines(flows, known), flows, strict=True):
            print_line(line)
            print_line(graph.draw_map(flow.id))
            print_lines(legend(graph, flow))
            print_line()
        remark_on_unreadable(graph)
        unreadable = graph.unreadable_flows()
    if not flows and not unreadable:
        tell_remark("The conversation graph is empty so far.")
