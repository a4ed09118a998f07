"""Send one request to a model and wait for its reply."""

from __future__ import annotations

import time
from contextlib import aclosing, closing

from nebula.agent.draft_report import DraftReport
from nebula.events import EventStream, Notice, Retry
from nebula.llm.choose import ChosenModel
from nebula.llm.contract import Model, ModelNotice, ModelReply, ModelRequest, Retrying, TextDelta, Working
from nebula.llm.errors import BadReplyError
from nebula.messages import UserMessage


async def call_model(
    model: Model, request: ModelRequest, stream: EventStream, task_id: str | None = None
) -> tuple[ModelReply, float]:
    """Return the model's reply and the seconds it took; what the connector reports on the way goes to the stream.
    Raises ModelError."""
    started = time.monotonic()
    with closing(DraftReport(stream)) as draft:
        async with aclosing(model.stream(request)) as items:
            async for item in items:
                if isinstance(item, TextDelta | Working):
                    draft.hear(item)
                elif isinstance(item, ModelReply):
                    draft.finish(item.message.content)
                    return item, round(time.monotonic() - started, 3)
                elif isinstance(item, Retrying):
                    draft.begin(item)
                    most, kind = item.attempts or None, item.kind or None
                    stream.emit(Retry(item.reason, item.attempt, item.delay_s, task_id, most, kind))
                elif isinstance(item, ModelNotice):
                    stream.emit(Notice(item.text, task_id))
    raise BadReplyError("The model's stream ended without a reply. Ask again, or choose another model.")


async def ask_once(chosen: ChosenModel, text: str) -> ModelReply:
    """Return the reply to a text that is part of no conversation. Raises ModelError."""
    request = ModelRequest(chosen.name, "", [UserMessage.new_prompt(text)])
    async with aclosing(chosen.connector.stream(request)) as items:
        async for item in items:
            if isinstance(item, ModelReply):
                return item
    raise BadReplyError("The model's stream ended without a reply. Ask again, or choose another model.")
