"""nebula demo: the main job with no key and no network.

A recording takes the place of the model; everything else is real: the loop, the tools, the approvals, the memory, the
journal and the graph work on a copy of the sample project in a temporary folder.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files

from nebula.cli.arguments import Parser
from nebula.cli.interactive import new_terminal
from nebula.cli.printing import tell_remark
from nebula.cli.settings import open_settings
from nebula.cli.terminal.terminal_session import TerminalSession
from nebula.cli.terminal.turns import take_turn
from nebula.config import load_settings
from nebula.errors import EXIT_INTERRUPTED
from nebula.language import translate
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.value import replace


def main(argv: Sequence[str]) -> int:
    parser = Parser("nebula demo", "Plays a recorded conversation through the real agent on a small sample project.")
    parser.add_flag("--auto", "answer every question with yes, and end by itself")
    parser.add_flag("--keep", "keep the temporary project to look at")
    options = parser.parse_args(argv)
    folder = tempfile.mkdtemp(prefix="nebula-demo-")
    try:
        return asyncio.run(_play(folder, options.auto or not sys.stdin.isatty()))
    finally:
        if options.keep:
            tell_remark("kept: {folder}", folder=folder)
        else:
            shutil.rmtree(folder)


async def _play(folder: str, auto: bool) -> int:
    project = os.path.join(folder, "todo")
    with as_file(files("nebula.demo") / "sample") as sample:
        shutil.copytree(sample, project, ignore=shutil.ignore_patterns("__pycache__"))
    lang = open_settings("nebula", project).lang
    script = json.loads((files("nebula.demo") / f"recording.{lang}.json").read_text(encoding="utf-8"))
    home = os.path.join(folder, "home")
    settings = replace(load_settings(project, {"NEBULA_HOME": home, "NEBULA_LANG": lang}), model="recording")
    chosen = ChosenModel(ReplayModel(script["replies"], pace_s=0 if auto else 0.01), "recording")
    terminal = new_terminal(argparse.Namespace(yes=auto, allow=(), compact=None), settings)
    introduction = translate(
        "This is a recording: no model is asked. Everything else is real, on a copy of a sample project in {folder}",
        folder=project,
    )
    terminal.screen.line(f"{introduction}\n")
    with terminal.input.attached():
        await terminal.open(None, chosen=chosen)
        try:
            return await _perform(terminal, script["scenes"])
        finally:
            _show_graph(terminal)
            await terminal.session.close()


async def _perform(terminal: TerminalSession, scenes: Sequence[dict[str, str]]) -> int:
    code = 0
    for scene in scenes:
        terminal.switch_mode(scene["mode"])
        terminal.screen.line(terminal.label() + scene["prompt"])
        final = await take_turn(terminal, scene["prompt"])
        if final.status == "interrupted":
            return EXIT_INTERRUPTED
        code = max(code, final.exit_code)
    return code


def _show_graph(terminal: TerminalSession) -> None:
    graph, leaf = terminal.session.archive.graph, terminal.session.conversation.leaf
    if graph is not None and leaf:
        terminal.screen.line()
        terminal.screen.tell("the conversation graph:")
        for line in graph.draw_map("main").splitlines():
            terminal.screen.line(f"  {line}")
