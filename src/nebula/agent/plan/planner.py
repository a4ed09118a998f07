"""Asking a model for a plan: the same task in the same project gives the same request, byte for byte.

So it goes out with temperature 0 and a fixed seed, with nothing in it that changes by itself (no date, no time), and
what it says of the project is sorted. A plan that cannot be used goes back once, with the exact error.
"""

from __future__ import annotations

import time
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

SEED = 7
ATTEMPTS = 2
MOST_QUOTED = 4_000
MOST_KEPT = 200_000
"""Bytes of a reply in the trace."""
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
"""What a server can hold a model to. The published schema says more than some of them understand."""


async def make_plan(
    task: str, planner: ChosenModel, context: PlanningContext, stream: EventStream, home: str
) -> StepPlan:
    """Ask the planner for a plan, and emit it. Raises ModelError, or BadPlan after the second unusable reply."""
    started = time.monotonic()
    system = f"{template('planner', home)}\n\n{context.text}".strip()
    said: list[Message] = [UserMessage.new_prompt(strip_hidden_characters(task))]
    usage = Usage()
    for attempt in range(1, ATTEMPTS + 1):
        request = ModelRequest(planner.name, system, tuple(said), temperature=0.0, seed=SEED, json_schema=SCHEMA)
        reply, seconds = await call_model(planner.connector, request, stream)
        stream.emit(_describe_reply(reply, planner, attempt, seconds))
        usage += reply.usage
        try:
            plan = read_plan_reply(reply.message.content)
        except BadPlan as problem:
            if attempt == ATTEMPTS:
                raise
            stream.emit(Retry(sentence_of(problem), attempt + 1, attempts=ATTEMPTS, kind="bad_reply"))
            quoted = reply.message.content[:MOST_QUOTED] or "(nothing)"
            complaint = COMPLAINT.format(problem=problem)
            said += [AssistantMessage.new_response(None, quoted), UserMessage.new_prompt(complaint)]
            continue
        in_all = round(time.monotonic() - started, 3)
        stream.emit(Plan(plan.to_json(), planner.name, usage, in_all, context.evidence or None))
        return plan
    raise AssertionError("unreachable")


def _describe_reply(reply: ModelReply, planner: ChosenModel, attempt: int, seconds: float) -> PlanReply:
    text = truncate_safe_in_place(reply.message.content, MOST_KEPT)
    stop = reply.stop if reply.stop != "end" else None
    cut = text != reply.message.content or None
    return PlanReply(text, planner.name, attempt, reply.usage, seconds, stop, cut, planner.provider)
