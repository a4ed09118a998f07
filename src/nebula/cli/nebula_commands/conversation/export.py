"""nebula export: a part of the conversation as Markdown, HTML or JSON."""

from __future__ import annotations

import os
from collections.abc import Sequence

from nebula.cli.arguments import checked_root, root_option
from nebula.cli.settings import open_settings
from nebula.cli.vizprompt_commands.export import export_parser, print_part


def main(argv: Sequence[str]) -> None:
    parser = export_parser("nebula export")
    root_option(parser)
    options = parser.parse_args(argv)
    root = checked_root(options.root)
    print_part(os.path.join(root, ".nebula", "graph"), options, open_settings("nebula", root))
