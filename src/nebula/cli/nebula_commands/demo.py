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
from importlib.resources import files
from typing import Any

from nebula.agent.assembly import open_session
from nebula.agent.session import Session
from nebula.cli.arguments import Parser
from nebula.cli.headless import interruptible
from nebula.config import Settings, load_settings
from nebula.events import Stamped
from nebula.llm.choose import ChosenModel
from nebula.llm.replay import ReplayModel
from nebula.stage import Close, Remark, Say, Stage, StageOptions
from nebula.tools.approval import Approver, Decision, Question, allow_all
from nebula.value import replace

MARK = {
    "en": "This is a recording: no model is asked. Everything else is real, on a copy of a sample project in",
    "ja": "これは録画です。モデルには問い合わせません。それ以外はすべて本物で、次の場所にあるサンプルの複製で動きます:",
}
ASK = {
    "en": "  {verb} {path} (+{added} -{removed})  allow? [y/N/d] ",
    "ja": "  {verb} {path} (+{added} -{removed})  許可しますか? [y/N/d] ",
}
VERBS = {"en": {"create": "create", "overwrite": "edit"}, "ja": {"create": "作成", "overwrite": "編集"}}
GRAPH = {"en": "the conversation graph:", "ja": "会話のグラフ:"}


def main(argv: Sequence[str]) -> int:
    parser = Parser("nebula demo", "Plays a recorded conversation through the real agent on a small sample project.")
    parser.add_argument("--auto", action="store_true", help="answer every question with yes, and end by itself")
    parser.add_argument("--keep", action="store_true", help="keep the temporary project to look at")
    options = parser.parse_args(argv)
    folder = tempfile.mkdtemp(prefix="nebula-demo-")
    try:
        return asyncio.run(_play(folder, options.auto or not sys.stdin.isatty()))
    finally:
        if options.keep:
            print(f"kept: {folder}", file=sys.stderr)
        else:
            shutil.rmtree(folder)


async def _play(folder: str, auto: bool) -> int:
    project = os.path.join(folder, "todo")
    with _sample() as sample:
        shutil.copytree(sample, project, ignore=shutil.ignore_patterns("__pycache__"))
    lang = load_settings(project).lang
    script = _recording(lang)
    home = os.path.join(folder, "home")
    settings = replace(load_settings(project, {"NEBULA_HOME": home, "NEBULA_LANG": lang}), model="recording")
    chosen = ChosenModel(ReplayModel(script["replies"], pace_s=0 if auto else 0.01), "recording")
    print(f"{MARK[lang]} {project}\n")
    session = await open_session(settings, approver=allow_all if auto else _ask(lang), chosen=chosen)
    code = 0
    try:
        for scene in script["scenes"]:
            session.mode = scene["mode"]
            print(f"[{session.mode.upper()}] You: {scene['prompt']}\n", flush=True)
            final = await interruptible(session, scene["prompt"], _Audience(settings))
            print(flush=True)
            code = max(code, final.exit_code)
            if final.status == "interrupted":
                break
    finally:
        _show_graph(session, lang)
        await session.close()
    return code


def _show_graph(session: Session, lang: str) -> None:
    graph = session.archive.graph
    if graph is not None and session.conversation.leaf:
        print(GRAPH[lang])
        for line in graph.draw_map("main").splitlines():
            print(f"  {line}")


class _Audience:
    """Shows what the stage shows, in plain text."""

    def __init__(self, settings: Settings) -> None:
        self._stage = Stage(StageOptions(settings.lang))

    def __call__(self, stamped: Stamped) -> None:
        for cue in self._stage.read(stamped):
            if isinstance(cue, Say):
                print(cue.text.rstrip() + "\n", flush=True)
            elif isinstance(cue, Remark):
                print(f"nebula: {cue.text}", file=sys.stderr, flush=True)
            elif isinstance(cue, Close):
                print(cue.line, flush=True)


def _ask(lang: str) -> Approver:
    async def ask(question: Question) -> Decision:
        proposal = question.proposal
        diff = proposal.diff
        lines = diff.splitlines()[2:]
        text = ASK[lang].format(
            verb=VERBS[lang][proposal.mode],
            path=proposal.path,
            added=sum(line.startswith("+") for line in lines),
            removed=sum(line.startswith("-") for line in lines),
        )
        while (answer := (await asyncio.to_thread(input, text)).strip()) == "d":
            print(diff)
        return Decision.read(answer)

    return ask


def _sample() -> Any:
    from importlib.resources import as_file

    return as_file(files("nebula.demo") / "sample")


def _recording(lang: str) -> Any:
    text = (files("nebula.demo") / f"recording.{lang}.json").read_text(encoding="utf-8")
    return json.loads(text)
