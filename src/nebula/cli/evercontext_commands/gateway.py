"""evercontext gateway: the guarded files over REST."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from nebula.cli.arguments import Parser, UsageError, checked_root
from nebula.config import load_settings

DEFAULT_PORT = 8787


def main(argv: Sequence[str]) -> int:
    options = _parser().parse_args(argv)
    root = checked_root(options.root or os.environ.get("EC_APP_ROOT"))
    settings = load_settings(root, overrides={"token": options.token})
    for remark in settings.remarks:
        print(f"evercontext: {remark}", file=sys.stderr)

    from nebula.server.gate import body_limit
    from nebula.server.gateway.app import QUICK_LIMIT, create_gateway
    from nebula.server.serving import is_loopback, listen, rules_for, serve
    from nebula.workspace.audit import AuditLog
    from nebula.workspace.guard.policy import Policy
    from nebula.workspace.local import open_workspace

    if not settings.token and not is_loopback(options.host):
        raise UsageError(f"{options.host} can be reached by others: set EC_TOKEN (or --token), or bind to 127.0.0.1")
    workspace = open_workspace(root, Policy(extensions=settings.allow_ext, max_bytes=settings.max_bytes))
    audit = AuditLog(settings.audit_log) if settings.audit_log else AuditLog.of_project(root)
    listener = listen(options.host, options.port)
    rules = rules_for(listener, *options.allow_host, token=settings.token, max_body=body_limit(settings.max_bytes))
    app = create_gateway(workspace, rules, audit, quick_reads=settings.max_bytes <= QUICK_LIMIT)
    return serve(app, listener)


def _parser() -> argparse.ArgumentParser:
    parser = Parser(
        "evercontext gateway",
        "The files below one directory over REST: POST /list_files, /read_file, /write_file; /docs tells all.\n"
        "Allowed file kinds, size and audit log are set by EC_ALLOW_EXT, EC_MAX_BYTES and EC_AUDIT_LOG.",
    )
    parser.add_argument("--root", metavar="DIR", help="the files (default: EC_APP_ROOT, else the current directory)")
    parser.add_argument("--host", default="127.0.0.1", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    parser.add_argument(
        "--port",
        type=port_number,
        default=DEFAULT_PORT,
        metavar="N",
        help=f"0 takes any free one (default: {DEFAULT_PORT})",
    )
    parser.add_argument(
        "--token", metavar="T", help="what clients must show; EC_TOKEN keeps it out of the process list"
    )
    parser.add_argument(
        "--allow-host",
        metavar="NAME",
        action="append",
        default=[],
        help="a name clients may call this machine by, when listening on all addresses (repeatable)",
    )
    return parser


def port_number(text: str) -> int:
    if not text.isdecimal() or int(text) > 65535:
        raise argparse.ArgumentTypeError("expected a number from 0 to 65535")
    return int(text)
