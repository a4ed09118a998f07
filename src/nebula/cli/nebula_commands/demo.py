"""nebula demo: the main job with no key and no network.

A recording takes the place of the model; everything else is real: the loop, the tools, the approvals, the memory, the
journal and the graph work on a copy of the sample project in a temporary folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import Any

from nebula.agent.assembly import open_session
from nebula.agent.session import Session
from nebula.cli.arguments import Parser
from nebula.cli.headless.run import interruptible
from nebula.cli.printing import print_line, print_remark
from nebula.cli.settings import open_settings
from nebula.config import load_settings
from nebula.events import Stamped
from nebula.language import translate
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.stage import Close, Remark, Say, Stage, StageOptions, one_line
from nebula.tools.approval import AnyQuestion, Decision, Question, allow_all
from nebula.value import replace


def main(argv: Sequence[str]) -> int:
    parser = Parser(
        "nebula demo",
        translate("Plays a recorded conversation through the real agent on a small sample project."),
    )
    parser.add_argument(
        "--auto", action="store_true", help=translate("answer every question with yes, and end by itself")
    )
    parser.add_argument("--keep", action="store_true", help=translate("keep the temporary project to look at"))
    options = parser.parse_args(argv)
    folder = tempfile.mkdtemp(prefix="nebula-demo-")
    try:
        return asyncio.run(_play(folder, options.auto or not sys.stdin.isatty()))
    finally:
        if options.keep:
            print_remark(translate("kept: {folder}", folder=folder))
        else:
            shutil.rmtree(folder)


async def _play(folder: str, auto: bool) -> int:
    project = os.path.join(folder, "todo")
    with as_file(files("nebula.demo") / "sample") as sample:
        shutil.copytree(sample, project, ignore=shutil.ignore_patterns("__pycache__"))
    lang = open_settings("nebula", project).lang
    script = _recording(lang)
    home = os.path.join(folder, "home")
    settings = replace(load_settings(project, {"NEBULA_HOME": home, "NEBULA_LANG": lang}), model="recording")
    chosen = ChosenModel(ReplayModel(script["replies"], pace_s=0 if auto else 0.01), "recording")
    introduction = translate(
        "This is a recording: no model is asked. Everything else is real, on a copy of a sample project in {folder}",
        folder=project,
    )
    print_line(f"{introduction}\n")
    session = await open_session(settings, approver=allow_all if auto else _ask, chosen=chosen)
    code = 0
    try:
        for scene in script["scenes"]:
            session.mode = scene["mode"]
            print_line(f"[{session.mode.upper()}] You: {scene['prompt']}\n")
            with interruptible(session.settings, _Audience(lang)) as audience:
                final = await session.turn(scene["prompt"], [audience])
            print_line()
            code = max(code, final.exit_code)
            if final.status == "interrupted":
                break
    finally:
        _show_graph(session)
        await session.close()
    return code


def _show_graph(session: Session) -> None:
    graph = session.archive.graph
    if graph is not None and session.conversation.leaf:
        print_line(translate("the conversation graph:"))
        for line in graph.draw_map("main").splitlines():
            print_line(f"  {line}")


class _Audience:
    """Shows what the stage shows, in plain text."""

    def __init__(self, lang: str) -> None:
        self._stage = Stage(StageOptions(lang))

    def __call__(self, stamped: Stamped) -> None:
        for cue in self._stage.read(stamped):
            if isinstance(cue, Say):
                print_line(cue.text.rstrip() + "\n")
            elif isinstance(cue, Remark):
                print_remark(f"nebula: {cue.text}")
            elif isinstance(cue, Close):
                print_line(cue.line)


async def _ask(question: AnyQuestion) -> Decision:
    if not isinstance(question, Question):
        return Decision(False)  # the recording runs no commands
    proposal = question.proposal
    counted = f"{one_line(proposal.path)} (+{proposal.added} −{proposal.removed})"
    if proposal.mode == "create":
        text = translate("create {file}: allow? [y/N/d] ", file=counted)
    else:
        text = translate("edit {file}: allow? [y/N/d] ", file=counted)
    while (answer := (await asyncio.to_thread(input, f"  {text}")).strip()) == "d":
        print_line(proposal.diff)
    return Decision.read(answer)


def _recording(lang: str) -> Any:
    text = (files("nebula.demo") / f"recording.{lang}.json").read_text(encoding="utf-8")
    return json.loads(text)
