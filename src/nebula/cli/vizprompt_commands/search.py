"""vizprompt search: nodes by tag, keyword and full text."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.vizprompt_commands.showing import node_line, print_json, split_list

_EPILOG = """\
All that is given must match. Keywords are a node's tags and the words of its summary; text is looked for in
prompt, answer, summary and tags. Without any of them: all nodes, newest first.

examples:
  vizprompt search --tags "tag1,tag2"
  vizprompt search --keywords asyncio --text "event loop" --json
"""


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    parser = Parser(prog, "Finds nodes; the best match comes first. No hit is no error.", epilog=_EPILOG)
    parser.add_argument("--tags", metavar="a,b", help="tags that a node must have")
    parser.add_argument("--keywords", metavar="x,y", help="keywords that it must have")
    parser.add_argument("--text", metavar="T", help="words that must occur; quote a run of words")
    parser.add_argument("--limit", metavar="N", type=int, help="at most so many")
    parser.add_argument("--json", action="store_true", help="print the nodes as one JSON list")
    options = parser.parse_args(argv)
    if options.limit is not None and options.limit < 1:
        raise UsageError("--limit must be above zero")
    from nebula.graph.graph import Graph

    with Graph(data_dir) as graph:
        nodes = graph.search_nodes(
            tags=split_list(options.tags),
            keywords=split_list(options.keywords),
            text=options.text or "",
            limit=options.limit,
        )
    if options.json:
        print_json([node.to_json() for node in nodes])
        return 0
    for node in nodes:
        print(node_line(node))
    return 0
