"""Gemini: streamGenerateContent with function calling."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from nebula.llm.catalog import known_model
from nebula.llm.connector import Connector, Outgoing, ReplyReader
from nebula.llm.contract import ModelInfo, ModelReply, ModelRequest, Usage
from nebula.llm.errors import BadReplyError
from nebula.llm.http.client import Headers, HttpResponse
from nebula.llm.http.http_errors import Service
from nebula.llm.http.sse import SseParser
from nebula.llm.http.url import percent_encode
from nebula.llm.wire import (
    MOST_PAGES,
    FragmentCache,
    RawCall,
    counted,
    entries_of,
    remember,
    to_bytes,
    to_text,
    told_id,
    told_name,
    tool_names,
)
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    Json,
    Message,
    ToolResultStatus,
    ToolUseResult,
    UserMessage,
)

VERSION = "v1beta"
STOPS = {"STOP": "end", "MAX_TOKENS": "length"}
FAULTY_STOPS = ("MALFORMED_FUNCTION_CALL", "UNEXPECTED_TOOL_CALL", "OTHER")
NO_ANSWER = "(no answer)"
"""Stands for an answer without a word: the API refuses a message whose only part is empty."""
UNSIGNED = "skip_thought_signature_validator"
"""What Gemini 3 wants on a call whose signature is not known: one from another model, or from an earlier run."""
MAX_SIGNATURES = 10_000
THINKING_BUDGETS = {"low": 1_024, "medium": 8_192, "high": 24_576}

SignatureKey = tuple[str, str, str]


class GeminiModel(Connector):
    provider = "gemini"

    def __init__(self, base_url: str = "", api_key: str = "", **limits: Any) -> None:
        super().__init__(base_url, api_key, **limits)
        self._signatures: dict[SignatureKey, str] = {}
        self._signing_fragments = FragmentCache()

    async def list_models(self) -> list[ModelInfo]:
        found: list[ModelInfo] = []
        page = ""
        for _ in range(MOST_PAGES):
            answer = await self._json("GET", f"/{VERSION}/models?pageSize=1000{page}")
            entries = entries_of(answer, "models")
            for entry in entries:
                if "generateContent" in (entry.get("supportedGenerationMethods") or ("generateContent",)):
                    name, size = str(entry.get("name", "")).removeprefix("models/"), entry.get("inputTokenLimit")
                    found.append(ModelInfo(name, self.provider, size if isinstance(size, int) else None, tools=True))
            token = answer.get("nextPageToken")
            if not isinstance(token, str) or not token or not entries:
                break
            page = f"&pageToken={token}"
        return found

    def _base_url(self, text: str) -> str:
        return re.sub(r"/v1(beta\d*|alpha)?$", "", text.rstrip("/"))

    def _key_headers(self, key: str) -> Headers:
        return (("x-goog-api-key", key),)

    async def _outgoing(self, request: ModelRequest) -> Outgoing:
        model = request.model.removeprefix("models/")
        # The two families of models see the same history differently, so each has its own remembered pieces.
        if wants_signatures(model):
            contents = self._signing_fragments.pieces(request.messages, partial(self._render, signed=True))
        else:
            contents = self._fragments.pieces(request.messages, self._render)
        parts = [b'{"contents":', *contents]
        if request.system:
            parts += [b',"systemInstruction":', to_bytes({"parts": [{"text": request.system}]})]
        if request.tools:
            declarations = [
                {"name": spec.name, "description": spec.description, "parametersJsonSchema": spec.parameters}
                for spec in request.tools
            ]
            parts += [b',"tools":', to_bytes([{"functionDeclarations": declarations}])]
        if config := _generation_config(request) | self._thinking(model):
            parts += [b',"generationConfig":', to_bytes(config)]
        return Outgoing(
            f"/{VERSION}/models/{percent_encode(model)}:streamGenerateContent?alt=sse", b"".join([*parts, b"}"])
        )

    def _thinking(self, model: str) -> dict[str, Any]:
        """Return how much to think, where that was set: a level since Gemini 3, a number of tokens before."""
        if not self._effort or not known_model(model).effort:
            return {}
        budget: dict[str, Any] = {"thinkingBudget": THINKING_BUDGETS[self._effort]}
        return {"thinkingConfig": {"thinkingLevel": self._effort} if wants_signatures(model) else budget}

    def _reader(self, request: ModelRequest, response: HttpResponse) -> ReplyReader:
        if response.content_type not in ("text/event-stream", ""):
            raise self._not_our_api(response)
        return GenerateReader(self._service, request.model, SseParser())

    def _heard(self, reader: ReplyReader, reply: ModelReply) -> None:
        uses = reply.message.tool_uses
        if not uses or not isinstance(reader, GenerateReader):
            return
        for position, signature in reader.signatures.items():
            remember(self._signatures, _signature_key(reply.message, uses[position]), signature, MAX_SIGNATURES)

    def _render(self, message: Message, before: Message | None, *, signed: bool = False) -> Iterable[object]:
        if isinstance(message, UserMessage):
            names = tool_names(before)
            parts = [_function_response(result, names) for result in message.tool_use_results or ()]
            text = message.content_with_context()
            if text or not (parts or message.images):
                parts.append({"text": text})
            images = message.images or ()
            parts += [{"inlineData": {"mimeType": each.media_type, "data": each.base64}} for each in images]
            yield {"role": "user", "parts": parts}
            return
        spoken = message.content or ("" if message.tool_uses else NO_ANSWER)
        parts = [{"text": spoken}] if spoken else []
        first = len(parts)
        for use in message.tool_uses or ():
            part: dict[str, Any] = {"functionCall": {"id": use.id, "name": use.name, "args": use.args}}
            if signature := self._signatures.get(_signature_key(message, use)):
                part["thoughtSignature"] = signature
            parts.append(part)
        # Of calls made side by side only the first is signed.
        if signed and message.tool_uses:
            parts[first].setdefault("thoughtSignature", UNSIGNED)
        yield {"role": "model", "parts": parts}


class GenerateReader(ReplyReader):
    """Chunks of generated content; parts that are thoughts are left out, their signatures kept."""

    def __init__(self, service: Service, model: str, parser: SseParser) -> None:
        super().__init__(service, model, parser)
        self.signatures: dict[int, str] = {}
        """Position of a call → what it was signed with."""

    def _take(self, event: dict[str, Any]) -> str:
        draft = self.draft
        if event.get("responseId"):
            draft.message_id = str(event["responseId"])
        if usage := event.get("usageMetadata"):
            output = counted(usage, "candidatesTokenCount", "thoughtsTokenCount")
            total = counted(usage, "promptTokenCount", "toolUsePromptTokenCount")
            draft.usage = Usage(total, output, min(total, counted(usage, "cachedContentTokenCount")))
        if blocked := (event.get("promptFeedback") or {}).get("blockReason"):
            raise BadReplyError(
                "Gemini held back the prompt ({reason}). Rephrase it, or choose another model.", reason=blocked
            )
        if not event.get("candidates"):
            return ""
        self.began = True
        candidate = event["candidates"][0]
        shown = [self._part(part) for part in (candidate.get("content") or {}).get("parts") or ()]
        if reason := candidate.get("finishReason"):
            self._finish(reason)
        return "".join(shown)

    def _part(self, part: dict[str, Any]) -> str:
        call = part.get("functionCall")
        if call is not None:
            if signature := part.get("thoughtSignature"):
                self.signatures[len(self.draft.calls)] = signature
            self.draft.calls.append(RawCall(told_name(call), told_id(call), call.get("args") or {}))
            return ""
        if part.get("thought"):
            self.thoughts_heard += 1
            return ""
        return self.draft.add_text(part.get("text") or "")

    def _finish(self, reason: str) -> None:
        draft = self.draft
        if reason in FAULTY_STOPS and not draft.text and not draft.calls:
            raise BadReplyError(
                "Gemini gave up on its reply ({reason}). Ask again, or choose another model.",
                reason=reason,
                retryable=True,
            )
        draft.stop = STOPS.get(reason, "filter")


def wants_signatures(model: str) -> bool:
    """Gemini 3 and later refuse a history whose calls are not signed."""
    found = re.match(r"gemini-(\d+)", model)
    return found is not None and int(found[1]) >= 3


def _signature_key(message: AssistantMessage, use: AssistantToolUse) -> SignatureKey:
    return message.message_id or "", use.id, to_text(use.args)


def _function_response(result: ToolUseResult, names: Mapping[str, str]) -> dict[str, Any]:
    blocks = result.content
    if len(blocks) == 1 and isinstance(blocks[0], Json) and isinstance(blocks[0].value, dict):
        response = blocks[0].value
    else:
        key = "error" if result.status is ToolResultStatus.Error else "output"
        response = {key: result.as_text()}
    name = names.get(result.tool_use_id, "tool")
    return {"functionResponse": {"id": result.tool_use_id, "name": name, "response": response}}


def _generation_config(request: ModelRequest) -> dict[str, Any]:
    config = {
        "temperature": request.temperature,
        "seed": request.seed,
        "maxOutputTokens": request.max_output_tokens,
        "responseJsonSchema": request.json_schema,
        "responseMimeType": "application/json" if request.json_schema is not None else None,
    }
    return {name: value for name, value in config.items() if value is not None}
