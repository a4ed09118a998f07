"""nebula serve: the conversation as a web page, agent included; what `vizprompt serve` has in common with it."""

from __future__ import annotations

import argparse
import os
from collections.abc import Sequence

from nebula.cli.arguments import Parser, UsageError, refuse_open_door
from nebula.cli.printing import print_remark
from nebula.cli.settings import open_project, remark_on_trust
from nebula.config import Settings
from nebula.graph.graph import Graph
from nebula.language import explain, translate
from nebula.server.conversation.protocol import MAX_RECEIVED
from nebula.server.conversation.turns.agent import AgentTurns
from nebula.workspace.state_folder import prepare_state_folder

DEFAULT_PORT = 8080
TOKEN_BYTES = 32


def main(argv: Sequence[str]) -> int:
    parser = serve_parser(
        "nebula serve",
        translate(
            "The conversation as a web page, agent included. Open the address it prints: the part after # is the\n"
            "token that lets the page in. Other programs send it as 'Authorization: Bearer'."
        ),
    )
    parser.add_root()
    parser.add_trust()
    options = parser.parse_args(argv)
    settings = open_project("nebula", options)
    token = _token(options, settings)

    from nebula.server.conversation.app import AGENT_MODES

    remark_on_trust("nebula serve", settings)
    for remark in prepare_state_folder(settings.root).remarks:
        print_remark(f"nebula serve: {explain(remark)}")
    graph = Graph(os.path.join(settings.state_dir, "graph"))
    return serve_conversation(options, settings, token, graph, AgentTurns(settings, graph), AGENT_MODES)


def _token(options: argparse.Namespace, settings: Settings) -> str:
    """Return the token that is asked for: always where files can be changed, unless its user says no."""
    if options.no_token:
        check_door(options, "")
        return ""
    if options.token or settings.token:
        # Not put into the settings: those are shown to other servers, which need not know ours.
        return options.token or settings.token
    import secrets

    return secrets.token_urlsafe(TOKEN_BYTES)


def check_door(options: argparse.Namespace, token: str) -> None:
    if options.no_token and options.token:
        raise UsageError("--token and --no-token cannot be used together")
    refuse_open_door(options.host, token)


def serve_conversation(
    options: argparse.Namespace,
    settings: Settings,
    token: str,
    graph: Graph,
    runner: AgentTurns,
    modes: tuple[str, ...],
) -> int:
    from urllib.parse import quote

    from nebula.server.conversation.app import create_conversation
    from nebula.server.serving import listen, rules_for, serve

    listener = listen(options.host, options.port)
    rules = rules_for(listener, *options.allow_host, token=token)
    app = create_conversation(graph, settings, rules, runner, modes, _session_words)
    address = f"{listener.url}/#token={quote(token, safe='')}" if token else listener.url
    return serve(app, listener, announce=address, websocket_bytes=MAX_RECEIVED)


def _session_words() -> frozenset[str]:
    from nebula.cli.terminal.commands.table import command_words  # it loads the terminal

    return command_words()


def serve_parser(prog: str, description: str) -> Parser:
    parser = Parser(prog, description)
    parser.add_server(DEFAULT_PORT)
    parser.add_flag("--no-token", "ask for none; on this machine alone")
    parser.add_model()
    return parser
