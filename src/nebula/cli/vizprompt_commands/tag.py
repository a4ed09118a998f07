"""vizprompt tag: list tags, and give one another name everywhere."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import print_json, print_line, tell_line
from nebula.cli.vizprompt_commands.showing import one_line, run_on_graph
from nebula.graph.graph import Graph
from nebula.language import translate


def main(data_dir: str, argv: Sequence[str], prog: str) -> int | None:
    return run_on_graph(_parser(prog), data_dir, argv)


def _list(graph: Graph, options: argparse.Namespace) -> None:
    counts = graph.list_tags()
    if options.json:
        print_json(counts)
        return
    for tag, count in counts.items():
        print_line(f"{count:6}  #{one_line(tag)}")


def _rename(graph: Graph, options: argparse.Namespace) -> None:
    changed = graph.rename_tag(*(tag.lstrip("#＃").strip() for tag in (options.old, options.new)))
    tell_line("Nodes changed: {count}", count=len(changed))


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog,
        "Lists tags, and renames or merges them in every node.",
        examples=("vizprompt tag list", "vizprompt tag rename bug defect", 'vizprompt tag rename "old idea" ""'),
    )
    listing = parser.add_command("list", "Every tag, and how many nodes have it.", _list)
    listing.add_flag("--json", "print them as one JSON object")

    about = translate("Gives OLD the name NEW everywhere; where NEW is a tag already, the two become one.")
    rename = parser.add_command("rename", about, _rename)
    rename.add_argument("old", metavar="OLD", help="the tag")
    rename.add_argument("new", metavar="NEW", help="its new name; an empty text takes the tag away")
    return parser
