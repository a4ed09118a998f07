"""vizprompt chat: talk to a model; every answer becomes a node."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Sequence

from nebula.agent.assembly import open_session
from nebula.agent.session import CHAT, Session
from nebula.cli.arguments import Parser, UsageError
from nebula.cli.settings import open_settings
from nebula.cli.vizprompt_commands.build import provider_options
from nebula.cli.vizprompt_commands.chat.session import Chat
from nebula.cli.vizprompt_commands.create_node import read_text
from nebula.config import Settings
from nebula.graph.context.references import referenced_nodes
from nebula.graph.errors import GraphError
from nebula.graph.graph import Graph
from nebula.llm.choose import choose_model
from nebula.tools.approval import allow_all
from nebula.value import replace


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    options = _parser(prog).parse_args(argv)
    if options.budget is not None and options.budget < 1:
        raise UsageError("--budget must be above zero")
    prompt = read_text("-") if options.prompt == "-" else options.prompt
    if prompt is not None and not prompt.strip():
        raise UsageError("the prompt is empty")
    settings = open_settings("vizprompt")
    # One loop for the whole conversation: connections to the model are kept between turns.
    with Graph(data_dir) as graph, asyncio.Runner() as runner:
        _resolve(graph, options)
        session = runner.run(_open(settings, graph, options))
        try:
            chat = Chat(
                runner, session, graph, flow=options.flow, parents=options.from_nodes, references=options.references
            )
            return chat.once(prompt) if prompt is not None else chat.converse()
        finally:
            runner.run(session.close())


def _resolve(graph: Graph, options: argparse.Namespace) -> None:
    """Find what the command line names; where something is missing nothing is sent."""
    try:
        options.from_nodes = [graph.resolve_id(each) for each in options.from_nodes]
        options.references = referenced_nodes(graph, options.references)
    except GraphError as problem:
        raise UsageError.of(problem) from None


async def _open(settings: Settings, graph: Graph, options: argparse.Namespace) -> Session:
    if "past" not in settings.origins:
        settings = replace(settings, past="summaries")
    wish = graph.settings.suggested_model
    chosen = await choose_model(settings, options.model or "", provider=options.provider, suggested=wish)
    session = await open_session(
        settings,
        approver=allow_all,  # a chat has nothing to approve
        mode=CHAT,
        chosen=chosen,
        open_graph=lambda: graph,
    )
    session.past_tokens = options.budget
    return session


def _parser(prog: str) -> Parser:
    parser = Parser(
        prog,
        "Talks to a model; every answer becomes a node of the graph.",
        about=(
            "With a prompt: one exchange ('-' reads the prompt from standard input). Without: a conversation, line by\n"
            "line, in a new flow; inside it /q /clear /flow list /flow show /flow select /prev /retry /?\n"
            "A prompt refers to earlier nodes by @ID (its beginning will do) and to tags by #tag."
        ),
        examples=(
            "vizprompt chat --ollama -m qwen3:8b",
            'vizprompt chat --openai "What is a directed acyclic graph?"',
            'vizprompt chat --gemini --from ID --ref "#graphs" "And what about trees?"',
        ),
    )
    provider_options(parser, required=True)
    parser.add_argument("--flow", metavar="F", help="put the nodes into this flow, and go on at its end")
    parser.add_repeatable("--from", "ID", "go on from this node", dest="from_nodes")
    parser.add_references("show the model this node, or the nodes with this tag, beside the path")
    parser.add_argument(
        "--budget", metavar="N", type=int, help="tokens for the past (default: what the model has room for)"
    )
    parser.add_argument("prompt", nargs="?", help="one prompt; without it a conversation begins")
    return parser
