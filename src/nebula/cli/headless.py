"""nebula -p: one task, no questions, results on stdout and remarks on stderr."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from nebula.agent.assembly import open_session, secrets_of
from nebula.cli.arguments import UsageError, checked_root
from nebula.config import Settings, load_settings
from nebula.events import Error, EventStream, Final, Reader, Stamped, Task
from nebula.graph.errors import GraphError
from nebula.llm.errors import ModelError
from nebula.memory.errors import RecordError
from nebula.memory.trace import TraceReader, json_line
from nebula.messages.redaction import Redactor
from nebula.stage import Backstage, Close, Remark, Say, Stage, StageOptions
from nebula.tools.approval import Decision, Question, allow_all
from nebula.workspace.errors import WorkspaceError
from nebula.workspace.state_folder import ensure_state_dir

if TYPE_CHECKING:
    from nebula.agent.session import Session

NOT_ALLOWED = "Nobody is there to ask, and the program was started without --yes: writes are refused in this run."


async def refuse_unattended(_: Question) -> Decision:
    return Decision(False, reason=NOT_ALLOWED)


def run_headless(options: argparse.Namespace) -> int:
    root = checked_root(options.root)
    prompt = _prompt(options.prompt)
    overrides = {
        "model": options.model,
        "provider": options.provider,
        "trust": options.trust or None,
        "backstage": options.backstage or None,
    }
    settings = load_settings(root, overrides=overrides)
    for remark in settings.remarks:
        print(f"nebula: {remark}", file=sys.stderr)
    return asyncio.run(_run(options, settings, prompt))


def _prompt(text: str) -> str:
    if text == "-":
        text = sys.stdin.buffer.read().decode("utf-8", "replace")
    if not text.strip():
        raise UsageError("the prompt is empty; say what to do after -p")
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


async def _run(options: argparse.Namespace, settings: Settings, prompt: str) -> int:
    show = _face(options.output_format, settings)
    try:
        session = await open_session(
            settings,
            approver=allow_all if options.yes else refuse_unattended,
            by_rule="yes" if options.yes else "no",
            mode=options.mode or "agent",
            resume="" if options.continue_last else options.resume,
            from_nodes=options.from_nodes,
            allow=options.allow,
        )
    except ModelError as error:
        return _not_begun(error.kind, str(error), options, settings, prompt, show)
    except (RecordError, WorkspaceError, GraphError) as error:
        if options.output_format == "text":
            raise
        return _not_begun("start", str(error), options, settings, prompt, show)
    try:
        final = await interruptible(session, prompt, show)
    finally:
        await session.close()
    if options.output_format == "text" and final.status == "interrupted":
        print(f"nebula: resume with: nebula --resume {session.id}", file=sys.stderr)
    return final.exit_code


async def interruptible(session: Session, prompt: str, show: Callable[[Stamped], None]) -> Final:
    """Runs a turn that Ctrl-C (or SIGTERM) ends properly; the second one takes the default way out.

    Where nothing can be shown any more (a closed pipe, a full disk) the turn ends the same way.
    """
    unheard: list[OSError] = []

    def hear(stamped: Stamped) -> None:
        if unheard:
            return
        try:
            show(stamped)
        except OSError as problem:
            unheard.append(problem)
            if not isinstance(stamped.event, Final):
                task.cancel()

    task = asyncio.create_task(session.turn(prompt, [hear]))
    loop = asyncio.get_running_loop()

    def interrupt(number: int) -> None:
        task.cancel()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt, number)
    try:
        final = await task
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    if unheard:
        raise unheard[0]
    return final


def _not_begun(
    kind: str,
    reason: str,
    options: argparse.Namespace,
    settings: Settings,
    prompt: str,
    show: Callable[[Stamped], None],
) -> int:
    """No model, no session: the stream still has a beginning and an end, for whoever reads it."""
    redactor = Redactor(secrets_of(settings))
    stream = EventStream("", recorders=_trace(settings), audience=(show,), redactor=redactor)
    task = Task(prompt, options.mode or "agent", settings.model, settings.provider)
    for event in (task, Error(kind, reason), Final("", "error", 1, remark=reason)):
        stream.emit(event, must_record=False)
    return 1


def _trace(settings: Settings) -> tuple[Reader, ...]:
    try:
        folder = ensure_state_dir(settings.root)
    except WorkspaceError:
        return ()
    return (TraceReader(os.path.join(folder, "trace.jsonl")),)


def _face(output_format: str, settings: Settings) -> Callable[[Stamped], None]:
    if output_format == "stream-json":
        return lambda stamped: _print_json(stamped.to_json())
    if output_format == "json":
        return lambda stamped: _print_json(stamped.to_json()) if isinstance(stamped.event, Final) else None
    return _TextFace(settings)


def _print_json(value: Any) -> None:
    print(json_line(value), flush=True)


class _TextFace:
    """Plain text: what the audience sees goes to stdout, everything else to stderr."""

    def __init__(self, settings: Settings) -> None:
        self._stage = Stage(StageOptions(settings.lang, settings.curtain, settings.backstage))
        self._spoken = False

    def __call__(self, stamped: Stamped) -> None:
        for cue in self._stage.read(stamped):
            if isinstance(cue, Say):
                print(("\n" if self._spoken else "") + cue.text.rstrip("\n"), flush=True)
                self._spoken = True
            elif isinstance(cue, Remark):
                print(f"nebula: {cue.text}", file=sys.stderr, flush=True)
            elif isinstance(cue, Backstage):
                print(f"· {cue.title}" + (f"\n{cue.text}" if cue.text else ""), file=sys.stderr, flush=True)
            elif isinstance(cue, Close) and cue.line and cue.final.files_changed:
                print(cue.line, file=sys.stderr, flush=True)
