"""vizprompt create-node: a prompt and its answer as a node."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.printing import tell_line
from nebula.cli.vizprompt_commands.showing import split_tags, undoable
from nebula.graph.graph import Graph
from nebula.graph.values import DEFAULT_FLOW
from nebula.language import translate


def main(data_dir: str, argv: Sequence[str], prog: str) -> None:
    options = _parser(prog).parse_args(argv)
    if options.prompt_file == options.response_file == "-":
        raise UsageError("only one of the two texts can come from standard input")
    prompt = options.prompt if options.prompt_file is None else read_text(options.prompt_file)
    response = options.response if options.response_file is None else read_text(options.response_file)

    with Graph(data_dir) as graph, undoable(graph, prog, argv):
        node = graph.create_node(
            prompt,
            response,
            tags=split_tags(options.tags),
            model=options.model or "",
            flow=options.flow,
            parents=[graph.resolve_id(each) for each in options.parent],
            branch=options.branch,
        )
    tell_line("Created node: {id}", id=node.id)


def read_text(path: str) -> str:
    """Return a file's text, every line break as it stands."""
    if path == "-":
        data = sys.stdin.buffer.read()
    else:
        with open(path, "rb") as file:
            data = file.read()
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as problem:
        name = translate("standard input") if path == "-" else path
        raise UsageError("{name}: not UTF-8 (byte {place})", name=name, place=problem.start) from None


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog,
        "Stores a prompt and its answer as a node, and prints its id.",
        about="Files are read as UTF-8 exactly as they are; '-' is standard input.",
        examples=(
            'vizprompt create-node --prompt "What is a DAG?" --response "A graph without circles."',
            "vizprompt create-node --prompt-file input.txt --response-file output.txt --tags graph,theory",
            'vizprompt create-node --prompt "And a tree?" --response-file - --parent ID < answer.txt',
        ),
    )
    prompt = parser.add_mutually_exclusive_group(required=True)
    prompt.add_argument("--prompt", metavar="T", help="the prompt")
    prompt.add_argument("--prompt-file", metavar="F", help="the file that holds it")
    response = parser.add_mutually_exclusive_group(required=True)
    response.add_argument("--response", metavar="T", help="the answer")
    response.add_argument("--response-file", metavar="F", help="the file that holds it")
    parser.add_argument("--tags", metavar="a,b", help="tags")
    parser.add_argument("--model", metavar="M", help="the model that answered")
    parser.add_argument("--flow", metavar="F", default=DEFAULT_FLOW, help="the flow to put it in (default: main)")
    parser.add_repeatable("--parent", "ID", "the node it follows (repeatable: merge)")
    parser.add_argument("--branch", metavar="NAME", help="name of the branch that begins with it")
    return parser
