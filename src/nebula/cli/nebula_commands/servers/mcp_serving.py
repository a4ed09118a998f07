"""Serving the guarded file tools, once `nebula mcp` has its options: the protocol takes a second to load."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import signal
import sys
import time
from typing import Any

from mcp.server.lowlevel import Server

from nebula.agent.judging import judged_workspace
from nebula.cli.arguments import refuse_open_door
from nebula.cli.printing import print_remark
from nebula.config import Settings
from nebula.errors import EXIT_INTERRUPTED
from nebula.language import explain, translate
from nebula.programs import AT_ONCE_S, ending_signals
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
    for number in ending_signals():
        signal.signal(number, _end_at_once)
    agent = _agent(options, settings)
    server = create_mcp_server(_tools(options, settings, _audit(settings)), agent)
    asyncio.run(serve_stdio(server) if agent is None else _serve_with_agent(server, agent))
    return 0


def _end_at_once(number: int, _: object = None) -> None:
    """A thread is waiting on standard input and cannot be woken. Writes are whole or not at all, so none is harmed."""
    os._exit(EXIT_INTERRUPTED if number == signal.SIGINT else 0)


async def _serve_with_agent(server: Server[Any], agent: AgentTool) -> None:
    """Serve until standard input ends, or a signal comes: then turns under way are interrupted as by Ctrl-C. A second
    signal, if it does not come at once, does not wait for that."""
    loop = asyncio.get_running_loop()
    ending: list[asyncio.Task[None]] = []
    began = 0.0

    async def end(number: int) -> None:
        await agent.stop()
        _end_at_once(number)

    def hear(number: int) -> None:
        nonlocal began
        if not ending:
            began = time.monotonic()
            ending.append(loop.create_task(end(number)))
        elif time.monotonic() - began >= AT_ONCE_S:
            _end_at_once(number)

    for number in ending_signals():
        loop.add_signal_handler(number, hear, number)
    await serve_stdio(server)


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
