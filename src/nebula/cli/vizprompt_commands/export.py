"""vizprompt export: a part of the conversation as Markdown, HTML or JSON, to read and to give away."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from nebula.cli.arguments import Parser
from nebula.cli.printing import fit_to_print, make_room, print_json, print_remark
from nebula.cli.settings import open_settings
from nebula.cli.vizprompt_commands.showing import remark_on_unreadable
from nebula.config.settings import Settings
from nebula.exchange.export.excerpt import choose_excerpt, redact_excerpt
from nebula.exchange.export.markdown import write_markdown
from nebula.exchange.export.page import write_page
from nebula.graph.graph import Graph
from nebula.language import translate_count
from nebula.messages.redaction import Redactor


def main(data_dir: str, argv: Sequence[str], prog: str) -> None:
    options = export_parser(prog).parse_args(argv)
    print_part(data_dir, options, open_settings("vizprompt"))


def print_part(data_dir: str, options: argparse.Namespace, settings: Settings) -> None:
    with Graph(data_dir) as graph:
        chosen = choose_excerpt(graph, options.part, branch=options.branch)
        remark_on_unreadable(graph)
    excerpt, marks = redact_excerpt(chosen, Redactor(settings.secrets))
    make_room()
    if options.format == "json":
        print_json(excerpt.to_json())
    elif options.format == "html":
        sys.stdout.write(fit_to_print(write_page(excerpt, settings.lang)))
    else:
        sys.stdout.write(fit_to_print(write_markdown(excerpt)))
    sys.stdout.flush()
    counted = "1 turn; marked as [redacted]: {marks}", "{count} turns; marked as [redacted]: {marks}"
    print_remark(translate_count(len(excerpt.nodes), *counted, marks=marks))
    if excerpt.unreadable:
        count = len(excerpt.unreadable)
        print_remark(
            translate_count(
                count,
                "Left out, because it cannot be read: {count} turn",
                "Left out, because they cannot be read: {count} turns",
            )
        )


def export_parser(prog: str) -> Parser:
    parser = Parser(
        prog,
        "A part of the conversation, for people and programs without nebula.",
        about=(
            "Printed to standard output. What looks like a key is marked and counted; look through it all the same\n"
            "before you give it away."
        ),
        examples=(
            f"{prog} main > conversation.md",
            f"{prog} main --format html > conversation.html",
            f"{prog} 0198f3 --branch --format json",
        ),
    )
    parser.add_argument("part", metavar="FLOW|NODE", help="a flow by name or id, or a node by its id")
    parser.add_argument("--format", choices=("markdown", "html", "json"), default="markdown", help="what is printed")
    parser.add_flag("--branch", "with NODE: all turns that lead to it, too")
    return parser
