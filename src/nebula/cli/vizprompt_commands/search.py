"""vizprompt search: nodes by tag, keyword, full text, time, model, file and pin."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from typing import TextIO

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.printing import print_json, print_line, tell_remark
from nebula.cli.vizprompt_commands.showing import node_line, split_list, split_tags
from nebula.graph.derived.search import Found
from nebula.graph.graph import Graph
from nebula.graph.ids import sort_key
from nebula.language import translate

_PATIENCE = 10.0
"""Seconds that somebody at a terminal waits for a search without having asked to."""


def patience_for(output: TextIO, *, wait: bool) -> float:
    """Return the seconds that a search may take. A program that reads the answer would take a part for the whole."""
    return math.inf if wait or not output.isatty() else _PATIENCE


def _read_options(argv: Sequence[str], prog: str) -> argparse.Namespace:
    about = translate(
        "All that is given must match. Keywords are a node's tags and the words of its summary; text is looked for in\n"
        "prompt, answer, summary and tags. Without any of them: all nodes, newest first."
    )
    parser = Parser(
        prog,
        "Finds nodes; the best match comes first. No hit is no error.",
        about=about,
        examples=(
            'vizprompt search --tags "tag1,tag2"',
            'vizprompt search --keywords asyncio --text "event loop" --json',
            "vizprompt search --since 2026-01-31 --model gpt-5.1 --file src/limits.py",
        ),
    )
    parser.add_argument("--tags", metavar="a,b", help="tags that a node must have")
    parser.add_argument("--keywords", metavar="x,y", help="keywords that it must have")
    parser.add_argument("--text", metavar="T", help="words that must occur; quote a run of words")
    parser.add_argument("--since", metavar="DATE", help="from this moment on, as 2026-01-31")
    parser.add_argument("--until", metavar="DATE", help="up to this moment")
    parser.add_argument("--model", metavar="M", default="", help="answered by this model")
    parser.add_argument("--file", metavar="PATH", default="", help="changed a file with this in its path")
    parser.add_flag("--pinned", "only those that are pinned")
    parser.add_argument("--limit", metavar="N", type=int, help="at most so many")
    parser.add_flag("--wait", "wait until every node was read, however long (always, unless to a terminal)")
    parser.add_flag("--json", "print the nodes as one JSON list")
    options = parser.parse_args(argv)
    if options.limit is not None and options.limit < 1:
        raise UsageError("--limit must be above zero")
    return options


def main(data_dir: str, argv: Sequence[str], prog: str) -> None:
    options = _read_options(argv, prog)
    with Graph(data_dir) as graph:
        nodes = graph.search_nodes(
            tags=split_tags(options.tags),
            keywords=split_list(options.keywords),
            text=options.text or "",
            limit=options.limit,
            model=options.model,
            since=_moment("--since", options.since),
            until=_moment("--until", options.until),
            path=options.file,
            pinned=options.pinned,
            patience=patience_for(sys.stdout, wait=options.wait),
        )
        _tell_what_is_missing(nodes)
        shown = {} if options.json else graph.shortest_unique_ids([node.id for node in nodes])
    if options.json:
        print_json([node.to_json() for node in nodes])
        return
    for node in nodes:
        print_line(node_line(node, shown_id=shown[node.id]))


def _moment(option: str, text: str | None) -> float | None:
    if text is None:
        return None
    known, seconds, _ = sort_key(text)
    if not known:
        raise UsageError("{option} takes a date, as 2026-01-31 or 2026-01-31T09:30", option=option)
    return seconds


def _tell_what_is_missing(nodes: Found) -> None:
    if nodes.unread:
        sentence = "Not searched yet, the index is still being built: {count} nodes. --wait waits for them."
        tell_remark(sentence, count=nodes.unread)
    if nodes.unreadable:
        sentence = "Not searched, since they cannot be read: {count} files. vizprompt check names them."
        tell_remark(sentence, count=nodes.unreadable)
