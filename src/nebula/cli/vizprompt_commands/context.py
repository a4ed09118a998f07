"""vizprompt context: what a model would be told before a prompt, and what it costs."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.vizprompt_commands.showing import print_json, remark
from nebula.stage import neutralise

_EPILOG = """\
examples:
  vizprompt context ID --prompt "And then?"
  vizprompt context ID1 ID2 --budget 2000 --json
"""


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    parser = Parser(prog, "The context of a prompt that continues from these nodes, as it is sent.", epilog=_EPILOG)
    parser.add_argument("ids", metavar="ID", nargs="+", help="the node to continue from; several merge")
    parser.add_argument("--prompt", metavar="T", default="", help="the prompt")
    parser.add_argument("--flow", metavar="F", help="the flow to look for the path in")
    parser.add_argument("--budget", metavar="N", type=int, help="tokens it may cost (default: 8000)")
    parser.add_argument("-m", "--model", metavar="MODEL", default="", help="the model whose tokens count")
    parser.add_argument("--json", action="store_true", help="print the parts as JSON")
    options = parser.parse_args(argv)
    if options.budget is not None and options.budget < 1:
        raise UsageError("--budget must be above zero")
    from nebula.config import load_settings
    from nebula.graph.context.preview import DEFAULT_BUDGET, preview_context
    from nebula.graph.graph import Graph

    with Graph(data_dir) as graph:
        preview = preview_context(
            graph,
            options.ids,
            options.prompt,
            budget=options.budget or DEFAULT_BUDGET,
            flow=options.flow,
            model=options.model,
            lang=load_settings().lang,
        )
    if options.json:
        print_json(preview.to_json())
        return 0
    print(neutralise(preview.text))
    cost = ("" if preview.exact else "about ") + str(preview.total_tokens + preview.frame_tokens)
    remark(f"{cost} of {preview.budget} tokens, {len(preview.left_out)} nodes left out")
    return 0
