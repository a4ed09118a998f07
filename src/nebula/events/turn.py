"""What happens in every turn, from its prompt to its end."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

from nebula.attachments import Attachment
from nebula.events.facts import (
    CheckRun,
    Citations,
    CommandRun,
    Event,
    Evidence,
    Facts,
    StepOutcome,
    Usage,
    without_none,
)
from nebula.files.protected_names import names_secret
from nebula.language import Sentence
from nebula.messages import AssistantMessage, ToolUseResult
from nebula.messages.redaction import REDACTED
from nebula.value import value

Status = Literal["ok", "error", "refused", "interrupted", "limit"]


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
    reading_rate: float | None = None
    """Tokens a second at which the server says it read the request."""

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


TodoStatus = Literal["pending", "in_progress", "completed"]


@value
class TodoItem(Facts):
    """One step of the list that the model keeps while it works, in its words."""

    content: str
    status: TodoStatus


@value
class TodoList(Event):
    """The whole list as it is now; it replaces the one before."""

    type: ClassVar[str] = "todo"
    items: tuple[TodoItem, ...]


@value
class Steering(Event):
    """What the user said while the turn ran; the model reads it with the results of its tools."""

    type: ClassVar[str] = "steering"
    text: str


@value
class ToolResult(Event):
    """What a tool answered, exactly as the model will see it; but of a secret file only that it was read."""

    type: ClassVar[str] = "tool_result"
    tool: str
    result: ToolUseResult
    """What the model is sent."""
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
    usage: Usage | None = None
    """Tokens that the call cost by itself, as a delegate does."""
    cost: float | None = None
    """Of that usage, in US dollars; None where the price is not known."""

    def to_json(self) -> dict[str, Any]:
        call = {"tool_use_id": self.result.tool_use_id, "status": self.result.status.value}
        body = {"type": self.type, "tool": self.tool} | call | Event.to_json(self)
        del body["secret"]
        return {name: fact for name, fact in body.items() if fact is not False and fact != []}


@value
class Diff(Event):
    """A file that was really changed. Empty `before`: it was created; empty `after`: it is gone. Of a secret file both
    are `[redacted]` where they are not empty."""

    type: ClassVar[str] = "diff"
    path: str
    diff: str
    """The difference of that file."""
    added: int
    removed: int
    before: str = ""
    after: str = ""
    task_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return Event.to_json(self) | self.states_to_tell()

    def states_to_tell(self) -> dict[str, str]:
        """Return what the file was and is, as the wire says it: the plain hash of a short secret is soon guessed."""
        states = {"before": self.before, "after": self.after}
        if names_secret(self.path):
            return {name: state and REDACTED for name, state in states.items()}
        return states


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


@value
class Notice(Event):
    """Something that the user should know; nothing failed."""

    type: ClassVar[str] = "notice"
    sentence: Sentence
    task_id: str | None = None

    def to_json(self) -> dict[str, Any]:
        return without_none({"type": self.type, "message": str(self.sentence), "task_id": self.task_id})


@value
class Error(Event):
    """What went wrong, in one sentence that says what to do."""

    type: ClassVar[str] = "error"
    kind: str
    sentence: Sentence
    task_id: str | None = None
    detail: str | None = None
    """Where a bug showed itself; for the trace, never for the audience."""
    usage: Usage | None = None
    """Tokens of replies that could not be used."""

    def to_json(self) -> dict[str, Any]:
        body = {"type": self.type, "kind": self.kind, "message": str(self.sentence)}
        usage = self.usage.to_json() if self.usage else None
        return without_none(body | {"task_id": self.task_id, "detail": self.detail, "usage": usage})


_ENDINGS = {
    "error": Sentence("The turn ended with an error; what was said and done so far is kept."),
    "refused": Sentence("Something was refused and not done."),
    "interrupted": Sentence("Interrupted; what was said and done so far is kept."),
    "limit": Sentence("The turn reached its limit; what was said and done so far is kept."),
}


@value
class Final(Event):
    """Last of every turn."""

    type: ClassVar[str] = "final"
    text: str
    status: Status
    """How it ended."""
    exit_code: int
    files_changed: tuple[Diff, ...] = ()
    """Each file once, all its changes summed up: `path`, `added`, `removed`, `before` and `after`."""
    usage: Usage = Usage()
    duration_s: float = 0.0
    node_id: str | None = None
    remark: Sentence | None = None
    """A plain sentence by the program, not the model: why the turn stopped, when it did not end by itself. Among the
    keys it comes after all that went to stderr as a remark, a line each."""
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
    remarks: tuple[Sentence, ...] = ()
    """What the user was told beside the answer before it ended; on the wire `remark` holds these, too."""

    def explain(self) -> Sentence:
        """Return why the turn ended as it did, also where nothing else says it."""
        if self.remark is not None:
            return self.remark
        if self.status == "interrupted" and not (self.text or self.files_changed):
            return Sentence("Interrupted before there was an answer.")
        return _ENDINGS.get(self.status, Sentence("The turn ended without an answer."))

    @property
    def needs_explaining(self) -> bool:
        """Tell whether it has to be said why the turn ended; of a refusal the remarks say it better."""
        is_told = self.status == "ok" or (self.status == "refused" and self.remarks)
        return self.remark is not None or not is_told

    def say_remarks(self) -> str:
        """Return all that the user was told, each sentence once and on a line of its own."""
        said = [*self.remarks, self.explain()] if self.needs_explaining else self.remarks
        return "\n".join(dict.fromkeys(map(str, said)))

    def to_json(self) -> dict[str, Any]:
        # Spelled out rather than super(): a slots dataclass is a new class, and zero-argument super() breaks in it.
        summed = [
            {"path": each.path, "added": each.added, "removed": each.removed} | each.states_to_tell()
            for each in self.files_changed
        ]
        body = Event.to_json(self) | {"files_changed": summed, "node_id": self.node_id, "remark": self.say_remarks()}
        del body["remarks"]
        return body
