"""OpenAI chat completions, and the many servers that speak them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nebula.llm.catalog import known_model, known_provider
from nebula.llm.connector import Connector, Outgoing, ReplyReader
from nebula.llm.contract import ModelInfo, ModelReply, ModelRequest, Usage
from nebula.llm.errors import ModelError, UnavailableError
from nebula.llm.http.client import HttpResponse
from nebula.llm.http.sse import EitherParser, SseParser
from nebula.llm.http.url import percent_encode
from nebula.llm.wire import RawCall, counted, entries_of, function_tool, to_bytes, to_text, told_id, told_name
from nebula.messages import Message, UserMessage
from nebula.value import replace

if TYPE_CHECKING:
    from nebula.llm.openai_responses import ResponsesWriter

STOPS = {
    "stop": "end",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "filter",
}
OTHER_TYPES = ("application/json", "application/x-ndjson", "application/octet-stream", "text/plain")
"""Under which servers send a whole completion, or events after all."""
OPTIONAL_PARAMETERS = (
    "reasoning_effort",
    "temperature",
    "seed",
    "stream_options",
    "max_completion_tokens",
    "max_tokens",
    "response_format",
)
"""What a server may not know and we can do without."""
REFUSING_WORDS = ("unsupported", "not support", "unknown", "unrecognized", "extra", "not permitted")
ONLY_RESPONSES = ("v1/responses", "not a chat model", "unsupported_api_for_model")
"""Words by which a server says that a model answers through the Responses API alone."""
SCHEMA_WORDS = ("grammar", "json schema")
"""Words by which llama.cpp and vLLM say that they cannot enforce our schema."""


class OpenAIModel(Connector):
    provider = "openai"

    def __init__(self, base_url: str = "", api_key: str = "", **limits: Any) -> None:
        super().__init__(base_url, api_key, **limits)
        self._refused: dict[str, set[str]] = {}
        self._described: dict[str, ModelInfo] = {}
        self._listing: dict[str, Any] = {}
        """The server's last list of models."""
        self._only_responses: set[str] = set()
        self._responses: ResponsesWriter | None = None

    async def list_models(self) -> list[ModelInfo]:
        self._listing = await self._json("GET", "/models")
        listed = entries_of(self._listing, "data")
        names = [entry["id"] for entry in listed if isinstance(entry.get("id"), str)]
        return [ModelInfo(name, self.provider) for name in sorted(names)]

    async def describe(self, model: str) -> ModelInfo:
        """Return what a local server says beyond OpenAI's API, asked once. OpenAI's own models are known."""
        if self._is_default or known_provider(model):
            return ModelInfo(model, self.provider)
        if model not in self._described:
            base = self._service.url.removesuffix("/v1")
            properties = await self._answer(f"/props?model={percent_encode(model)}", base)
            listing = {} if properties else self._listing or await self._answer("/models")
            self._described[model] = _described(ModelInfo(model, self.provider), properties, listing)
        return self._described[model]

    async def _answer(self, path: str, base: str = "") -> dict[str, Any]:
        """Return what the server answers at `path`; nothing where it does not know that path."""
        try:
            return await self._json("GET", path, base=base)
        except UnavailableError:
            raise  # it may know later: llama.cpp answers so while it loads
        except ModelError:
            return {}

    async def _outgoing(self, request: ModelRequest) -> Outgoing:
        if self._is_for_responses(request.model):
            from nebula.llm.openai_responses import PATH, ResponsesWriter

            self._responses = self._responses or ResponsesWriter()
            return Outgoing(PATH, self._responses.write(request, self._options(request)))
        system = to_bytes({"role": "system", "content": request.system}) if request.system else b""
        messages = self._fragments.pieces(request.messages, _render, system)
        parts = [to_bytes(self._options(request))[:-1], b',"messages":', *messages]
        if request.tools:
            parts += [b',"tools":', to_bytes([function_tool(spec) for spec in request.tools])]
        return Outgoing("/chat/completions", b"".join([*parts, b"}"]))

    def _is_for_responses(self, model: str) -> bool:
        """Tell whether a model is asked through the Responses API: by its name at OpenAI, elsewhere once it said so."""
        return model in self._only_responses or (self._is_default and known_model(model).responses_only)

    def _heard(self, reader: ReplyReader, reply: ModelReply) -> None:
        thoughts = getattr(reader, "thoughts", None)
        if self._responses is not None and thoughts and reply.message.tool_uses:
            self._responses.remember(reply.message.message_id or "", thoughts)

    def _options(self, request: ModelRequest) -> dict[str, Any]:
        refused = self._refused.get(request.model, set())
        longest = "max_tokens" if "max_completion_tokens" in refused else "max_completion_tokens"
        options: dict[str, Any] = {
            "stream_options": {"include_usage": True},
            "temperature": request.temperature,
            "seed": request.seed,
            longest: request.max_output_tokens,
            "reasoning_effort": self._effort if self._effort and known_model(request.model).effort else None,
        }
        if request.json_schema is not None:
            schema = {"name": "reply", "schema": request.json_schema}
            options["response_format"] = {"type": "json_schema", "json_schema": schema}
        kept = {name: value for name, value in options.items() if value is not None and name not in refused}
        return {"model": request.model, "stream": True, **kept}

    def _adapt(self, model: str, status: int, body: bytes) -> bool:
        """Leave out what this server refuses for this model, or ask it through the Responses API, from now on."""
        if status in (400, 404) and model not in self._only_responses:
            said = body.decode("utf-8", "replace").lower()
            if any(words in said for words in ONLY_RESPONSES):
                self._only_responses.add(model)
                return True
        name = _refused_parameter(body.decode("utf-8", "replace")) if status in (400, 422) else None
        refused = self._refused.setdefault(model, set())
        if name is None or name in refused:
            return False
        refused.add(name)
        return True

    def _reader(self, request: ModelRequest, response: HttpResponse) -> ReplyReader:
        if self._is_for_responses(request.model):
            from nebula.llm.openai_responses import ResponsesReader

            return ResponsesReader(self._service, request.model, SseParser())
        if response.content_type in ("text/event-stream", ""):
            return ChatReader(self._service, request.model, SseParser())
        if response.content_type in OTHER_TYPES:
            return ChatReader(self._service, request.model, EitherParser())
        raise self._not_our_api(response)


class ChatReader(ReplyReader):
    """Chunks of a chat completion. A whole completion is read as a chunk whose message says it all."""

    def _event(self, text: str) -> str:
        if text.strip() == "[DONE]":
            self.is_done = True
            self.draft.stop = self.draft.stop or ("end" if self.began else "missing")
            return ""
        return super()._event(text)

    def _take(self, event: dict[str, Any]) -> str:
        draft = self.draft
        if event.get("id"):
            draft.message_id = str(event["id"])
        if usage := event.get("usage"):
            draft.usage = usage_of(usage, "prompt_tokens", "completion_tokens")
        if not event.get("choices"):
            return ""
        choice = next((each for each in event["choices"] if not each.get("index")), None)
        if choice is None:
            return ""  # of another answer than the one that was asked for
        self.began = True
        whole = choice.get("message")
        delta = whole or choice.get("delta") or {}
        reason = choice.get("finish_reason") or ("stop" if whole else None)
        if reason:
            draft.stop = STOPS.get(reason, "end")
        for fragment in delta.get("tool_calls") or ():
            add_call(draft.calls, fragment)
        if delta.get("reasoning_content") or delta.get("reasoning"):
            self.thoughts_heard += 1
        return draft.add_text(_text_of(delta.get("content")) or delta.get("refusal") or "")


def _text_of(content: Any) -> str:
    """Return the text of a content, which some servers send as a list of parts."""
    if isinstance(content, list):
        return "".join(part.get("text") or "" for part in content if isinstance(part, dict))
    return content or ""


def usage_of(told: object, sent: str, made: str) -> Usage:
    """Return what was counted under these two names. Output holds the thoughts, input what came from the cache and what
    went into it."""
    total = counted(told, sent)
    details = told.get(f"{sent}_details") if isinstance(told, Mapping) else None
    cached = min(total, counted(details, "cached_tokens"))
    written = min(total - cached, counted(details, "cache_write_tokens"))
    return Usage(total, counted(told, made), cached, written)


def add_call(calls: list[RawCall], fragment: Mapping[str, Any]) -> None:
    """Add a fragment to the call that it belongs to: the last one with its `index`.

    But some servers leave the index out, and some give every call of a reply the index 0: there a new id, or a
    second name, begins a new call.
    """
    index, call_id = fragment.get("index"), told_id(fragment)
    function = fragment.get("function") or {}
    name, arguments = told_name(function), function.get("arguments")
    call = next((known for known in reversed(calls) if index is None or known.index == index), None)
    if call is not None and call_id is not None and call.id not in (None, call_id):
        call = next((known for known in calls if known.id == call_id), None)
    elif call is not None and index is None and call_id is None and name and call.name:
        call = None
    if call is None:
        call = RawCall(index=index)
        calls.append(call)
    call.id = call.id or call_id
    call.name = call.name or name
    if isinstance(arguments, str):
        call.add_piece(arguments)
    elif arguments is not None:
        call.value = arguments


def _described(info: ModelInfo, properties: Mapping[str, Any], listing: Mapping[str, Any]) -> ModelInfo:
    """Return the model with what its server reports: llama.cpp the context length and what the template can do; vLLM
    and others the context length, in their list of models."""
    abilities = properties.get("chat_template_caps")
    if isinstance(abilities, dict):
        tools = abilities.get("supports_tools") is True
        info = replace(info, tools=tools, tool_role=tools)
    generation = properties.get("default_generation_settings")
    sizes = [generation.get("n_ctx")] if isinstance(generation, dict) else []
    for entry in entries_of(listing, "data"):
        if entry.get("id") == info.name:
            sizes += [entry.get("max_model_len"), entry.get("context_length")]
    size = next((each for each in sizes if isinstance(each, int) and each > 0), None)
    return replace(info, context_length=size)


def _refused_parameter(body: str) -> str | None:
    text = body.lower().replace('\\"', '"')
    if any(words in text for words in SCHEMA_WORDS):
        return "response_format"
    if not any(word in text for word in REFUSING_WORDS):
        return None
    return next((name for name in OPTIONAL_PARAMETERS if f"'{name}'" in text or f'"{name}"' in text), None)


def _render(message: Message, _: Message | None) -> Iterable[object]:
    if isinstance(message, UserMessage):
        yield from _render_user(message)
    elif not message.tool_uses:
        yield {"role": "assistant", "content": message.content}
    else:
        calls = [
            {"id": use.id, "type": "function", "function": {"name": use.name, "arguments": to_text(use.args)}}
            for use in message.tool_uses
        ]
        yield {"role": "assistant", "content": message.content or None, "tool_calls": calls}


def _render_user(message: UserMessage) -> Iterable[object]:
    for result in message.tool_use_results or ():
        yield {"role": "tool", "tool_call_id": result.tool_use_id, "content": result.as_text()}
    text = message.content_with_context()
    if message.images:
        images = [
            {"type": "image_url", "image_url": {"url": f"data:{image.media_type};base64,{image.base64}"}}
            for image in message.images
        ]
        yield {"role": "user", "content": [*([{"type": "text", "text": text}] if text else []), *images]}
    elif text or not message.tool_use_results:
        yield {"role": "user", "content": text}
