"""vizprompt serve: the graph as a web page and over WebSocket."""

from __future__ import annotations

from collections.abc import Sequence


def main(data_dir: str, argv: Sequence[str], _prog: str) -> int:
    from nebula.cli.nebula_commands.serve import vizprompt_serve

    return vizprompt_serve(argv, data_dir)
