"""nebula mcp: the guarded file tools over the Model Context Protocol."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from nebula.agent.judging import judged_workspace
from nebula.cli.arguments import (
    Parser,
    allow_option,
    check_allowed,
    checked_root,
    flag,
    host_option,
    model_options,
    port_number,
    refuse_open_door,
    root_option,
    token_option,
)
from nebula.cli.printing import print_remark
from nebula.cli.settings import open_settings
from nebula.errors import EXIT_INTERRUPTED
from nebula.language import explain, translate
from nebula.server.gate import body_limit
from nebula.tools.code.code_index import code_search
from nebula.workspace.audit import AuditLog
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.policy import Policy
from nebula.workspace.local import open_workspace

if TYPE_CHECKING:
    from nebula.config import Settings
    from nebula.server.mcp.agent_tool import AgentTool
    from nebula.server.mcp.app import GuardedTools


def main(argv: Sequence[str]) -> int:
    if argv and argv[0] in ("add", "remove", "list", "test", "login", "logout"):
        from nebula.cli.nebula_commands.servers.external_servers import main as servers_main

        return servers_main(argv)
    options = _parser().parse_args(argv)
    check_allowed(options.allow)
    root = checked_root(options.root)
    overrides = {"token": options.token, "model": options.model, "provider": options.provider}
    settings = open_settings("nebula", root, overrides)
    if options.http is None:
        return _over_stdio(options, settings)
    return _over_http(options, settings)


def _over_stdio(options: argparse.Namespace, settings: Settings) -> int:
    import asyncio
    import logging

    from nebula.server.mcp.app import create_mcp_server, serve_stdio

    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    _end_at_once_on_signals()
    asyncio.run(serve_stdio(create_mcp_server(_tools(options, settings, _audit(settings)), _agent(options, settings))))
    return 0


def _end_at_once_on_signals() -> None:
    """A thread is waiting on standard input and cannot be woken. Writes are whole or not at all, so none is harmed."""
    import os
    import signal

    signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def _over_http(options: argparse.Namespace, settings: Settings) -> int:
    from nebula.server.mcp.app import MCP_PATH, create_mcp_app, create_mcp_server
    from nebula.server.serving import listen, rules_for, serve

    refuse_open_door(options.host, settings.token)
    listener = listen(options.host, options.http)
    rules = rules_for(listener, token=settings.token, max_body=body_limit(settings.max_bytes))
    audit = _audit(settings)
    app = create_mcp_app(create_mcp_server(_tools(options, settings, audit), _agent(options, settings)), rules, audit)
    return serve(app, listener, announce=listener.url + MCP_PATH)


def _tools(options: argparse.Namespace, settings: Settings, audit: AuditLog | None) -> GuardedTools:
    from nebula.server.mcp.app import GuardedTools

    policy = Policy(max_bytes=settings.max_bytes, allowed=frozenset(options.allow))
    workspace = open_workspace(settings.root, policy, read_only=options.read_only)
    return GuardedTools(judged_workspace(workspace, settings), settings.root, audit, code_search(settings))


def _agent(options: argparse.Namespace, settings: Settings) -> AgentTool | None:
    if not options.agent:
        return None
    from nebula.server.mcp.agent_tool import AgentTool

    return AgentTool(settings, options.read_only, tuple(options.allow))


def _audit(settings: Settings) -> AuditLog | None:
    """None, with a remark, where the project cannot be written to at all."""
    try:
        return AuditLog.wanted(settings.audit_log, settings.root, settings.secrets)
    except (OSError, WorkspaceError) as problem:
        print_remark(f"nebula: {translate('there will be no audit log: {reason}', reason=explain(problem))}")
        return None


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "nebula mcp",
        translate(
            "The guarded file tools (list, readFile, searchInDirectory, searchCode, writeFile, editFile) over the\n"
            "Model Context Protocol: on standard input and output, or by streamable HTTP with --http.\n"
            "The servers whose tools nebula itself may use: nebula mcp add | remove | list | test | login | logout."
        ),
    )
    root_option(parser)
    parser.add_argument(
        "--http", type=port_number, metavar="PORT", help=translate("serve by HTTP there; 0 takes any free port")
    )
    host_option(parser)
    token_option(parser)
    flag(parser, "--read-only", translate("offer no tool that writes"))
    flag(parser, "--agent", translate("also offer the agent: whole tasks, done without a question as with --yes"))
    model_options(parser)
    allow_option(parser)
    return parser
