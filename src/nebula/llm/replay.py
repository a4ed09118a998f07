"""A recorded conversation played through the same contract, for the demo and for tests without a server.

A recording is a list of replies `{"text": "…", "tool_calls": [{"name": "…", "args": {…}}]}`. It is played in order,
whatever is asked.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from nebula.llm.contract import ModelInfo, ModelRequest, StreamItem, TextDelta
from nebula.llm.wire import Draft, RawCall

MODEL_NAME = "recording"
END = "The recording ends here."
PIECE = 3


class ReplayModel:
    """`pace_s` is the pause between pieces of text; 0 plays at once."""

    provider = "replay"

    def __init__(self, replies: Sequence[Mapping[str, Any]], *, pace_s: float = 0.0) -> None:
        self._replies = replies
        self._pace_s = pace_s
        self.position = 0
        """How many replies have been played."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        reply: Mapping[str, Any] = {"text": END}
        if self.position < len(self._replies):
            reply = self._replies[self.position]
        draft = Draft()
        text = str(reply.get("text", ""))
        for start in range(0, len(text), PIECE):
            if self._pace_s:
                await asyncio.sleep(self._pace_s)
            draft.add_text(text[start : start + PIECE])
            yield TextDelta(text[start : start + PIECE])
        for call in reply.get("tool_calls", ()):
            draft.calls.append(RawCall(call["name"], call.get("id"), call.get("args") or {}))
        self.position += 1
        yield draft.finish(request.messages, request.tools)

    async def list_models(self) -> list[ModelInfo]:
        return [ModelInfo(MODEL_NAME, self.provider, tools=True)]

    async def describe(self, model: str) -> ModelInfo:
        return ModelInfo(model, self.provider, tools=True)

    async def aclose(self) -> None:
        return None
