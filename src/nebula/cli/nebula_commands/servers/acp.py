"""nebula acp: the agent for editors, over the Agent Client Protocol."""

from __future__ import annotations

import argparse
import asyncio
import os
import stat
import sys
from collections.abc import Sequence
from contextlib import suppress

from nebula.cli.arguments import Parser, UsageError
from nebula.cli.settings import open_settings, session_overrides
from nebula.config import Settings
from nebula.programs import ending_signals
from nebula.server.acp.agent import AcpAgent
from nebula.server.acp.commands import EditorCommands, EditorDoor

MAX_LINE = 64 * 1024 * 1024
"""An image or an unsaved file may come in one line."""


def main(argv: Sequence[str]) -> None:
    options = _parser().parse_args(argv)
    asyncio.run(_serve(options))


async def _serve(options: argparse.Namespace) -> None:
    def load(folder: str) -> Settings:
        return open_settings("nebula", folder, session_overrides(options))

    def send(line: bytes) -> None:
        with suppress(BrokenPipeError):  # the editor has gone; its end of the input tells us as well
            sys.stdout.buffer.write(line)
            sys.stdout.buffer.flush()

    await AcpAgent(load, send, _make_commands).serve(await _standard_input())


def _make_commands(door: EditorDoor) -> EditorCommands:
    from nebula.cli.nebula_commands.servers.editor_commands import (
        TerminalCommands,  # an editor that starts us wants to hear that we are there
    )

    return TerminalCommands(door)


async def _standard_input() -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=MAX_LINE)
    try:
        _check_pipe()
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    except (ValueError, OSError):
        raise UsageError("an editor starts this command and talks with it through a pipe") from None
    for number in ending_signals():
        # As if the editor had gone: what is under way is interrupted, and sessions are closed.
        asyncio.get_running_loop().add_signal_handler(number, reader.feed_eof)
    return reader


def _check_pipe() -> None:
    """asyncio takes any character device for one, and fails on /dev/null when it is too late to say so."""
    mode = os.fstat(sys.stdin.fileno()).st_mode
    if not (stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) or sys.stdin.isatty()):
        raise ValueError


def _parser() -> Parser:
    parser = Parser(
        "nebula acp",
        (
            "The agent over the Agent Client Protocol, on standard input and output: for editors, which start it\n"
            "themselves. It asks the editor before each write; files and sessions are the same as in a terminal."
        ),
    )
    parser.add_model()
    parser.add_trust()
    parser.add_network()
    parser.add_flag("--backstage", "show the editor the tools at work")
    return parser
