"""The result of a turn so far, counted from its events."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import Any

from nebula.agent.past.decisions import PersonDecision, decision_of
from nebula.attachments import Attachment
from nebula.errors import EXIT_FAILED, EXIT_FORMAT, EXIT_INTERRUPTED, EXIT_OK, EXIT_POLICY, NebulaError
from nebula.events import (
    Approval,
    Checked,
    CheckRun,
    Citations,
    CommandRun,
    Diff,
    Error,
    Event,
    Final,
    Message,
    PlanReply,
    Repair,
    Stamped,
    Status,
    Steering,
    Step,
    Task,
    ToolResult,
    Usage,
)
from nebula.language import Sentence
from nebula.llm.catalog import cost, known_provider, sum_costs
from nebula.llm.contract import why_no_answer
from nebula.messages import AssistantMessage, Json, ToolResultStatus, ToolUseResult
from nebula.tools import delegate
from nebula.tools.registry import BY_NAME, WRITERS
from nebula.value import field, record, replace, value

LONGEST_REASON = 300
"""Characters of an error for the model that a person is shown, too."""
_EXIT_CODES: Mapping[Status, int] = {
    "ok": EXIT_OK,
    "error": EXIT_FAILED,
    "refused": EXIT_POLICY,
    "limit": EXIT_FAILED,
    "interrupted": EXIT_INTERRUPTED,
}


class TurnLimit(NebulaError):
    """Raised where the turn reaches a limit; it ends with the status `limit`."""


@value
class Ending:
    """How a turn ended, as the loop knows it."""

    status: Status
    remark: Sentence | None = None
    exit_code: int | None = None

    @property
    def code(self) -> int:
        return _EXIT_CODES[self.status] if self.exit_code is None else self.exit_code


@record
class Round:
    """One assistant message with tool calls, and their results."""

    message: AssistantMessage
    results: list[ToolUseResult] = field(default_factory=list)
    said: str = ""
    """What the user said in the meantime."""
    seconds: float = 0.0
    """How long the tools worked."""
    decisions: list[PersonDecision] = field(default_factory=list)


REPOSITORY = ".git"


@value
class RefusedChange:
    """A change that a rule or a person refused."""

    round: int
    """How many messages with calls there were before it."""
    problem: Sentence | None = None
    path: str = ""
    """The path to be changed, as the model wrote it."""


@record
class TurnResult:
    """Grows with the turn; `final` makes the turn's last event of it."""

    prompt: str = ""
    model: str = ""
    provider: str = ""
    parents: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    attachments: tuple[Attachment, ...] = ()
    started: float = field(default_factory=time.monotonic)
    messages: list[Message] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)
    cost: float | None = 0.0
    """In US dollars, each call at its model's price; None where one of them has no known price."""
    repairs: int | None = None
    """How often failed checks went back to the model; None where no check ran after the work."""
    citations: Citations | None = None
    _commands: dict[str, CommandRun] = field(default_factory=dict)
    """Command lines with their results; of a command that ran several times the last one."""
    _asked: dict[str, Approval] = field(default_factory=dict)
    """The last question to a person about each call."""
    _steps: dict[str, Step] = field(default_factory=dict)
    _changes: dict[str, Diff] = field(default_factory=dict)
    _checks: dict[str, CheckRun] = field(default_factory=dict)
    _refused: dict[str, RefusedChange] = field(default_factory=dict)
    """By path, or by the name of an external tool."""
    _failed: dict[str, Sentence | None] = field(default_factory=dict)
    """What was to be written and was not, with the reason where there is one for a person."""

    def __call__(self, stamped: Stamped) -> None:
        self.read(stamped.event)

    def read(self, event: Event) -> None:
        """Count one event of the turn; events that do not change the result are ignored."""
        if isinstance(event, Task):
            self.prompt, self.model, self.provider = event.prompt, event.model, event.provider
            self.parents, self.references = event.parents, event.references
            self.attachments = event.attachments
        elif isinstance(event, Message):
            self._read_message(event)
        elif isinstance(event, PlanReply):
            self._spend(event.provider or known_provider(event.model), event.model, event.usage)
        elif isinstance(event, Error) and event.usage is not None:
            self.spend(event.usage)
        elif isinstance(event, Steering) and self.rounds:
            self.rounds[-1].said = event.text
        elif isinstance(event, Step):
            self._steps[event.tool_use_id] = event
        elif isinstance(event, Approval) and event.decision is None and event.tool_use_id:
            self._asked[event.tool_use_id] = event
        elif isinstance(event, Diff):
            self._read_change(event)
        elif isinstance(event, ToolResult):
            self._read_result(event)
        elif isinstance(event, Checked):
            self._checks[event.check.name] = event.check
            self.repairs = self.repairs or 0
        elif isinstance(event, Repair):
            self.repairs = event.round

    def _read_message(self, event: Message) -> None:
        self.messages.append(event)
        self.spend(event.usage)
        if event.message.tool_uses:
            self.rounds.append(Round(event.message))

    def spend(self, usage: Usage) -> None:
        """Count tokens of the turn's own model."""
        self._spend(self.provider, self.model, usage)

    def _spend(self, provider: str, model: str, usage: Usage) -> None:
        self.usage = self.usage + usage
        self.cost = sum_costs((self.cost, cost(provider, model, usage)))

    def _read_change(self, diff: Diff) -> None:
        """Add a change. Several writes to one file add up, from the first one's `before` to the last one's `after`. A
        check that ran before a change no longer counts. A refused change is settled when it is done under its right
        name (instead of an absolute path), or when the model, told of the refusal, did something else."""
        earlier = self._changes.get(diff.path, Diff(diff.path, "", 0, 0, diff.before))
        added, removed = earlier.added + diff.added, earlier.removed + diff.removed
        self._changes[diff.path] = replace(earlier, added=added, removed=removed, after=diff.after)
        self._checks.clear()
        self._refused = {
            path: refusal
            for path, refusal in self._refused.items()
            if refusal.round >= len(self.rounds) and not f"/{path}".endswith(f"/{diff.path}")
        }
        self._failed = {
            each: why for each, why in self._failed.items() if each not in WRITERS and not _same_file(each, diff.path)
        }

    def _read_result(self, event: ToolResult) -> None:
        if event.usage is not None:
            self.usage = self.usage + event.usage
            self.cost = sum_costs((self.cost, event.cost))
        if self.rounds:
            self.rounds[-1].results.append(event.result)
            self.rounds[-1].seconds += event.duration_s or 0.0
            question = self._asked.pop(event.result.tool_use_id, None)
            if question is not None:
                self.rounds[-1].decisions.append(decision_of(question, event))
        if event.check is not None:
            self._checks[event.check.name] = event.check
        step = self._steps.get(event.result.tool_use_id)
        name = (step.orig_name or step.name) if step is not None else ""
        if step is not None and name == "runCommand":
            self._read_command(step.args, event.result)
        if event.lasting:  # left out of what a command did, such as its commit: no later call can make up for it
            self._refused[REPOSITORY] = RefusedChange(sys.maxsize, event.problem)
        elif step is not None and event.refused and (name in WRITERS or name == delegate.NAME):
            path = _path_of(step.args)
            self._refused[path] = RefusedChange(len(self.rounds), event.problem, path)
        elif step is not None and name in WRITERS and event.result.status is ToolResultStatus.Error:
            target = _path_of(step.args) or name
            self._failed.pop(target, None)
            if not event.unchanged:
                self._failed[target] = event.problem or _error_in(event.result)
        elif name and name not in BY_NAME:  # an external tool: its effects are elsewhere
            self._refused.pop(name, None)
            if event.refused:
                self._refused[name] = RefusedChange(len(self.rounds), event.problem)

    def _read_command(self, args: Any, result: ToolUseResult) -> None:
        """Count a command that was run; one that was refused or could not be started has no result."""
        line = args.get("command") if isinstance(args, Mapping) else None
        for block in result.content:
            ended = block.value if isinstance(block, Json) else None
            if isinstance(line, str) and isinstance(ended, Mapping) and "exit_code" in ended:
                self._commands.pop(line, None)
                self._commands[line] = CommandRun(line, ended["exit_code"], ended.get("stopped"))

    @property
    def files(self) -> tuple[Diff, ...]:
        return tuple(self._changes.values())

    def results_of(self, tool: str) -> list[ToolUseResult]:
        """Return the results of all calls of one of our tools, oldest first."""
        return [
            result
            for each in self.rounds
            for use in each.message.tool_uses or ()
            for result in each.results
            if use.id == result.tool_use_id and use.orig_name == tool
        ]

    @property
    def refusal(self) -> RefusedChange | None:
        """The first change that was refused by a rule or a person, and not made in another way since."""
        return next(iter(self._refused.values()), None)

    @property
    def answer(self) -> str:
        """Return the turn's answer: the texts of all its assistant messages, joined by a blank line."""
        return "\n\n".join(text for event in self.messages if (text := event.message.content))

    @property
    def answer_seconds(self) -> float:
        """Seconds that the model took for the messages that make up the answer."""
        return sum(event.duration_s or 0.0 for event in self.messages if event.message.content)

    @property
    def reading_rate(self) -> float:
        """Tokens a second at which the model read the request with the prompt; 0 where its server does not report
        it."""
        return next((event.reading_rate or 0.0 for event in self.messages), 0.0)

    def final(self, ending: Ending, node_id: str | None) -> Final:
        """Return the last event of the turn. `node_id` counts only for a turn that said something: one without a word
        becomes no node, whatever it changed."""
        return self.summed(self._judged(ending), node_id)

    def summed(self, ending: Ending, node_id: str | None) -> Final:
        """Return the last event for an ending that was judged already."""
        return Final(
            text=self.answer,
            status=ending.status,
            exit_code=ending.code,
            files_changed=self.files,
            usage=self.usage,
            duration_s=round(time.monotonic() - self.started, 3),
            node_id=node_id if self.answer.strip() else None,
            remark=ending.remark,
            checks=tuple(self._checks.values()),
            verified=None if self.repairs is None else self._is_verified(),
            repairs=self.repairs,
            changes_failed=len(self._failed) or None,
            cost=self.cost,
            citations=self.citations,
            commands=tuple(self._commands.values()) or None,
        )

    def _is_verified(self) -> bool:
        return bool(self._checks) and all(check.passed for check in self._checks.values())

    def _judged(self, ending: Ending) -> Ending:
        """Return how the turn really ended. It did not end well without an answer; nor if a change was refused for
        good, even when the model insisted on it until a limit; nor if none of what was to be written was written; nor
        if checks that ran after the work still fail."""
        if ending.status == "limit" and self._refused:
            return replace(ending, status="refused")
        if ending.status != "ok":
            return ending
        if not self.answer.strip():
            last = self.messages[-1] if self.messages else None
            dialect = EXIT_FORMAT if last is not None and last.rung is not None else None
            return Ending("error", why_no_answer(last.stop if last else None), dialect)
        if self._refused:
            return replace(ending, status="refused")
        if self._failed and not self._changes:
            return Ending("error", self._say_not_written())
        if self.repairs is not None and not self._is_verified():
            return Ending("error", Sentence("The checks still fail."))
        return replace(ending, remark=self._say_not_written()) if self._failed and not ending.remark else ending

    def _say_not_written(self) -> Sentence:
        paths = ", ".join(sorted(self._failed))
        reasons = [why for why in self._failed.values() if why is not None]
        if not reasons:
            return Sentence("Not written: {paths}", paths=paths)
        if str(reasons[-1]).startswith(paths):  # it names that path itself
            return Sentence("Not written. {reason}", reason=reasons[-1])
        return Sentence("Not written: {paths}. {reason}", paths=paths, reason=reasons[-1])


def _error_in(result: ToolUseResult) -> Sentence | None:
    """Return the error that the model got, where no other sentence explains it to a person."""
    for block in result.content:
        told = block.value.get("error") if isinstance(block, Json) and isinstance(block.value, Mapping) else None
        if isinstance(told, str) and told.strip():
            said = " ".join(told.split())
            return Sentence("{problem}", problem=said if len(said) <= LONGEST_REASON else f"{said[:LONGEST_REASON]}…")
    return None


def _same_file(one: str, other: str) -> bool:
    """Return whether two paths name one file, also where one of them is relative to a folder above or below."""
    return f"/{one}".endswith(f"/{other}") or f"/{other}".endswith(f"/{one}")


def _path_of(args: Any) -> str:
    path = args.get("path") if isinstance(args, Mapping) else None
    return path.removeprefix("./") if isinstance(path, str) else ""
