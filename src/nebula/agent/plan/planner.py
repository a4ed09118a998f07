"""Ask a model for a plan: the same task in the same project gives the same request, byte for byte.

So the request has temperature 0 and a fixed seed, nothing in it that changes by itself (no date, no time), and sorted
facts about the project. A plan that cannot be used goes back once, with the exact error.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from nebula.agent.context.system_prompt import template
from nebula.agent.model_call import call_model
from nebula.agent.plan.plan import BadPlan, StepPlan
from nebula.agent.plan.plan_reply import read_plan_reply
from nebula.agent.plan.planning_context import PlanningContext
from nebula.events import EventStream, Plan, PlanReply, Retry, Usage
from nebula.language import sentence_of
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import ModelReply, ModelRequest
from nebula.messages import AssistantMessage, Message, UserMessage, strip_hidden_characters, truncate_safe_in_place
from nebula.messages.redaction import Redactor

SEED = 7
ATTEMPTS = 2
MOST_QUOTED = 4_000
MOST_KEPT = 200_000
"""Bytes of a reply that the trace keeps."""
COMPLAINT = "This plan cannot be used: {problem} Answer again with the whole plan as one JSON object, and nothing else."

_TASK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "id": {"type": "string"},
        "title": {"type": "string"},
        "goal": {"type": "string"},
        "tool": {"type": "string"},
        "parameters": {"type": "object"},
        "files": {"type": "array", "items": {"type": "string"}},
        "depends_on": {"type": "array", "items": {"type": "string"}},
        "on_error": {"type": "string", "enum": ["stop", "skip", "retry"]},
    },
    "required": ["id", "title", "files", "depends_on", "on_error"],
}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"tasks": {"type": "array", "items": _TASK}},
    "required": ["tasks"],
}
"""The part of the schema that every server understands; the published one says more."""


async def make_plan(
    task: str,
    planner: ChosenModel,
    context: PlanningContext,
    stream: EventStream,
    home: str,
    change: Callable[[StepPlan], StepPlan] | None = None,
) -> StepPlan:
    """Ask the planner for a plan, apply `change` to it where that is given, and emit it. Raises ModelError, and BadPlan
    after the second unusable reply."""
    started = time.monotonic()
    system = f"{template('planner', home)}\n\n{context.text}".strip()
    said: list[Message] = [UserMessage.new_prompt(strip_hidden_characters(task))]
    usage = Usage()
    for attempt in range(1, ATTEMPTS + 1):
        request = ModelRequest(planner.name, system, tuple(said), temperature=0.0, seed=SEED, json_schema=SCHEMA)
        reply, seconds = await call_model(planner.connector, request, stream)
        usage += reply.usage
        plan = _read(reply.message.content)
        stream.emit(_describe_reply(reply, _keepable(reply, plan, stream.redactor), planner, attempt, seconds))
        if isinstance(plan, BadPlan):
            if attempt == ATTEMPTS:
                raise plan
            stream.emit(Retry(sentence_of(plan), attempt + 1, attempts=ATTEMPTS, kind="bad_reply"))
            quoted = reply.message.content[:MOST_QUOTED] or "(nothing)"
            complaint = COMPLAINT.format(problem=plan)
            said += [AssistantMessage.new_response(None, quoted), UserMessage.new_prompt(complaint)]
            continue
        plan = plan if change is None else change(plan)
        in_all = round(time.monotonic() - started, 3)
        stream.emit(Plan(plan.to_json(), planner.name, usage, in_all, context.evidence or None))
        return plan
    raise AssertionError("unreachable")


def _read(text: str) -> StepPlan | BadPlan:
    """Return the plan in a reply, or the error."""
    try:
        return read_plan_reply(text)
    except BadPlan as problem:
        return problem


def _keepable(reply: ModelReply, plan: StepPlan | BadPlan, redactor: Redactor) -> str:
    """Return a reply in the form in which it may be kept: unchanged, or as the plan without the content for secret
    files."""
    meant = None if isinstance(plan, BadPlan) else plan.to_json()
    kept = redactor.value(meant)
    return reply.message.content if kept is meant else json.dumps(kept, ensure_ascii=False)


def _describe_reply(reply: ModelReply, said: str, planner: ChosenModel, attempt: int, seconds: float) -> PlanReply:
    text = truncate_safe_in_place(said, MOST_KEPT)
    stop = reply.stop if reply.stop != "end" else None
    cut = text != said or None
    return PlanReply(text, planner.name, attempt, reply.usage, seconds, stop, cut, planner.provider)
