"""vizprompt chat: talk to a model; every exchange becomes a node."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.cli.arguments import Parser, UsageError, examples
from nebula.cli.vizprompt_commands.build import provider_options
from nebula.cli.vizprompt_commands.create_node import read_text
from nebula.language import translate

if TYPE_CHECKING:
    from nebula.cli.vizprompt_commands.chat_session import ChatSession
    from nebula.config import Settings
    from nebula.graph.graph import Graph
    from nebula.llm.choose import ChosenModel

_EXAMPLES = (
    "vizprompt chat --ollama -m qwen3:8b",
    'vizprompt chat --openai "What is a directed acyclic graph?"',
    'vizprompt chat --gemini --from ID "And what about trees?"',
)


def _epilog() -> str:
    about = translate(
        "With a prompt: one exchange ('-' reads the prompt from standard input). Without: a conversation, line by\n"
        "line, in a new flow; inside it /q /clear /flow list /flow show /flow select /prev /retry /?"
    )
    return f"{about}\n\n{examples(*_EXAMPLES)}\n"


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    options = _parser(prog).parse_args(argv)
    if options.budget is not None and options.budget < 1:
        raise UsageError("--budget must be above zero")
    prompt = read_text("-") if options.prompt == "-" else options.prompt
    if prompt is not None and not prompt.strip():
        raise UsageError("the prompt is empty")
    from nebula.cli.settings import open_settings
    from nebula.graph.graph import Graph
    from nebula.llm.choose import choose_model

    settings = open_settings("vizprompt")
    # One loop for the whole conversation: connections to the model are kept between exchanges.
    with Graph(data_dir) as graph, asyncio.Runner() as runner:
        options.from_nodes = [graph.resolve_id(each) for each in options.from_nodes]
        wish = graph.settings.suggested_model
        model = runner.run(choose_model(settings, options.model or "", provider=options.provider, suggested=wish))
        try:
            session = _session(runner, graph, model, settings, options)
            return session.once(prompt) if prompt is not None else session.converse()
        finally:
            runner.run(model.connector.aclose())


def _session(
    runner: asyncio.Runner, graph: Graph, model: ChosenModel, settings: Settings, options: argparse.Namespace
) -> ChatSession:
    from nebula.cli.vizprompt_commands.chat_session import ChatSession, Speaker
    from nebula.cli.vizprompt_commands.exchange import Exchange
    from nebula.graph.context.preview import DEFAULT_BUDGET
    from nebula.messages.redaction import Redactor

    speaker = Speaker(live=sys.stdout.isatty())
    budget = options.budget or DEFAULT_BUDGET
    exchange = Exchange(graph, model, speaker, budget, settings.lang, Redactor(settings.secrets))
    return ChatSession(runner, exchange, speaker, flow=options.flow, parents=options.from_nodes)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, translate("Talks to a model; every exchange becomes a node of the graph."), epilog=_epilog())
    provider_options(parser, required=True)
    parser.add_argument("--flow", metavar="F", help=translate("put the nodes into this flow, and go on at its end"))
    parser.add_argument(
        "--from", dest="from_nodes", metavar="ID", action="append", default=[], help=translate("go on from this node")
    )
    parser.add_argument(
        "--budget", metavar="N", type=int, help=translate("tokens of context before a prompt (default: 8000)")
    )
    parser.add_argument("prompt", nargs="?", help=translate("one prompt; without it a conversation begins"))
    return parser
