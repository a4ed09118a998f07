"""evercontext gateway: the guarded files over REST."""

from __future__ import annotations

from collections.abc import Sequence

from nebula.agent.judging import judged_workspace
from nebula.cli.arguments import Parser, refuse_open_door
from nebula.cli.settings import open_project
from nebula.server.gate import body_limit
from nebula.workspace.audit import AuditLog
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace

DEFAULT_PORT = 8787


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        "evercontext gateway",
        "The files below one directory over REST: POST /list_files, /read_file, /write_file; /docs tells all.\n"
        "Allowed file kinds, size and audit log are set by EC_ALLOW_EXT, EC_MAX_BYTES and EC_AUDIT_LOG.",
    )
    parser.add_app_root()
    parser.add_server(DEFAULT_PORT)
    options = parser.parse_args(argv)
    settings = open_project("evercontext", options, token=options.token)

    from nebula.server.gateway.app import QUICK_LIMIT, create_gateway
    from nebula.server.serving import listen, rules_for, serve

    refuse_open_door(options.host, settings.token)
    policy = Policy(extensions=settings.allow_ext, max_bytes=settings.max_bytes)
    workspace = judged_workspace(open_workspace(settings.root, policy), settings)
    audit = AuditLog(settings.root, settings.audit_log, settings.secrets)
    listener = listen(options.host, options.port)
    rules = rules_for(listener, *options.allow_host, token=settings.token, max_body=body_limit(settings.max_bytes))
    app = create_gateway(workspace, rules, audit, quick_reads=settings.max_bytes <= QUICK_LIMIT)
    return serve(app, listener)
