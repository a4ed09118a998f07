"""vizprompt node: list, show, edit, mark and delete nodes."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.asking import ask
from nebula.cli.printing import print_json, print_line, print_remark, tell_line, tell_remark
from nebula.cli.vizprompt_commands.showing import find_flow, node_line, run_on_graph, show_node, split_tags
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW, Node
from nebula.language import agrees, translate


def main(data_dir: str, argv: Sequence[str], prog: str) -> int | None:
    return run_on_graph(_parser(prog), data_dir, argv)


def _list(graph: Graph, options: argparse.Namespace) -> None:
    if options.limit is not None and options.limit < 1:
        raise UsageError("--limit must be above zero")
    if options.pinned:
        nodes: list[Node] = graph.search_nodes(pinned=True, limit=options.limit, patience=math.inf)
    else:
        nodes = graph.list_nodes_outside()[: options.limit] if options.outside else graph.list_nodes(options.limit)
    if options.json:
        print_json([node.to_json() for node in nodes])
        return
    shown = graph.shortest_unique_ids([node.id for node in nodes])
    for node in nodes:
        print_line(node_line(node, shown_id=shown[node.id]))


def _show(graph: Graph, options: argparse.Namespace) -> None:
    node = graph.get_node(graph.resolve_id(options.id))
    if options.json:
        print_json(node.to_json())
    else:
        show_node(node)


def _edit(graph: Graph, options: argparse.Namespace) -> None:
    if all(each is None for each in (options.prompt, options.response, options.tags, options.summary)):
        raise UsageError("say what to change: --prompt, --response, --summary or --tags")
    tags = None if options.tags is None else split_tags(options.tags)
    changed = {"prompt": options.prompt, "response": options.response, "summary": options.summary}
    node = graph.update_node(graph.resolve_id(options.id), tags=tags, **changed)
    tell_line("Updated node: {id}", id=node.id)
    if node.updated:
        tell_remark("Its summary is due: run vizprompt build.")


def _pin(graph: Graph, options: argparse.Namespace) -> None:
    node = graph.update_node(graph.resolve_id(options.id), pinned=True)
    tell_line("Pinned node: {id} (vizprompt node list --pinned)", id=node.id)


def _unpin(graph: Graph, options: argparse.Namespace) -> None:
    node = graph.update_node(graph.resolve_id(options.id), pinned=False)
    tell_line("No longer pinned: {id}", id=node.id)


def _note(graph: Graph, options: argparse.Namespace) -> None:
    node = graph.update_node(graph.resolve_id(options.id), note=options.text)
    tell_line("Updated node: {id}", id=node.id)


def _delete(graph: Graph, options: argparse.Namespace) -> int:
    node = graph.get_node(graph.resolve_id(options.id))
    if not options.yes and not _confirmed(node_line(node)):
        tell_remark("Nothing was deleted.")
        return 1
    if options.branch:
        deleted = graph.delete_branch(node.id, find_flow(graph, options.flow).id)
        tell_line("Deleted nodes: {count}", count=len(deleted))
        return 0
    graph.delete_node(node.id)
    tell_line("Deleted node: {id}", id=node.id)
    return 0


def _confirmed(line: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to ask; add --yes to delete the node")

    print_remark(line)
    return agrees(ask(translate("Delete this node and its connections? (y/N): ")))


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog,
        "Lists, shows, edits, marks and deletes nodes.",
        examples=(
            "vizprompt node list --outside",
            "vizprompt node show ID --json",
            'vizprompt node edit ID --prompt "asked better" --tags a,b',
            'vizprompt node note ID "ask again when 2.0 is out"',
            "vizprompt node delete ID --yes",
        ),
    )
    listing = parser.add_command("list", "All nodes, newest first.", _list)
    chosen = listing.add_mutually_exclusive_group()
    chosen.add_argument("--outside", action="store_true", help="only those that are in no flow")
    chosen.add_argument("--pinned", action="store_true", help="only those that are pinned")
    listing.add_argument("--limit", metavar="N", type=int, help="at most so many")
    listing.add_flag("--json", "print the nodes as one JSON list")

    show = parser.add_command("show", "Shows a node in full.", _show)
    edit = parser.add_command("edit", "Changes what is given. New text makes the summary due.", _edit)
    pin = parser.add_command("pin", "Marks a node, to be found again.", _pin)
    unpin = parser.add_command("unpin", "Takes the mark away.", _unpin)
    note = parser.add_command("note", "Writes a note beside a node; an empty text takes it away.", _note)
    about = translate("Deletes a node and its connections; its neighbours are not joined.")
    delete = parser.add_command("delete", about, _delete)
    for each in (show, edit, pin, unpin, note, delete):
        each.add_argument("id", metavar="ID", help="id of the node")

    show.add_flag("--json", "print it as JSON")
    edit.add_argument("--prompt", metavar="T", help="the new prompt")
    edit.add_argument("--response", metavar="T", help="the new answer")
    edit.add_argument("--summary", metavar="T", help="the new summary")
    edit.add_argument("--tags", metavar="a,b", help="the new tags; an empty text removes all")
    note.add_argument("text", metavar="TEXT", help="what to write; no model gets to see it")
    delete.add_flag("--branch", "with all nodes that follow from it alone")
    delete.add_argument("--flow", metavar="F", default=DEFAULT_FLOW, help="the flow (default: main)")
    delete.add_flag("--yes", "do not ask")
    return parser
