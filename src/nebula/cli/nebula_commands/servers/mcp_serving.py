"""Serving the guarded file tools, once `nebula mcp` has its options: the protocol takes a second to load."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys

from nebula.agent.judging import judged_workspace
from nebula.cli.arguments import refuse_open_door
from nebula.cli.printing import print_remark
from nebula.config import Settings
from nebula.errors import EXIT_INTERRUPTED
from nebula.language import explain, translate
from nebula.server.gate import body_limit
from nebula.server.mcp.agent_tool import AgentTool
from nebula.server.mcp.app import MCP_PATH, GuardedTools, create_mcp_app, create_mcp_server, serve_stdio
from nebula.server.serving import listen, rules_for, serve
from nebula.tools.code.code_index import code_search
from nebula.workspace.audit import AuditLog
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace


def serve_here(options: argparse.Namespace, settings: Settings) -> int:
    """Serve on standard input and output."""
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr)
    _end_at_once_on_signals()
    asyncio.run(serve_stdio(create_mcp_server(_tools(options, settings, _audit(settings)), _agent(options, settings))))
    return 0


def _end_at_once_on_signals() -> None:
    """A thread is waiting on standard input and cannot be woken. Writes are whole or not at all, so none is harmed."""
    signal.signal(signal.SIGINT, lambda *_: os._exit(EXIT_INTERRUPTED))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))


def serve_http(options: argparse.Namespace, settings: Settings) -> int:
    refuse_open_door(options.host, settings.token)
    listener = listen(options.host, options.http)
    rules = rules_for(listener, token=settings.token, max_body=body_limit(settings.max_bytes))
    audit = _audit(settings)
    app = create_mcp_app(create_mcp_server(_tools(options, settings, audit), _agent(options, settings)), rules, audit)
    return serve(app, listener, announce=listener.url + MCP_PATH)


def _tools(options: argparse.Namespace, settings: Settings, audit: AuditLog | None) -> GuardedTools:
    policy = Policy(max_bytes=settings.max_bytes, allowed=frozenset(options.allow))
    workspace = open_workspace(settings.root, policy, read_only=options.read_only)
    return GuardedTools(judged_workspace(workspace, settings), settings.root, audit, code_search(settings))


def _agent(options: argparse.Namespace, settings: Settings) -> AgentTool | None:
    if not options.agent:
        return None
    return AgentTool(settings, options.read_only, tuple(options.allow))


def _audit(settings: Settings) -> AuditLog | None:
    """None, with a remark, where the project cannot be written to at all."""
    try:
        return AuditLog(settings.root, settings.audit_log, settings.secrets)
    except (OSError, WorkspaceError) as problem:
        print_remark(f"nebula: {translate('there will be no audit log: {reason}', reason=explain(problem))}")
        return None
