"""The one turn of `nebula -p`: opened, shown in the chosen format, and ended properly whatever happens."""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from nebula.agent.assembly import open_session
from nebula.attachments import Attachment
from nebula.cli.arguments import checked_root
from nebula.cli.headless.prompt import read_images, read_prompt, refuse_session_command
from nebula.cli.headless.text import TextFace, chosen_face
from nebula.cli.printing import compacted, print_remark
from nebula.cli.settings import open_settings, remark_on_trust, session_overrides
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_USAGE, NebulaError
from nebula.events import Approval, Error, EventStream, Final, Notice, Reader, Stamped, Task
from nebula.graph.errors import GraphError
from nebula.language import Sentence, explain, sentence_of, translate
from nebula.memory.trace import TraceReader
from nebula.messages.redaction import Redactor
from nebula.tools.approval import Decision, allow_all
from nebula.value import replace
from nebula.workspace.state_folder import prepare_state_folder

if TYPE_CHECKING:
    from nebula.agent.session import Session

NOT_ALLOWED = "Nobody is there to ask, and the program was started without --yes: writes are refused in this run."
"""What the model is told."""


class OutputFailed(NebulaError):
    """What was said could not be shown: nobody reads any more, or the disk behind standard output is full."""


async def refuse_unattended(_: Approval) -> Decision:
    return Decision(False, reason=NOT_ALLOWED)


def run_headless(options: argparse.Namespace) -> int:
    root = checked_root(options.root)
    refuse_session_command(options.prompt)
    images = read_images(options.images)
    prompt, piped = read_prompt(options.prompt)
    settings = open_settings("nebula", root, session_overrides(options))
    return asyncio.run(_run(options, settings, prompt, (*piped, *images)))


async def _run(options: argparse.Namespace, settings: Settings, prompt: str, attachments: Sequence[Attachment]) -> int:
    show = chosen_face(options.output_format, lambda: TextFace(settings))
    remark_on_trust("nebula", settings)
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
    except NebulaError as error:
        code = EXIT_USAGE if isinstance(error, GraphError) and options.from_nodes else error.exit_code
        return _not_begun(error, code, options, settings, prompt, show)
    try:
        if options.compact:
            await session.compact(options.compact)
        elif options.compact is not None:
            session.conversation.compact()
        if (focus := compact_focus(prompt)) is not None:
            return await _compact(session, focus, prompt, show)
        if options.with_files and (problem := await asyncio.to_thread(_take_files, session)):
            return _not_begun(problem, problem.exit_code, options, settings, prompt, show)
        references = _references(session, options.references)
        with interruptible(settings, show) as audience:
            final = await session.turn(prompt, [audience], references=references, attachments=attachments)
        if final.node_id and (unreadable := await asyncio.to_thread(session.archive.unreadable)):
            print_remark(f"nebula: {explain(unreadable)}")
    except GraphError as error:
        return _not_begun(error, EXIT_USAGE, options, settings, prompt, show)
    finally:
        await session.close()
    if options.output_format == "text" and final.status == "interrupted":
        print_remark(f"nebula: {translate('resume with: nebula --resume {id}', id=session.id)}")
    return final.exit_code


def _take_files(session: Session) -> NebulaError | None:
    """The files go back with the talk; what changes is shown before it does, and /undo takes it back.

    What is in the way, where something is: nothing was touched then.
    """
    from nebula.agent.node_files import described
    from nebula.agent.undo import UndoRefused, carry_out, restore_plan

    files = session.project.workspace
    leaf = session.conversation.leaf
    node = session.archive.find(leaf) if leaf else None
    if node is None:
        return None
    try:
        plan = restore_plan(files, node)
        found = described(files, plan)
        diffs = "".join(each.diff.text for each in found.files).rstrip("\n")
        if diffs:
            print_remark(f"nebula: {translate('What changes:')}\n{diffs}")
        if found.deleted:
            deleted = translate(", ").join(found.deleted)
            print_remark(f"nebula: {translate('Deleted by hand, and brought back: {files}', files=deleted)}")
        if plan.passed_over:
            left = translate(", ").join(plan.passed_over)
            print_remark(f"nebula: {translate('Changed by hand since, and left so: {files}', files=left)}")
        touched = carry_out(files, plan)
    except UndoRefused as refusal:
        return refusal
    if not touched:
        return None
    session.turn_ids.add(plan.group)
    print_remark(f"nebula: {translate('Put back: {files}', files=translate(', ').join(touched))}")
    return None


def compact_focus(prompt: str) -> str | None:
    """The one command of a session that also makes sense alone; None for anything else."""
    word, _, focus = prompt.strip().partition(" ")
    return focus.strip() if word == "/compact" else None


async def _compact(session: Session, focus: str, prompt: str, show: Callable[[Stamped], None]) -> int:
    before = session.summaries.usage
    count = await session.compact(focus)
    stream = EventStream(session.id, recorders=_trace(session.settings), audience=(show,), redactor=session.redactor)
    stream.emit(Task(prompt, session.mode, session.chosen.name, session.chosen.provider))
    for remark in session.take_remarks():
        stream.emit(Notice(remark.sentence, remark.values))
    stream.emit(Final(compacted(count), "ok", 0, usage=session.summaries.usage - before))
    return 0


def _references(session: Session, named: Sequence[str]) -> Sequence[str]:
    if not named or (graph := session.archive.graph) is None:  # opened only if it has to be: that takes a while
        return ()
    from nebula.graph.context.references import referenced_nodes

    return referenced_nodes(graph, named)


@contextmanager
def interruptible(settings: Settings, show: Callable[[Stamped], None]) -> Iterator[Reader]:
    """Ctrl-C (or SIGTERM) ends the turn of the block properly; the second one takes the default way out.

    The turn is shown to the reader that this gives. Where nothing can be shown any more (a closed pipe, a full disk)
    the turn ends as failed, in the trace too.
    """
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    assert task is not None  # noqa: S101 - whoever awaits a turn is one

    def interrupt(number: int) -> None:
        task.cancel()
        loop.remove_signal_handler(number)

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt, number)
    audience = _Audience(show)
    try:
        yield audience
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
    while task.cancelling():  # the turn has ended; what follows it is not cancelled
        task.uncancel()
    if audience.problem is not None:
        if audience.last is not None:
            _correct(settings, audience.last, audience.problem)
        raise audience.problem


class _Audience:
    """Shows events until that fails; then the turn is told to end, and nothing more is tried."""

    def __init__(self, show: Callable[[Stamped], None]) -> None:
        self._show = show
        self.problem: OSError | None = None
        self.last: Stamped | None = None
        """The `Final` whose showing failed: it was recorded before, and says what is not true any more."""

    def __call__(self, stamped: Stamped) -> None:
        if self.problem is not None:
            return
        try:
            self._show(stamped)
        except OSError as problem:
            self.problem = problem
            if not isinstance(stamped.event, Final):
                raise OutputFailed("Standard output: {reason}", reason=problem.strerror or problem) from problem
            self.last = stamped


def _correct(settings: Settings, last: Stamped, problem: OSError) -> None:
    final = last.event
    if isinstance(final, Final):
        stream = EventStream(last.session_id, last.trace_id, _trace(settings), seq=last.seq)
        remark = Sentence("Standard output: {problem}", problem=problem.strerror)
        failed = replace(final, status="error", exit_code=EXIT_FAILED, remark=remark)
        stream.emit(failed, must_record=False)


def _not_begun(
    error: NebulaError,
    exit_code: int,
    options: argparse.Namespace,
    settings: Settings,
    prompt: str,
    show: Callable[[Stamped], None],
) -> int:
    """No model, no session: the stream still has a beginning and an end, for whoever reads it."""
    text = options.output_format == "text"
    redactor = Redactor(settings.secrets)
    stream = EventStream("", recorders=_trace(settings), audience=() if text else (show,), redactor=redactor)
    task = Task(prompt, options.mode or "agent", settings.model, settings.provider)
    final = Final("", "error", exit_code, remark=sentence_of(error))
    for event in (task, Error(getattr(error, "kind", "start"), error.sentence, error.values), final):
        stream.emit(event, must_record=False)
    if text:
        print_remark(f"nebula: {explain(error)}")
    return exit_code


def _trace(settings: Settings) -> tuple[Reader, ...]:
    if not prepare_state_folder(settings.root).keeps_records:
        return ()
    return (TraceReader(os.path.join(settings.state_dir, "trace.jsonl")),)
