"""nebula export: a part of the conversation as Markdown, HTML or JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula.cli.settings import open_project
from nebula.cli.vizprompt_commands.export import export_parser, print_part


def main(argv: Sequence[str]) -> None:
    parser = export_parser("nebula export")
    parser.add_root()
    options = parser.parse_args(argv)
    settings = open_project("nebula", options)
    print_part(os.path.join(settings.root, ".nebula", "graph"), options, settings)
