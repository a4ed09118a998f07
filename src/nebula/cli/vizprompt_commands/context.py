"""vizprompt context: a path as one text to give to any model, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.printing import print_json, print_line, tell_remark
from nebula.cli.settings import open_settings
from nebula.cli.vizprompt_commands.showing import remark_on_unreadable
from nebula.graph.context.preview import DEFAULT_BUDGET, preview_context
from nebula.graph.context.references import referenced_nodes
from nebula.graph.graph import Graph


def main(data_dir: str, argv: Sequence[str], prog: str) -> None:
    options = _parser(prog).parse_args(argv)
    if options.budget is not None and options.budget < 1:
        raise UsageError("--budget must be above zero")
    with Graph(data_dir) as graph:
        preview = preview_context(
            graph,
            [graph.resolve_id(each) for each in options.ids],
            options.prompt,
            budget=options.budget or DEFAULT_BUDGET,
            flow=options.flow,
            references=referenced_nodes(graph, options.references),
            full=[graph.resolve_id(each) for each in options.full],
            lang=open_settings("vizprompt").lang,
        )
        remark_on_unreadable(graph)
    if options.json:
        print_json(preview.to_json())
        return
    print_line(preview.text)
    figures = {
        "tokens": preview.total_tokens + preview.frame_tokens,
        "budget": preview.budget,
        "count": len(preview.left_out),
    }
    tell_remark("about {tokens} of {budget} tokens; nodes left out: {count}", **figures)


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog,
        "The path to these nodes and a prompt behind it, as one text to give to any model.",
        examples=(
            'vizprompt context ID --prompt "And then?"',
            "vizprompt context ID1 ID2 --full ID3 --budget 2000 --json",
        ),
    )
    parser.add_argument("ids", metavar="ID", nargs="+", help="the node to continue from; several merge")
    parser.add_argument("--prompt", metavar="T", default="", help="the prompt")
    parser.add_references("show this node, or the nodes with this tag, beside the path")
    parser.add_repeatable("--full", "ID", "show this node in full wherever it stands")
    parser.add_argument("--flow", metavar="F", help="the flow to look for the path in")
    parser.add_argument("--budget", metavar="N", type=int, help="tokens it may cost (default: 8000)")
    parser.add_flag("--json", "print the parts as JSON")
    return parser
