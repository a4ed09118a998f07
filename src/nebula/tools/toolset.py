"""The tools of one session, and what is done for every call.

Plan mode is a set without writers over a read-only workspace: there is no flag to forget. The names of the missing
writers are kept only to say why they are missing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.events import Diff, Error, EventStream
from nebula.language import Sentence, sentence_of
from nebula.messages import AssistantToolUse, Json, Text, ToolResultStatus, ToolSpec, snake_case
from nebula.tools.contract import Call, CancelledLate, Outcome, Tool, ToolFailure
from nebula.tools.declaration import ToolDeclaration
from nebula.value import field, record, replace, value
from nebula.workspace.errors import WorkspaceError

if TYPE_CHECKING:
    from nebula.workspace.audit import AuditLog

MAX_PROBLEM = 500
_CANCELLED = 499

AfterChange = Callable[[Diff, Call], Awaitable[None]]
"""Called after every change to a file, such as by the index. The model's result waits for it."""


Beside = Callable[[Mapping[str, Any], Call], Awaitable[str]]
"""Returns a text for the model that goes with the result of a call with these arguments, or nothing."""


@value
class CallAudit:
    """The audit log, in which each call becomes one line, however it ends."""

    log: AuditLog
    trace_id: str
    redact: Callable[[str], str] = str
    """Redacts the path, which is the model's text and may be a key."""


@record
class ToolSet:
    """Runs calls by name; never raises at the loop."""

    tools: Mapping[str, Tool]
    missing: Mapping[str, str] = field(default_factory=dict)
    """Tools that exist but are not in this set, each with the sentence that says why."""
    declared: Mapping[str, ToolDeclaration] = field(default_factory=dict)
    """The declarations of all tools, also of those that are missing here."""
    after_change: tuple[AfterChange, ...] = ()
    audit: CallAudit | None = None
    beside: Beside | None = None

    @classmethod
    def of(cls, tools: Iterable[Tool]) -> ToolSet:
        return cls({tool.spec.name: tool for tool in tools})

    @property
    def specs(self) -> tuple[ToolSpec, ...]:
        return tuple(tool.spec for tool in self.tools.values())

    async def run(self, call: Call) -> Outcome:
        ended = _Ended()
        try:
            with _failures_as_outcomes(call, ended):
                tool, args = self._find_call(call)
                # Let the event loop run: a turn that is being cancelled must not start another write.
                await asyncio.sleep(0)
                self._require_audit(call.use)
                ended.outcome = await tool.run(args, call)
        except asyncio.CancelledError as cancelled:
            done = cancelled.outcome if isinstance(cancelled, CancelledLate) else Outcome((), code=_CANCELLED)
            with suppress(WorkspaceError):  # the cancellation is what counts now
                self._audit_line(call.use)(done.size, done.code)
            raise
        outcome = ended.outcome
        try:
            self._audit_line(call.use)(outcome.size, outcome.code)
        except WorkspaceError as error:  # the change was made, but nobody may believe that it was recorded
            outcome = replace(outcome, content=(Json({"error": str(error)}),), status=ToolResultStatus.Error)
        for change in outcome.changes:
            for heard in self.after_change:
                await heard(change, call)
        return await self._with_words_beside(outcome, call)

    async def _with_words_beside(self, outcome: Outcome, call: Call) -> Outcome:
        args = call.use.orig_args
        if self.beside is None or outcome.status is not ToolResultStatus.Success or not isinstance(args, Mapping):
            return outcome
        words = await self.beside(args, call)
        return replace(outcome, content=(*outcome.content, Text(words))) if words else outcome

    def _find_call(self, call: Call) -> tuple[Tool, Mapping[str, Any]]:
        use = call.use
        if call.invalid is not None:
            raise ToolFailure(call.invalid, code=422)
        tool = self.tools.get(use.orig_name)
        if tool is None:
            if use.orig_name in self.missing:
                raise ToolFailure(self.missing[use.orig_name], code=403, policy=True)
            raise ToolFailure(f"Unknown tool: {use.orig_name}", code=404)
        if not isinstance(use.orig_args, Mapping):
            raise ToolFailure("The arguments must be a JSON object.", code=422)
        return tool, use.orig_args

    def _require_audit(self, use: AssistantToolUse) -> None:
        """Refuse a call of a writing tool if its line could not be recorded."""
        declared = self.declared.get(use.orig_name)
        if self.audit is not None and (declared is None or declared.writes):
            try:
                self.audit.log.require_room()
            except WorkspaceError as error:
                raise ToolFailure(f"{error} Nothing was run.", code=error.status) from None

    def _audit_line(self, use: AssistantToolUse) -> Callable[[int | None, int], None]:
        """Return a function that records a call, given its size and status."""
        if self.audit is None:
            return _unrecorded
        declared = self.declared.get(use.orig_name)
        method = (declared.method or snake_case(declared.name)) if declared else use.orig_name
        subject = _argument(use, declared.subject if declared else "path")
        redact = self.audit.redact
        return partial(self.audit.log.record, self.audit.trace_id, redact(method), redact(subject))


@record
class _Ended:
    """How a call ended."""

    outcome: Outcome = Outcome(())


@contextmanager
def _failures_as_outcomes(call: Call, ended: _Ended) -> Iterator[None]:
    """Make whatever the tool raises in the block its outcome. Only a failing `emit` ends the turn: what cannot be
    recorded or shown must not continue."""
    try:
        yield
    except ToolFailure as failure:
        ended.outcome = Outcome.failed(failure)
    except WorkspaceError as error:
        failed = ToolFailure(str(error), code=error.status, policy=error.refusal)
        ended.outcome = replace(Outcome.failed(failed), problem=sentence_of(error))
    except Exception as bug:
        import traceback

        if any(frame.f_code is EventStream.emit.__code__ for frame, _ in traceback.walk_tb(bug.__traceback__)):
            raise
        found = f"{type(bug).__name__}: {bug}"[:MAX_PROBLEM]
        said = Sentence("The tool {tool} failed: {problem}", tool=call.use.name, problem=found)
        detail = "".join(traceback.format_exception(bug))
        call.emit(Error("tool", said, detail=detail))
        ended.outcome = Outcome.failed(ToolFailure(f"The tool failed: {found}", code=500))


def _unrecorded(size: int | None, status: int) -> None:
    """Record nothing: the audit is kept elsewhere."""


def _argument(use: AssistantToolUse, name: str) -> str:
    found = use.orig_args.get(name) if isinstance(use.orig_args, Mapping) else None
    return found if isinstance(found, str) else ""
