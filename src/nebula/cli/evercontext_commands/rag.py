"""evercontext rag: the code index over REST."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial

from nebula.cli.arguments import Parser, refuse_open_door
from nebula.cli.settings import open_project
from nebula.tools.code.code_index import open_index
from nebula.workspace.audit import AuditLog

DEFAULT_PORT = 8788


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        "evercontext rag",
        "The code index over REST: POST /search, /ingest, /prune; GET /status; /docs tells all.\n"
        "It is built on the first start, follows commits, and lies in ~/.nebula, or in the database EC_INDEX_URL.",
    )
    parser.add_app_root()
    parser.add_server(DEFAULT_PORT)
    options = parser.parse_args(argv)
    settings = open_project("evercontext", options, token=options.token)

    from nebula.server.rag.app import create_rag
    from nebula.server.serving import listen, rules_for, serve

    refuse_open_door(options.host, settings.token)
    audit = AuditLog(settings.root, settings.audit_log, settings.secrets)
    listener = listen(options.host, options.port)
    rules = rules_for(listener, *options.allow_host, token=settings.token)
    stop = threading.Event()
    return serve(create_rag(partial(open_index, settings), rules, audit, stop), listener, stop=stop)
