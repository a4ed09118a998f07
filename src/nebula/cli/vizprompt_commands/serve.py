"""vizprompt serve: graph and plain chat; its turns are recorded like all others, and have no file tools."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent.session import CHAT
from nebula.cli.nebula_commands.servers.serve import check_door, serve_conversation, serve_parser
from nebula.cli.settings import open_settings, session_overrides
from nebula.graph.graph import Graph
from nebula.language import translate
from nebula.server.conversation.turns.agent import AgentTurns


def main(data_dir: str, argv: Sequence[str], prog: str) -> int:
    parser = serve_parser(
        prog,
        translate(
            "The conversation graph as a web page and a WebSocket, with plain chat. On this machine alone no token is\n"
            "needed; --token asks for one."
        ),
    )
    options = parser.parse_args(argv)
    settings = open_settings("vizprompt", overrides=session_overrides(options))
    token = "" if options.no_token else options.token or settings.token
    check_door(options, token)

    from nebula.server.conversation.app import CHAT_MODES

    graph = Graph(data_dir)
    return serve_conversation(options, settings, token, graph, AgentTurns(settings, graph, CHAT), CHAT_MODES)
