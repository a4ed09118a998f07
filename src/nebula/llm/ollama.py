"""Ollama through its native chat API, with a context that fits the need.

The OpenAI-compatible door of Ollama ignores `num_ctx` and cuts a long prompt without a word; this one does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from nebula.language import Sentence
from nebula.llm.connector import Connector, Outgoing, ReplyReader
from nebula.llm.contract import ModelInfo, ModelRequest, Usage
from nebula.llm.errors import BadReplyError, NotFoundError, UnavailableError
from nebula.llm.http.client import HttpResponse, Timeouts
from nebula.llm.http.sse import NdjsonParser
from nebula.llm.wire import RawCall, counted, entries_of, function_tool, to_bytes, told_id, told_name, tool_names
from nebula.messages import Message, UserMessage

DEFAULT_HOST = "http://127.0.0.1:11434"
DEFAULT_PORT = 11434
KEEP_ALIVE = "30m"
SMALLEST_CONTEXT = 8192
ROOM_FOR_OUTPUT = 4096
BYTES_PER_TOKEN = 3
"""Careful for code and right for Japanese, which has three bytes and about one token a character."""
PATIENT = Timeouts(connect_s=10.0, first_byte_s=900.0, idle_s=600.0)
"""A cold model is loaded before the first byte comes; on a slow disk that takes minutes."""
SCHEMA_WORDS = (b"grammar", b"json schema", b"for format")
"""Words by which Ollama says that it cannot enforce a schema."""


class OllamaModel(Connector):
    provider = "ollama"
    can_pull = True

    def __init__(self, base_url: str = "", api_key: str = "", *, timeouts: Timeouts = PATIENT, **limits: Any) -> None:
        super().__init__(base_url, api_key, timeouts=timeouts, **limits)
        self._described: dict[str, ModelInfo] = {}
        self._context: dict[str, int] = {}
        self._warned: set[str] = set()
        self._without_schema: set[str] = set()

    async def list_models(self) -> list[ModelInfo]:
        listed = entries_of(await self._json("GET", "/api/tags"), "models")
        names = {name for entry in listed if isinstance(name := entry.get("model") or entry.get("name"), str)}
        return [ModelInfo(name, self.provider) for name in sorted(names)]

    async def describe(self, model: str) -> ModelInfo:
        """Return what the model can do and takes, asked once.

        Of a server that cannot say nothing is known: the request itself meets what is wrong there.
        """
        if model not in self._described:
            try:
                shown = await self._json("POST", "/api/show", {"model": model}, model=model)
            except (NotFoundError, BadReplyError, UnavailableError):
                return ModelInfo(model, self.provider)
            self._described[model] = self._info(model, shown)
        return self._described[model]

    def _info(self, model: str, shown: Mapping[str, Any]) -> ModelInfo:
        facts = shown.get("model_info")
        known = facts.items() if isinstance(facts, Mapping) else ()
        limit = next((value for key, value in known if key.endswith(".context_length")), None)
        abilities = shown.get("capabilities")
        template = shown.get("template")
        return ModelInfo(
            model,
            self.provider,
            limit if isinstance(limit, int) and limit > 0 else None,
            tools=_takes_tools(abilities, template),
            tool_role='"tool"' in template if isinstance(template, str) and template else None,
            thinking="thinking" in abilities if isinstance(abilities, list) else None,
            images="vision" in abilities if isinstance(abilities, list) else None,
        )

    def _base_url(self, text: str) -> str:
        return ollama_base_url(text)

    async def _outgoing(self, request: ModelRequest) -> Outgoing:
        info = await self.describe(request.model)
        system = to_bytes({"role": "system", "content": request.system}) if request.system else b""
        messages = self._fragments.pieces(request.messages, _render, system)
        tools = to_bytes([function_tool(spec) for spec in request.tools]) if request.tools else b""
        context, notices = self._context_for(request, info, sum(map(len, messages)) + len(tools))
        parts = [to_bytes(self._options(request, info, context))[:-1], b',"messages":', *messages]
        if tools:
            parts += [b',"tools":', tools]
        return Outgoing("/api/chat", b"".join([*parts, b"}"]), notices)

    def _options(self, request: ModelRequest, info: ModelInfo, context: int) -> dict[str, Any]:
        options = {
            "num_ctx": context,
            "temperature": request.temperature,
            "seed": request.seed,
            "num_predict": request.max_output_tokens,
        }
        body: dict[str, Any] = {
            "model": request.model,
            "stream": True,
            "keep_alive": KEEP_ALIVE,
            "options": {name: value for name, value in options.items() if value is not None},
        }
        if request.json_schema is not None and request.model not in self._without_schema:
            body["format"] = request.json_schema
            if info.thinking:
                body["think"] = False  # with a schema, a thinking model puts its thoughts into the JSON
        return body

    def _adapt(self, model: str, status: int, body: bytes) -> bool:
        """Leave out, from now on, a schema that this server cannot enforce: the reply is read all the same."""
        said = body.lower()
        if model in self._without_schema or not any(words in said for words in SCHEMA_WORDS):
            return False
        self._without_schema.add(model)
        return True

    def _context_for(self, request: ModelRequest, info: ModelInfo, size: int) -> tuple[int, tuple[Sentence, ...]]:
        """Return how many tokens to ask for. Never fewer than before: a change makes Ollama load the model anew."""
        prompt = size // BYTES_PER_TOKEN
        needed = prompt + (request.max_output_tokens or ROOM_FOR_OUTPUT)
        context = max(context_step(needed), self._context.get(request.model, 0))
        notices: tuple[Sentence, ...] = ()
        if info.context_length is not None:
            context = min(context, info.context_length)
            if prompt > info.context_length and request.model not in self._warned:
                self._warned.add(request.model)
                notices = (
                    Sentence(
                        "The conversation (about {tokens:,} tokens) is longer than {model} can take ({limit:,}); "
                        "Ollama will cut its beginning. Use /compact (--compact with -p), or another model.",
                        tokens=prompt,
                        model=request.model,
                        limit=info.context_length,
                    ),
                )
        self._context[request.model] = context
        return context, notices

    def _reader(self, request: ModelRequest, response: HttpResponse) -> ReplyReader:
        if response.content_type not in ("application/x-ndjson", "application/json", ""):
            raise self._not_our_api(response)
        return OllamaReader(self._service, request.model, NdjsonParser())


def _takes_tools(abilities: object, template: object) -> bool | None:
    """Return whether a model takes tools; None where that cannot be told.

    An Ollama that does not list abilities looks at the template before it refuses a request with tools, or leaves the
    tools out without a word; so do we.
    """
    if isinstance(abilities, list):
        return "tools" in abilities
    return ".Tools" in template if isinstance(template, str) and template else None


class OllamaReader(ReplyReader):
    """Lines of a chat; what the model thinks aloud comes in a field of its own and is left out."""

    def _take(self, event: dict[str, Any]) -> str:
        draft = self.draft
        self.began = True
        message = event.get("message") or {}
        for call in message.get("tool_calls") or ():
            function = call["function"]
            draft.calls.append(RawCall(told_name(function), told_id(call), function.get("arguments") or {}))
        if event.get("done"):
            self.is_done = True
            draft.stop = "length" if event.get("done_reason") == "length" else "end"
            draft.usage = Usage(counted(event, "prompt_eval_count"), counted(event, "eval_count"))
            draft.reading_rate = _reading_rate(event)
        if message.get("thinking"):
            self.thoughts_heard += 1
        return draft.add_text(message.get("content") or "")


def _reading_rate(event: Mapping[str, Any]) -> float | None:
    """Return the tokens a second at which the prompt was read; None where the server does not tell."""
    nanoseconds = event.get("prompt_eval_duration")
    if not isinstance(nanoseconds, int | float) or nanoseconds <= 0:
        return None
    return counted(event, "prompt_eval_count") / nanoseconds * 1e9 or None


def context_step(tokens: int) -> int:
    """Return `tokens` rounded up to a power of two, so that a growing conversation seldom changes it."""
    return max(SMALLEST_CONTEXT, 1 << (tokens - 1).bit_length())


def ollama_base_url(host: str) -> str:
    """Return OLLAMA_HOST, as people write it (`host`, `:8080`, `0.0.0.0:11434`, `https://…`), as a base URL."""
    host = host.strip().strip("\"'").rstrip("/")
    if not host:
        return DEFAULT_HOST
    scheme, separator, rest = host.partition("://")
    if not separator:
        scheme, rest = "http", host
    authority, slash, path = rest.partition("/")
    credentials, at, address = authority.rpartition("@")
    name, port = _name_and_port(address)
    if name in ("", "0.0.0.0", "::", "[::]"):  # noqa: S104 - what a server listens on; a client means this machine
        name = "127.0.0.1"
    if not port:
        port = str(DEFAULT_PORT) if not separator or scheme == "http" else ""
    path = path.removesuffix("/api").removesuffix("api") if path.split("/")[-1] == "api" else path
    return f"{scheme}://{credentials}{at}{name}{':' if port else ''}{port}{slash if path else ''}{path}".rstrip("/")


def _name_and_port(address: str) -> tuple[str, str]:
    if address.startswith("["):
        name, _, port = address.partition("]")
        return name + "]", port.removeprefix(":")
    if address.count(":") > 1:
        return f"[{address}]" if address != "::" else "::", ""
    name, _, port = address.partition(":")
    return name, port


def _render(message: Message, before: Message | None) -> Iterable[object]:
    if isinstance(message, UserMessage):
        yield from _render_user(message, before)
    elif not message.tool_uses:
        yield {"role": "assistant", "content": message.content}
    else:
        calls = [{"id": use.id, "function": {"name": use.name, "arguments": use.args}} for use in message.tool_uses]
        yield {"role": "assistant", "content": message.content, "tool_calls": calls}


def _render_user(message: UserMessage, before: Message | None) -> Iterable[object]:
    names = tool_names(before)
    for result in message.tool_use_results or ():
        said: dict[str, Any] = {"role": "tool", "content": result.as_text(), "tool_call_id": result.tool_use_id}
        if name := names.get(result.tool_use_id):
            said["tool_name"] = name
        yield said
    text = message.content_with_context()
    if text or message.images or not message.tool_use_results:
        said = {"role": "user", "content": text}
        if message.images:
            said["images"] = [image.base64 for image in message.images]
        yield said
