"""What happens in a turn, as typed values.

A turn is one ordered stream of these. Terminal, headless output, WebSocket, trace file, session memory, log and
KPIs all read the same stream; none of them keeps a story of its own. `Task` comes first and `Final` last, always,
also after an error, a refusal or an interruption.

An event says what happened. `Stamped` adds where it stands: trace, session, place in the order, time.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Any, ClassVar, Literal

from nebula.attachments import Attachment
from nebula.errors import NebulaError
from nebula.language import Sentence, translate_to
from nebula.messages import AssistantMessage, ToolUseResult
from nebula.messages.redaction import Redactor
from nebula.value import field, record, replace, value

Status = Literal["ok", "error", "refused", "interrupted", "limit"]
StepState = Literal["started", "done", "failed", "skipped", "not_run"]


class Facts:
    """Base of the values that an event holds: as JSON they are their fields."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        return {name: _plain(getattr(self, name)) for name in self.__match_args__}


@value
class Usage(Facts):
    """Tokens of one model call, or summed over several. Thoughts are output."""

    input_tokens: int = 0
    """All input, of which:"""
    output_tokens: int = 0
    cached_input_tokens: int = 0
    """came from the provider's cache,"""
    cache_write_tokens: int = 0
    """was put into it, where that has a price of its own."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__match_args__))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) - getattr(other, name) for name in self.__match_args__))

    def to_json(self) -> dict[str, Any]:
        told = Facts.to_json(self)
        if not self.cache_write_tokens:
            del told["cache_write_tokens"]
        return told


@value
class FileChange(Facts):
    """What a turn did to one file. Empty `before`: the turn created it; empty `after`: it is gone."""

    path: str
    added: int
    removed: int
    before: str = ""
    after: str = ""


@value
class CheckRun(Facts):
    """A configured check and how it ended."""

    name: str
    passed: bool
    summary: str = ""


@value
class CommandRun(Facts):
    """A command that the model ran, and how it ended the last time."""

    command: str
    exit_code: int | None = None
    """None where a limit stopped it."""
    stopped: str | None = None
    """The limit that stopped it."""

    @property
    def failed(self) -> bool:
        return self.stopped is not None or self.exit_code != 0

    def to_json(self) -> dict[str, Any]:
        return _without_none(Facts.to_json(self))


@value
class StepOutcome(Facts):
    """How a step of a plan ended."""

    id: str
    state: StepState
    title: str = ""
    remark: Sentence | None = None
    duration_s: float = 0.0
    attempts: int = 1

    def to_json(self) -> dict[str, Any]:
        return Facts.to_json(self) | {"remark": _said(self.remark)}


@value
class Evidence(Facts):
    """Lines of a file that the model was shown, and the content they were taken from."""

    path: str
    span: str
    """`Lx-Ly`"""
    blob: str = ""
    commit: str = ""


@value
class Citations(Facts):
    """How many of the places that an answer cites (`path:Lx-Ly`) are there as it says."""

    held: int
    total: int


@value
class Event(Facts):
    """Base of all events; `type` is the tag on the wire."""

    type: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        """The event's own keys. A field that is None is left out, so that optional facts cost nothing on the wire."""
        return _without_none({"type": self.type} | Facts.to_json(self))


def _without_none(body: dict[str, Any]) -> dict[str, Any]:
    return {key: fact for key, fact in body.items() if fact is not None}


def _said(remark: Sentence | None) -> str:
    return "" if remark is None else str(remark)


def _plain(value: Any) -> Any:
    to_json = getattr(value, "to_json", None)
    if to_json is not None:
        return to_json()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value


@value
class Task(Event):
    """First of every turn: what was asked, and of whom."""

    type: ClassVar[str] = "task"
    prompt: str
    mode: str
    model: str
    provider: str = ""
    parents: tuple[str, ...] = ()
    """Nodes of the conversation graph that this turn continues."""
    references: tuple[str, ...] = ()
    """Nodes that the prompt names beside them."""
    attachments: tuple[Attachment, ...] = ()


@value
class PlanReply(Event):
    """What a planner sent, before anybody tried to read it."""

    type: ClassVar[str] = "plan_reply"
    text: str
    model: str
    attempt: int = 1
    usage: Usage = Usage()
    duration_s: float | None = None
    stop: str | None = None
    """As that of a message."""
    cut: bool | None = None
    """It was longer than what is kept of it."""
    provider: str | None = None


@value
class Plan(Event):
    """A plan that validated, before its first step."""

    type: ClassVar[str] = "plan"
    plan: Mapping[str, Any]
    model: str | None = None
    """Who made it; None for one that was handed in."""
    usage: Usage | None = None
    """Of all the replies that it took."""
    duration_s: float | None = None
    evidence: tuple[Evidence, ...] | None = None
    """The places of the project that the planner was shown."""
    given: bool | None = None
    """It was handed in, not made for this task."""


@value
class StepProgress(Event):
    """A step of the plan begins or ends."""

    type: ClassVar[str] = "progress"
    task_id: str
    state: StepState
    title: str = ""
    attempt: int = 1
    remark: Sentence | None = None
    """Why it failed or was skipped."""
    duration_s: float | None = None


@value
class Checked(Event):
    """A check was run after the work. `round` counts the repairs before it."""

    type: ClassVar[str] = "check"
    check: CheckRun
    round: int = 0
    flaky: bool | None = None
    """It failed, and passed when it was run once more with nothing changed."""
    duration_s: float | None = None


@value
class Repair(Event):
    """Failures go back to the model: it is asked to repair them, for the `round`-th time of at most `rounds`."""

    type: ClassVar[str] = "repair"
    round: int
    rounds: int
    failing: tuple[str, ...]
    report: str = ""
    """What the model is told."""


@value
class Message(Event):
    """A finished assistant message. Whether it carries tool calls decides which act it belongs to."""

    type: ClassVar[str] = "message"
    message: AssistantMessage
    usage: Usage = Usage()
    rung: str | None = None
    task_id: str | None = None
    duration_s: float | None = None
    stop: str | None = None
    """Why it ended early: `length` (cut at the output limit), `filter` (held back by the provider), `missing`."""

    def to_json(self) -> dict[str, Any]:
        calls = [{"id": use.id, "name": use.name, "args": use.args} for use in self.message.tool_uses or ()]
        own = {"type": self.type, "role": "assistant", "text": self.message.content, "tool_calls": calls}
        return own | Event.to_json(self)


@value
class Step(Event):
    """A tool call about to run."""

    type: ClassVar[str] = "step"
    tool_use_id: str
    name: str
    args: Any
    orig_name: str | None = None
    task_id: str | None = None


@value
class Output(Event):
    """What a command that runs has just said; empty when it begins. For those who look backstage."""

    type: ClassVar[str] = "output"
    tool_use_id: str
    text: str = ""
    program: str | None = None
    """Of a configured check: what runs, by its name alone; reported when it begins."""


@value
class Steering(Event):
    """What the user said while the turn ran; the model reads it with the results of its tools."""

    type: ClassVar[str] = "steering"
    text: str


@value
class ProposedChange:
    """A change of one path of the project that somebody is asked about."""

    path: str
    kind: str
    """"created", "changed", "deleted", "mode" or "link"."""
    added: int = 0
    removed: int = 0
    diff: str = ""
    renamed_from: str = ""
    old: str | None = None
    """Of a write: the whole text before it, for a face that shows files in a way of its own. Never on the wire."""
    new: str | None = None

    def to_json(self) -> dict[str, Any]:
        body = {name: getattr(self, name) for name in ("path", "kind", "added", "removed", "diff")}
        return body | ({"renamed_from": self.renamed_from} if self.renamed_from else {})


QuestionKind = Literal["write", "command", "network", "call", "read"]


@value
class Approval(Event):
    """A question to the user. `kind` says what a yes allows:

    - `write`: the one change in `changes`
    - `command`: all of `changes`, which the command in `text` made
    - `network`: running the command in `text` with the network
    - `call`: calling the MCP server's tool `tool` with the arguments in `text`
    - `read`: reading the secret file that `text` names

    `decision` is None while somebody is asked, else what a rule decided.
    """

    type: ClassVar[str] = "approval"
    approval_id: str
    kind: QuestionKind
    tool: str
    changes: tuple[ProposedChange, ...] = ()
    text: str = ""
    remarks: tuple[Sentence, ...] = ()
    """What else there is to know before the answer, one sentence each."""
    together: tuple[ProposedChange, ...] = ()
    """Of a write: all writes of the same message, this one among them."""
    once: bool = False
    """A yes holds for this question alone, whatever else is answered."""
    tool_use_id: str | None = None
    decision: str | None = None

    @property
    def path(self) -> str:
        return self.changes[0].path if self.changes else self.text if self.kind == "read" else ""

    @property
    def diff(self) -> str:
        return self.changes[0].diff if self.changes else ""

    @property
    def hunks(self) -> int:
        """How many hunks can be chosen from; only a write is taken in parts."""
        return len(re.findall("^@@ ", self.diff, re.MULTILINE)) if self.kind == "write" else 0

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {name: getattr(self, name) for name in ("type", "approval_id", "kind", "path", "tool")}
        body |= {"diff": self.diff, "tool_use_id": self.tool_use_id, "decision": self.decision}
        if self.kind == "command":
            body["changes"] = [each.to_json() for each in self.changes]
        if self.kind != "write":
            body[self.kind] = self.text
        if self.remarks:
            body["remarks"] = [str(each) for each in self.remarks]
        return _without_none(body | ({"once": True} if self.once else {}))


@value
class ToolResult(Event):
    """What a tool answered, exactly as the model will see it; but of a secret file only that it was read."""

    type: ClassVar[str] = "tool_result"
    tool: str
    result: ToolUseResult
    decision: str | None = None
    """How its approval ended: "yes", "no", "all" or the sentence that refused it."""
    duration_s: float | None = None
    task_id: str | None = None
    refused: bool = False
    """By a rule or a person: a task that ends without it did not do what was asked."""
    check: CheckRun | None = None
    secret: bool = False
    """It came from a secret file: what it says is for the model alone."""
    evidence: tuple[Evidence, ...] = ()
    problem: Sentence | None = None
    """What went wrong, for a person."""
    unchanged: bool = False
    """The file was already as the call wants it: nothing was to be done."""
    lasting: bool = False
    """Of a refusal: nothing that is done later makes up for it."""

    def to_json(self) -> dict[str, Any]:
        body: dict[str, Any] = {
            "type": self.type,
            "tool": self.tool,
            "tool_use_id": self.result.tool_use_id,
            "status": self.result.status.value,
            "result": self.result.to_json(),
            "decision": self.decision,
            "duration_s": self.duration_s,
            "task_id": self.task_id,
            "refused": self.refused or None,
            "check": self.check.to_json() if self.check else None,
            "evidence": [each.to_json() for each in self.evidence] or None,
            "problem": str(self.problem) if self.problem else None,
            "unchanged": self.unchanged or None,
            "lasting": self.lasting or None,
        }
        return _without_none(body)


@value
class Diff(Event):
    """A file that was really changed."""

    type: ClassVar[str] = "diff"
    path: str
    diff: str
    added: int
    removed: int
    before: str = ""
    after: str = ""
    task_id: str | None = None


@value
class Retry(Event):
    """Something is tried once more, and why."""

    type: ClassVar[str] = "retry"
    reason: Sentence
    attempt: int
    delay_s: float = 0.0
    task_id: str | None = None
    attempts: int | None = None
    """How many there may be in all."""
    kind: str | None = None
    """What failed: `limit` a rate limit, `unavailable` a server or the network, `bad_reply` an unusable reply."""


class _Spoken:
    """An event that is one sentence: a template and its values, said in whatever language the reader has."""

    __slots__ = ()
    sentence: str
    values: Mapping[str, Any]

    @property
    def message(self) -> str:
        """In English, as the wire and the records have it."""
        return self.sentence.format(**self.values) if self.values else self.sentence

    def in_language(self, lang: str) -> str:
        return translate_to(lang, self.sentence, **self.values)


@value
class Notice(_Spoken, Event):
    """Something that the user should know; nothing failed."""

    type: ClassVar[str] = "notice"
    sentence: str
    values: Mapping[str, Any] = MappingProxyType({})
    task_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return _without_none({"type": self.type, "message": self.message, "task_id": self.task_id})


@value
class Error(_Spoken, Event):
    """What went wrong, in one sentence that says what to do."""

    type: ClassVar[str] = "error"
    kind: str
    sentence: str
    values: Mapping[str, Any] = MappingProxyType({})
    task_id: str | None = None
    detail: str | None = None
    """Where a bug showed itself; for the trace, never for the audience."""

    def to_json(self) -> dict[str, Any]:
        body = {"type": self.type, "kind": self.kind, "message": self.message}
        return _without_none(body | {"task_id": self.task_id, "detail": self.detail})


@value
class Final(Event):
    """Last of every turn."""

    type: ClassVar[str] = "final"
    text: str
    status: Status
    exit_code: int
    files_changed: tuple[FileChange, ...] = ()
    usage: Usage = Usage()
    duration_s: float = 0.0
    node_id: str | None = None
    remark: Sentence | None = None
    """A plain sentence by the program, not the model: why the turn stopped, when it did not end by itself."""
    checks: tuple[CheckRun, ...] = ()
    citations: Citations | None = None
    steps: tuple[StepOutcome, ...] | None = None
    """Of a task that was carried out by a plan."""
    verified: bool | None = None
    """Whether all checks passed after the last change; None where none was run."""
    repairs: int | None = None
    """How often failures went back to the model; None where no check was run."""
    rolled_back: bool | None = None
    forecast: str | None = None
    """Of a dry run: the differences that it would make."""
    changes_failed: int | None = None
    """Writes that went wrong and were not done otherwise since; None where there are none."""
    commands: tuple[CommandRun, ...] | None = None
    """Commands that were run, each line once; None where there were none."""
    cost: float | None = None
    """In US dollars, each call at its model's price; None where a price is not known."""

    def to_json(self) -> dict[str, Any]:
        # Spelled out rather than super(): a slots dataclass is a new class, and zero-argument super() breaks in it.
        return Event.to_json(self) | {"node_id": self.node_id, "remark": _said(self.remark)}


@value
class Stamped:
    """An event in its place: the one form that readers get and the wire carries."""

    event: Event
    trace_id: str
    session_id: str
    seq: int
    ts: str

    def to_json(self) -> dict[str, Any]:
        place = {
            "type": self.event.type,
            "trace_id": self.trace_id,
            "session_id": self.session_id,
            "seq": self.seq,
            "ts": self.ts,
        }
        return place | self.event.to_json()


Reader = Callable[[Stamped], None]
"""One who reads the stream: a recorder, or somebody in the audience."""


class RecordingFailed(NebulaError):
    """An event could not be written down. The turn ends: what cannot be recorded must not go on."""


class TurnNotKept(NebulaError):
    """The turn could not become a node of the graph. Nothing is lost: memory and log have every word of it."""


def new_trace_id() -> str:
    """A UUID of version 7: it sorts by time. It names the task in every log, and the node that the turn becomes."""
    milliseconds = time.time_ns() // 1_000_000
    chance = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & 0xFFFF_FFFF_FFFF) << 80 | 0x7 << 76 | (chance >> 68) << 64 | 0b10 << 62
    text = f"{value | (chance & 0x3FFF_FFFF_FFFF_FFFF):032x}"
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def now() -> datetime:
    """The present, aware of its zone, as every timestamp here is."""
    return datetime.now().astimezone()


@record
class EventStream:
    """Stamps events and hands each to every recorder and then to the audience, in order, before the next may happen.

    Here secrets are taken out, once, before anybody reads: recorders and audience alike get the redacted event. Only
    a question is shown as it is, and to the audience alone: what somebody approves must be seen.
    """

    session_id: str
    trace_id: str = field(default_factory=new_trace_id)
    recorders: tuple[Reader, ...] = ()
    audience: tuple[Reader, ...] = ()
    redactor: Redactor = field(default_factory=Redactor)
    seq: int = 0

    def read_first_by(self, reader: Reader) -> None:
        self.recorders = (reader, *self.recorders)

    def emit(self, event: Event, *, must_record: bool = True) -> Stamped:
        """Stamp `event`, hand it to everybody, and return it as they got it.

        Without `must_record` a failing recorder keeps nobody else from hearing how the turn ended. A `Final` whose turn
        the graph cannot keep comes without its node, after an `Error` that says why.
        """
        stamped = Stamped(
            self._redacted(event),
            self.trace_id,
            self.session_id,
            self.seq + 1,
            now().isoformat(timespec="milliseconds"),
        )
        for recorder in self.recorders:
            try:
                recorder(stamped)
            except TurnNotKept as problem:  # by the first recorder: nobody else has seen this event yet
                self.emit(Error("graph", problem.sentence, problem.values), must_record=False)
                return self.emit(replace(event, node_id=None), must_record=False)
            except Exception as problem:
                if must_record:
                    self.seq += 1
                    raise RecordingFailed(
                        "This turn could not be recorded ({problem}). Make room or repair the place, then go on.",
                        problem=problem,
                    ) from problem
        self.seq += 1
        shown = replace(stamped, event=event) if isinstance(event, Approval) and event.decision is None else stamped
        for show in self.audience:
            show(shown)
        return stamped

    def _redacted(self, event: Event) -> Event:
        if isinstance(event, ToolResult) and event.secret:
            event = replace(event, result=self.redactor.secret_result(event.result))
        elif isinstance(event, Task) and any(each.secret for each in event.attachments):
            for each in event.attachments:
                if each.secret:
                    self.redactor.learn(each.text)
            event = replace(event, attachments=tuple(each.recorded() for each in event.attachments))
        return self.redactor.value(event)
