"""The decisions of a person in a turn, kept in the node's tool log: part of a change taken, or a refusal with its
reason.

An answer that a rule gave, such as `--yes`, is nobody's decision and is not kept here.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from nebula.events import Approval, ToolResult
from nebula.language import Sentence
from nebula.messages import Json
from nebula.value import value

if TYPE_CHECKING:
    from nebula.graph.values import Node

KEY = "decisions"
"""The key of the decisions in the record of a tool round."""
_PLAIN = ("yes", "all", "no")


@value
class PersonDecision:
    """An answer to a question about one tool call."""

    tool_use_id: str
    about: str
    """The path, command or tool of the question."""
    answer: str
    """`yes`, `all`, `no`, the hunks that were taken, `some` of a command's paths, or the reason of a refusal."""
    refused: bool = False
    taken: int = 0
    of: int = 0
    """Where only a part was taken: how many changes there were."""

    def to_json(self) -> dict[str, Any]:
        found: dict[str, Any] = {"tool_use_id": self.tool_use_id, "about": self.about, "answer": self.answer}
        if self.refused:
            found["refused"] = True
        return found | ({"taken": self.taken, "of": self.of} if self.of else {})

    @property
    def remark(self) -> Sentence | None:
        """Return one line for people; None for a plain yes, which the changes themselves show."""
        if self.of:
            part = "{taken} of {of} changes applied: {about}"
            return Sentence(part, taken=self.taken, of=self.of, about=self.about)
        if not self.refused:
            return None
        if self.answer in _PLAIN:
            return Sentence("refused: {about}", about=self.about)
        return Sentence("refused: {about}: “{answer}”", about=self.about, answer=self.answer)


def decision_of(question: Approval, result: ToolResult) -> PersonDecision:
    """Return the person's decision on `question`, as the result of the call holds it."""
    answer = result.decision or "no"
    about = question.text if question.kind == "command" else question.path or question.tool
    taken = of = 0
    if answer.startswith("hunks ") and not result.refused:
        taken, of = answer.count(",") + 1, question.hunks
    elif answer == "some" and not result.refused:
        taken, of = _count_changed(result), len(question.changes)
    return PersonDecision(result.result.tool_use_id, about, answer, result.refused, taken, of)


def _count_changed(result: ToolResult) -> int:
    reports = (block.value for block in result.result.content if isinstance(block, Json))
    return sum(len(report.get("changed", ())) for report in reports if isinstance(report, dict))


def decisions_in(node: Node) -> Sequence[PersonDecision]:
    """Return the decisions in the node's tool log; a log that we did not write has none."""
    return [found for text in node.texts if text.role == "tool" for found in _read_round(text.text)]


def _read_round(text: str) -> list[PersonDecision]:
    try:
        listed = json.loads(text)[KEY]
        return [_read(each) for each in listed]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _read(found: dict[str, Any]) -> PersonDecision:
    call, about, answer = (str(found[name]) for name in ("tool_use_id", "about", "answer"))
    taken, of = int(found.get("taken", 0)), int(found.get("of", 0))
    return PersonDecision(call, about, answer, found.get("refused") is True, taken, of)
