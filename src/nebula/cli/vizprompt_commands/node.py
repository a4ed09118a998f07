"""vizprompt node: show, edit and delete a node."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.vizprompt_commands.showing import node_line, print_json, remark, show_node, split_list

if TYPE_CHECKING:
    from nebula.graph.graph import Graph

_EPILOG = """\
examples:
  vizprompt node show ID --json
  vizprompt node edit ID --prompt "asked better" --tags a,b
  vizprompt node delete ID --yes
"""


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    options = _parser(prog).parse_args(argv)
    run: Callable[[Graph, argparse.Namespace], int] = options.run
    from nebula.graph.graph import Graph

    with Graph(data_dir) as graph:
        return run(graph, options)


def _show(graph: Graph, options: argparse.Namespace) -> int:
    node = graph.get_node(options.id)
    if options.json:
        print_json(node.to_json())
    else:
        show_node(node)
    return 0


def _edit(graph: Graph, options: argparse.Namespace) -> int:
    if options.prompt is None and options.response is None and options.tags is None:
        raise UsageError("say what to change: --prompt, --response or --tags")
    tags = None if options.tags is None else split_list(options.tags)
    node = graph.update_node(options.id, prompt=options.prompt, response=options.response, tags=tags)
    print(f"Updated node: {node.id}")
    if node.updated:
        remark("Its summary is due: run vizprompt build.")
    return 0


def _delete(graph: Graph, options: argparse.Namespace) -> int:
    node = graph.get_node(options.id)
    if not options.yes and not _confirmed(node_line(node)):
        remark("Nothing was deleted.")
        return 1
    graph.delete_node(node.id)
    print(f"Deleted node: {node.id}")
    return 0


def _confirmed(line: str) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to ask; add --yes to delete the node")
    remark(line)
    print("Delete this node and its connections? (y/N): ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _parser(prog: str) -> Parser:
    parser = Parser(prog, "Shows, edits and deletes a node.", epilog=_EPILOG)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)

    def command(name: str, about: str, run: Callable[[Graph, argparse.Namespace], int]) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=about, description=about)
        added.add_argument("id", metavar="ID", help="id of the node")
        added.set_defaults(run=run)
        return added

    show = command("show", "Shows a node in full.", _show)
    show.add_argument("--json", action="store_true", help="print it as JSON")

    edit = command("edit", "Changes what is given. New text makes the summary due.", _edit)
    edit.add_argument("--prompt", metavar="T", help="the new prompt")
    edit.add_argument("--response", metavar="T", help="the new answer")
    edit.add_argument("--tags", metavar="a,b", help="the new tags; an empty text removes all")

    delete = command("delete", "Deletes a node and its connections; its neighbours are not joined.", _delete)
    delete.add_argument("--yes", action="store_true", help="do not ask")
    return parser
