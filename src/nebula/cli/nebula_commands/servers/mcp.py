"""nebula mcp: the guarded file tools over the Model Context Protocol."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.cli.arguments import Parser, check_allowed, port_number
from nebula.cli.settings import open_project

WORDS = ("add", "remove", "list", "test", "login", "logout")
"""What is done with the servers whose tools join ours, by a parser of its own."""


def main(argv: Sequence[str]) -> int:
    if argv and argv[0] in WORDS:
        from nebula.cli.nebula_commands.servers.external_servers import main as servers_main

        return servers_main(argv)
    options = _parser().parse_args(argv)
    check_allowed(options.allow)
    settings = open_project("nebula", options, token=options.token)
    from nebula.cli.nebula_commands.servers.mcp_serving import serve_here, serve_http

    return serve_here(options, settings) if options.http is None else serve_http(options, settings)


def _parser() -> Parser:
    parser = Parser(
        "nebula mcp",
        (
            "The guarded file tools (list, readFile, searchInDirectory, searchCode, writeFile, editFile) over the\n"
            "Model Context Protocol: on standard input and output, or by streamable HTTP with --http.\n"
            "The servers whose tools nebula itself may use: nebula mcp add | remove | list | test | login | logout."
        ),
    )
    parser.add_root()
    parser.add_argument("--http", type=port_number, metavar="PORT", help="serve by HTTP there; 0 takes any free port")
    parser.add_host()
    parser.add_token()
    parser.add_flag("--read-only", "offer no tool that writes")
    parser.add_flag("--agent", "also offer the agent: whole tasks, done without a question as with --yes")
    parser.add_model()
    parser.add_allow()
    return parser
