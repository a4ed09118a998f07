"""One turn as spans and metrics, named by the GenAI semantic conventions.

The turn is `invoke_agent`, each request to a model `chat`, each call of a tool `execute_tool`. The trace id is that of
the turn. Texts are in a span only where the conventions' variable asks for them, and then as the stream has them:
without secrets.
"""

from __future__ import annotations

import json
import uuid
from datetime import datetime
from typing import TYPE_CHECKING, Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.id_generator import RandomIdGenerator
from opentelemetry.trace import Span, SpanKind, StatusCode, set_span_in_context

from nebula import __version__
from nebula.events import Error, Event, Final, Message, PlanReply, Retry, Stamped, Step, Task, ToolResult, Usage
from nebula.messages import ToolResultStatus
from nebula.value import field, record

if TYPE_CHECKING:
    from opentelemetry.sdk.metrics import MeterProvider

AGENT = "nebula"
_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
_TOKENS = (1, 4, 16, 64, 256, 1_024, 4_096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304)
_PROVIDERS = {"gemini": "gcp.gemini"}
"""Names of providers in the conventions, where they differ from ours."""


class TurnIds:
    """Gives a trace the id of its turn, and spans random ids."""

    def __init__(self) -> None:
        self.turn = 0
        self._chance = RandomIdGenerator()

    def generate_trace_id(self) -> int:
        return self.turn or int(self._chance.generate_trace_id())

    def generate_span_id(self) -> int:
        return int(self._chance.generate_span_id())

    def is_trace_id_random(self) -> bool:
        return False


@record
class _OpenTurn:
    """A turn that has begun and not ended."""

    span: Span
    model: str
    provider: str
    tools: dict[str, Span] = field(default_factory=dict)
    """The running calls, by their ids."""
    error: str = ""


class TelemetryReader:
    """Reads the events of any number of turns."""

    def __init__(
        self, tracers: TracerProvider, meters: MeterProvider, ids: TurnIds, *, capture_content: bool = False
    ) -> None:
        self._tracer = tracers.get_tracer(AGENT, __version__)
        self._ids = ids
        self._capture = capture_content
        self._turns: dict[str, _OpenTurn] = {}
        meter = meters.get_meter(AGENT, __version__)
        self._seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", "s", explicit_bucket_boundaries_advisory=_SECONDS
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", explicit_bucket_boundaries_advisory=_TOKENS
        )

    def __call__(self, stamped: Stamped) -> None:
        event, moment = stamped.event, int(datetime.fromisoformat(stamped.ts).timestamp() * 1_000_000_000)
        if isinstance(event, Task):
            self._begin(stamped, event, moment)
        turn = self._turns.get(stamped.trace_id)
        if turn is None:
            return
        if isinstance(event, Message | PlanReply):
            self._record_chat(turn, event, moment)
        elif isinstance(event, Step):
            self._begin_tool(turn, event, moment)
        elif isinstance(event, ToolResult):
            self._end_tool(turn, event, moment)
        else:
            self._record_event(stamped.trace_id, turn, event, moment)

    def _begin(self, stamped: Stamped, event: Task, moment: int) -> None:
        try:
            self._ids.turn = uuid.UUID(stamped.trace_id).int
        except ValueError:
            self._ids.turn = 0
        provider = _PROVIDERS.get(event.provider, event.provider)
        facts = _turn_attributes(provider, event.model) | {
            "gen_ai.agent.version": __version__,
            "gen_ai.conversation.id": stamped.session_id,
            "nebula.mode": event.mode,
        }
        if self._capture:
            facts["gen_ai.input.messages"] = _as_message("user", event.prompt)
        span = self._tracer.start_span(f"invoke_agent {AGENT}", Context(), attributes=facts, start_time=moment)
        self._turns[stamped.trace_id] = _OpenTurn(span, event.model, provider)

    def _record_chat(self, turn: _OpenTurn, event: Message | PlanReply, moment: int) -> None:
        if isinstance(event, PlanReply):
            model, provider, text, reason = event.model, event.provider or turn.provider, event.text, "stop"
        else:
            model, provider, text = turn.model, turn.provider, event.message.content
            reason = "tool_call" if event.message.tool_uses else "stop"
        about = {"gen_ai.operation.name": "chat", "gen_ai.provider.name": provider, "gen_ai.request.model": model}
        begun = moment - int((event.duration_s or 0.0) * 1_000_000_000)
        context = set_span_in_context(turn.span)
        span = self._tracer.start_span(f"chat {model}", context, SpanKind.CLIENT, about, start_time=begun)
        span.set_attributes(_usage_facts(event.usage))
        span.set_attribute("gen_ai.response.finish_reasons", (event.stop or reason,))
        if self._capture:
            span.set_attribute("gen_ai.output.messages", _as_message("assistant", text))
        span.end(moment)
        self._seconds.record(event.duration_s or 0.0, about)
        self._tokens.record(event.usage.input_tokens, {**about, "gen_ai.token.type": "input"})
        self._tokens.record(event.usage.output_tokens, {**about, "gen_ai.token.type": "output"})

    def _begin_tool(self, turn: _OpenTurn, event: Step, moment: int) -> None:
        facts = {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": event.name,
            "gen_ai.tool.call.id": event.tool_use_id,
            "gen_ai.tool.type": "function",
        }
        if self._capture:
            facts["gen_ai.tool.call.arguments"] = _to_text(event.args)
        context = set_span_in_context(turn.span)
        span = self._tracer.start_span(f"execute_tool {event.name}", context, attributes=facts, start_time=moment)
        turn.tools[event.tool_use_id] = span

    def _end_tool(self, turn: _OpenTurn, event: ToolResult, moment: int) -> None:
        span = turn.tools.pop(event.result.tool_use_id, None)
        if span is None:
            return
        about = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": event.tool}
        if event.result.status is ToolResultStatus.Error:
            about["error.type"] = "refused" if event.refused else "tool_error"
            span.set_attribute("error.type", about["error.type"])
            span.set_status(StatusCode.ERROR)
        if self._capture:
            span.set_attribute("gen_ai.tool.call.result", event.result.as_text())
        span.end(moment)
        self._seconds.record(event.duration_s or 0.0, about)

    def _record_event(self, trace_id: str, turn: _OpenTurn, event: Event, moment: int) -> None:
        if isinstance(event, Error):
            turn.error = event.kind
        elif isinstance(event, Retry):
            turn.span.add_event("retry", {"error.type": event.kind or "unknown", "attempt": event.attempt}, moment)
        elif isinstance(event, Final):
            del self._turns[trace_id]
            self._end(turn, event, moment)

    def _end(self, turn: _OpenTurn, event: Final, moment: int) -> None:
        for span in turn.tools.values():  # interrupted while they ran
            span.set_status(StatusCode.ERROR)
            span.end(moment)
        about = _turn_attributes(turn.provider, turn.model)
        turn.span.set_attributes(_usage_facts(event.usage))
        turn.span.set_attribute("nebula.status", event.status)
        turn.span.set_attribute("nebula.files_changed", len(event.files_changed))
        if event.cost is not None:
            turn.span.set_attribute("nebula.cost_usd", event.cost)
        if event.status != "ok":
            about["error.type"] = turn.error or event.status
            turn.span.set_attribute("error.type", about["error.type"])
            turn.span.set_status(StatusCode.ERROR)
        if self._capture:
            turn.span.set_attribute("gen_ai.output.messages", _as_message("assistant", event.text))
        turn.span.end(moment)
        self._seconds.record(event.duration_s, about)


def _turn_attributes(provider: str, model: str) -> dict[str, str]:
    named = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": AGENT}
    return named | {"gen_ai.provider.name": provider, "gen_ai.request.model": model}


def _usage_facts(usage: Usage) -> dict[str, int]:
    facts = {
        "gen_ai.usage.input_tokens": usage.input_tokens,
        "gen_ai.usage.output_tokens": usage.output_tokens,
        "gen_ai.usage.cache_read.input_tokens": usage.cached_input_tokens,
        "gen_ai.usage.cache_creation.input_tokens": usage.cache_write_tokens,
    }
    return {name: count for name, count in facts.items() if count or not name.startswith("gen_ai.usage.cache")}


def _as_message(role: str, text: str) -> str:
    return _to_text([{"role": role, "parts": [{"type": "text", "content": text}]}])


def _to_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
