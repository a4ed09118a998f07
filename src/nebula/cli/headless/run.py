"""The one turn of `nebula -p`: opened, shown in the chosen format, and ended properly whatever happens."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from nebula.agent.assembly import open_session
from nebula.agent.loop import end_before_session
from nebula.agent.recording.redactors import redactor_of
from nebula.agent.session import Session
from nebula.attachments import Attachment
from nebula.cli.arguments import checked_root, write_last_message
from nebula.cli.busy import busy
from nebula.cli.headless.between import Between
from nebula.cli.headless.faces import LateTextFace, chosen_face
from nebula.cli.headless.prompt import expand_command, read_images, read_prompt, refuse_session_command
from nebula.cli.headless.signals import Signals
from nebula.cli.printing import compacted, print_remark
from nebula.cli.settings import open_settings, remark_on_trust, said_of_settings, session_overrides
from nebula.cli.start import hear_kept_signals, hear_no_more_signals
from nebula.config import Settings
from nebula.errors import EXIT_FAILED, EXIT_USAGE, NebulaError
from nebula.events import Approval, EventStream, Final, Notice, Reader, Stamped, Task
from nebula.graph.errors import GraphError
from nebula.language import Sentence, explain, language_of, translate
from nebula.memory.append import TraceReader
from nebula.tools.approval import Decision, allow_all
from nebula.value import replace
from nebula.workspace.state_folder import prepare_state_folder

NOT_ALLOWED = "Nobody is there to ask, and the program was started without --yes: writes are refused in this run."
"""What the model is told."""
_EARLY = "Interrupted before the model was asked."


class UnknownNode(NebulaError):
    """Raised when `--from` or `--ref` names no node."""

    kind = "start"
    exit_code = EXIT_USAGE


class OutputFailed(NebulaError):
    """What was said could not be shown: nobody reads any more, or the disk behind standard output is full."""

    kind = "output"


async def refuse_unattended(_: Approval) -> Decision:
    return Decision(False, reason=NOT_ALLOWED)


def run_headless(options: argparse.Namespace) -> int:
    try:
        hear_kept_signals()
        settings, prompt, attachments = _read_task(options)
    except KeyboardInterrupt:
        hear_no_more_signals()  # the rest takes a moment, and each of several signals means the same
        early = Settings(root=checked_root(options.root), lang=language_of(os.environ))
        show = chosen_face(options.output_format, lambda: LateTextFace(early, []), early.lang, [])
        return _end_before_turn(asyncio.CancelledError(), options, early, options.prompt, show, [])
    with busy():  # until there is something to show
        return asyncio.run(_run(options, settings, prompt, attachments))


def _read_task(options: argparse.Namespace) -> tuple[Settings, str, Sequence[Attachment]]:
    """Return the settings of a task, its prompt, and what comes with that. This may wait for standard input."""
    root = checked_root(options.root)
    refuse_session_command(options.prompt)
    images = read_images(options.images)
    settings = open_settings("nebula", root, session_overrides(options))
    prompt, piped = read_prompt(expand_command(options.prompt, settings))
    remark_on_trust("nebula", settings)
    return settings, prompt, (*piped, *images)


async def _run(options: argparse.Namespace, settings: Settings, prompt: str, attachments: Sequence[Attachment]) -> int:
    said = said_of_settings(settings)
    show = chosen_face(options.output_format, lambda: LateTextFace(settings, said), settings.lang, said)
    session: Session | None = None
    try:
        with interruptible(settings, show) as audience:
            try:
                session = await _open(options, settings)
                _hold_to_schema(session, options.output_schema)
                if (focus := compact_focus(prompt)) is not None:
                    return await _compact(session, focus, prompt, show, said)
                references = await _make_ready(session, options)
            except (NebulaError, asyncio.CancelledError) as problem:
                return _end_before_turn(problem, options, settings, prompt, show, said)
            readers, watchers = _readers(options, settings, audience)
            final = await session.turn(
                prompt, readers, references=references, attachments=attachments, watchers=watchers, said=said
            )
        await _look_after(session, final)
    finally:
        if session is not None:
            with busy(Sentence("finishing")):
                await session.close()
    write_last_message(options.output_last_message, final.text)
    if options.output_format == "text" and final.status == "interrupted":
        print_remark(f"nebula: {translate('resume with: nebula --resume {id}', id=session.id)}")
    return final.exit_code


def _readers(
    options: argparse.Namespace, settings: Settings, audience: Reader
) -> tuple[Sequence[Reader], Sequence[Reader]]:
    """Return who reads the events, and who is shown what goes on between two: a terminal, backstage, and a stream."""
    if options.output_format == "stream-json":
        between = Between(audience, partial=options.partial)
        return [between], [between]
    is_watched = options.output_format == "text" and (sys.stderr.isatty() or settings.backstage)
    return [audience], [audience] if is_watched else []


async def _open(options: argparse.Namespace, settings: Settings) -> Session:
    """Open the session of the turn. Raises UnknownNode where `--from` names none."""
    try:
        return await open_session(
            settings,
            approver=allow_all if options.yes else refuse_unattended,
            by_rule="yes" if options.yes else "no",
            mode=options.mode or "agent",
            resume="" if options.continue_last else options.resume,
            from_nodes=options.from_nodes,
            allow=options.allow,
        )
    except GraphError as error:
        if options.from_nodes:
            raise UnknownNode.of(error) from error
        raise


def _hold_to_schema(session: Session, path: str | None) -> None:
    """Have the session answer in JSON of the schema in a file. Raises BadSchema."""
    if path:
        from nebula.llm.dialect.answer_schema import AnswersInSchema, read_schema

        chosen = session.chosen
        session.chosen = replace(chosen, connector=AnswersInSchema(chosen.connector, read_schema(path)))


async def _make_ready(session: Session, options: argparse.Namespace) -> Sequence[str]:
    """Do what the options ask for before the turn; return the nodes that `--ref` names."""
    if options.compact:
        await session.compact(options.compact)
    elif options.compact is not None:
        session.conversation.compact()
    if options.with_files:
        from nebula.cli.headless.with_files import take_files

        await asyncio.to_thread(take_files, session)
    if not options.references:
        return ()
    try:
        return await asyncio.to_thread(_find_references, session, options.references)
    except GraphError as error:
        raise UnknownNode.of(error) from error


async def _look_after(session: Session, final: Final) -> None:
    """Say what of the graph cannot be read, and finish the summary that the user wants of each turn."""
    if final.node_id and (unreadable := await asyncio.to_thread(session.archive.unreadable)):
        print_remark(f"nebula: {explain(unreadable)}")
    if session.summaries.is_working:
        print_remark(f"nebula: {translate('Summarising this turn; Ctrl-C leaves it for later.')}")
        with busy(Sentence("writing summaries")):
            await session.summaries.finish()


def compact_focus(prompt: str) -> str | None:
    """Return the one command of a session that also makes sense alone; None for anything else."""
    word, _, focus = prompt.strip().partition(" ")
    return focus.strip() if word == "/compact" else None


async def _compact(session: Session, focus: str, prompt: str, show: Reader, said: list[Sentence]) -> int:
    before = session.summaries.usage
    count = await session.compact(focus)
    recorders = _trace(session.settings)
    stream = EventStream(session.id, recorders=recorders, audience=(show,), redactor=session.redactor, said=said)
    stream.emit(Task(prompt, session.mode, session.chosen.name, session.chosen.provider))
    for remark in session.remarks.take():
        stream.emit(Notice(remark))
    used = session.summaries.usage - before
    stream.emit(Final(compacted(count), "ok", 0, usage=used, cost=session.chosen.cost(used)))
    return 0


def _find_references(session: Session, named: Sequence[str]) -> Sequence[str]:
    if (graph := session.archive.graph) is None:
        return ()
    from nebula.graph.context.references import referenced_nodes

    return referenced_nodes(graph, named)


@contextmanager
def interruptible(settings: Settings, show: Callable[[Stamped], None]) -> Iterator[Reader]:
    """Let Ctrl-C, SIGTERM and SIGHUP end the turn of the block properly, which is shown to the reader that this yields.

    Where nothing can be shown any more (a closed pipe, a full disk) the turn ends as failed, in the trace too.
    """
    task = asyncio.current_task()
    assert task is not None  # noqa: S101 - whoever awaits a turn is one
    audience = _Audience(show)
    with Signals(task.cancel):
        yield audience
    while task.cancelling():  # the turn has ended; what follows it is not cancelled
        task.uncancel()
    if audience.problem is not None and not audience.was_interrupted:
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
        self.was_interrupted = False
        """The turn had ended by a signal before: whoever sent it may have taken the terminal away."""

    def __call__(self, stamped: Stamped) -> None:
        self.was_interrupted = isinstance(stamped.event, Final) and stamped.event.status == "interrupted"
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


def _end_before_turn(
    problem: NebulaError | asyncio.CancelledError,
    options: argparse.Namespace,
    settings: Settings,
    prompt: str,
    show: Reader,
    said: list[Sentence],
) -> int:
    """Tell that there was no turn: no model, no session, a node that is unknown. Return the exit code."""
    text = options.output_format == "text"
    audience = () if text else (show,)
    redactor = redactor_of(settings, options.allow or ())
    stream = EventStream("", recorders=_trace(settings), audience=audience, redactor=redactor, said=said)
    task = Task(prompt, options.mode or "agent", settings.model, settings.provider)
    if text:
        print_remark(f"nebula: {explain(problem) if isinstance(problem, NebulaError) else translate(_EARLY)}")
    return end_before_session(stream, task, problem).exit_code


def _trace(settings: Settings) -> tuple[Reader, ...]:
    if not prepare_state_folder(settings.root).keeps_records:
        return ()
    return (TraceReader(os.path.join(settings.state_dir, "trace.jsonl")),)
