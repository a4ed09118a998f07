"""The JSON dialect: tool calls for models that have none of their own, as a wrapper around any connector.

The model learns of the tools in its system prompt and answers with one JSON object; what comes out of the wrapper
are the same assistant messages as from native tool calls, and the loop never knows.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from typing import Any

from nebula.language import Sentence
from nebula.llm.contract import (
    Model,
    ModelReply,
    ModelRequest,
    Retrying,
    StreamItem,
    TextDelta,
    Usage,
    Working,
    WrappedModel,
)
from nebula.llm.dialect.reader import DialectReply, read_reply
from nebula.llm.dialect.spoken import FormatFailure, KnownTools, SpokenCall
from nebula.llm.dialect.tools import Offer, make_offer
from nebula.llm.errors import BadReplyError, FormatError
from nebula.llm.wire import CallIds, RawCall, call_ids, calls_of_cut_reply, read_arguments, tool_names
from nebula.messages import (
    AssistantMessage,
    AssistantToolUse,
    CancelledToolUses,
    Json,
    Message,
    Prompt,
    Text,
    ToolResultStatus,
    ToolSpec,
    ToolUseResult,
    ToolUseResults,
    UserMessage,
)
from nebula.value import replace

SHAPE = '{"thought": "…", "tool_calls": [{"name": "…", "parameters": {…}}], "final_answer": "…"}'
PROMPT = """\
You work by calling tools. Reply with ONE JSON object and nothing else, no code fence, no text around it:
{shape}
- thought: one or two sentences on what you do next.
- tool_calls: the tools to run now, each with its name and an object of parameters; [] when no tool is needed.
- final_answer: your answer to the user once nothing is left to do; "" while you call tools.
Results of tools come back in <tool_response> blocks. Never write one yourself. Inside JSON strings write line breaks
as \\n, quotes as \\" and backslashes as \\\\.

The tools:
<tools>
{tools}
</tools>
"""
COMPLAINT = (
    "Your last reply could not be used: {reason}. Nothing was run. Reply again with one JSON object of this shape "
    "and nothing else: {shape}"
)
ATTEMPTS = 2
MAX_QUOTED_REPLY = 4000
PLAIN_RUNGS = ("json", "stripped", "tags", "fence")


class JsonDialect(WrappedModel):
    """`model`, asked and understood in the dialect whenever a request offers tools.

    With `tool_role` results go back as messages of role `tool`, else as user messages: some templates drop that role.
    """

    def __init__(self, model: Model, *, tool_role: bool = False) -> None:
        super().__init__(model)
        self._tool_role = tool_role
        self._translated: dict[tuple[int, int], tuple[Message, Message | None, Message]] = {}
        self._offered: tuple[Sequence[ToolSpec], Offer, str] | None = None

    def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        """Ask once. Prose where the object was asked for is a format failure."""
        return self._stream(request, prose_is_answer=False)

    def stream_or_prose(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        """Ask once; prose is the answer, and its reply has no rung. For a model that has tool calls of its own."""
        return self._stream(request, prose_is_answer=True)

    async def _stream(self, request: ModelRequest, *, prose_is_answer: bool) -> AsyncGenerator[StreamItem]:
        if not request.tools:
            async with aclosing(self._model.stream(request)) as plain:
                async for item in plain:
                    yield item
            return
        offer, prompt = self._offer(request.tools)
        asked = self._ask_in_dialect(request, offer, prompt)
        used = Usage()
        for attempt in range(1, ATTEMPTS + 1):
            raw: ModelReply | None = None
            size = 0
            async with aclosing(self._model.stream(asked)) as items:
                async for item in items:
                    if isinstance(item, ModelReply):
                        raw = item
                    elif isinstance(item, TextDelta):  # raw JSON is nothing to show
                        size += len(item.text)
                        yield Working("writing", size)
                    else:
                        yield item
            if raw is None:
                raise BadReplyError("The model's stream ended without a reply. Ask again, or choose another model.")
            used += raw.usage
            try:
                reading = _read(raw, offer)
            except FormatFailure as failure:
                if failure.is_prose and prose_is_answer:
                    yield TextDelta(raw.message.content)
                    yield replace(raw, usage=used)
                    return
                if attempt == ATTEMPTS:
                    raise _format_error(request.model, failure, used) from None
                reason = Sentence("The reply could not be read: {problem}.", problem=failure.reason)
                yield Retrying(reason, attempt + 1, 0.0, ATTEMPTS, "bad_reply")
                asked = _with_complaint(asked, raw, failure)
                continue
            reply = finished(reading, raw, offer, request.messages)
            if reply.message.content:
                yield TextDelta(reply.message.content)
            yield replace(reply, usage=used)
            return

    def _offer(self, tools: Sequence[ToolSpec]) -> tuple[Offer, str]:
        if self._offered is None or self._offered[0] != tools:
            offer = make_offer(tools)
            listed = "\n".join(json.dumps(spec.to_json(), ensure_ascii=False) for spec in offer.specs)
            self._offered = (tools, offer, PROMPT.format(shape=SHAPE, tools=listed))
        return self._offered[1], self._offered[2]

    def _ask_in_dialect(self, request: ModelRequest, offer: Offer, prompt: str) -> ModelRequest:
        return replace(
            request,
            system=f"{offer.in_its_words(request.system)}\n\n{prompt}" if request.system else prompt,
            messages=self._translate(request.messages, offer),
            tools=(),
            json_schema=reply_schema(offer) if request.json_schema is None else request.json_schema,
        )

    def _translate(self, messages: Sequence[Message], offer: Offer) -> list[Message]:
        """Return the history in the dialect. Each message is translated once: the connector knows it by identity."""
        history: list[Message] = []
        before: Message | None = None
        translated: dict[tuple[int, int], tuple[Message, Message | None, Message]] = {}
        for message in messages:
            key = (id(message), id(before))
            known = self._translated.get(key) or (message, before, self._in_dialect(message, before, offer))
            translated[key] = known
            history.append(known[2])
            before = message
        self._translated = translated
        return history

    def _in_dialect(self, message: Message, before: Message | None, offer: Offer) -> Message:
        if isinstance(message, AssistantMessage):
            return AssistantMessage.new_response(message.message_id, spoken(message, offer))
        results = message.tool_use_results
        if not results:
            return message
        message, results = _with_offered_names(message, results, offer)
        if self._tool_role:
            return message
        names = tool_names(before)
        blocks = "\n".join(_response_block(result, names.get(result.tool_use_id)) for result in results)
        prompt = f"{blocks}\n{message.prompt}" if message.prompt else blocks
        return replace(message, content=Prompt(prompt))


def _with_offered_names(
    message: UserMessage, results: tuple[ToolUseResult, ...], offer: Offer
) -> tuple[UserMessage, tuple[ToolUseResult, ...]]:
    """Return the same, but a failure names the tools as the model knows them: what to use instead must be there to
    use."""
    renamed = tuple(
        _renamed(result, offer) if result.status is ToolResultStatus.Error else result for result in results
    )
    said = message.prompt
    content = ToolUseResults(renamed) if said is None else CancelledToolUses(said, renamed)
    return replace(message, content=content), renamed


def _renamed(result: ToolUseResult, offer: Offer) -> ToolUseResult:
    content = tuple(
        Json({"error": offer.in_its_words(str(block.value["error"]))})
        if isinstance(block, Json) and isinstance(block.value, dict) and block.value.keys() == {"error"}
        else block
        for block in result.content
    )
    return replace(result, content=content)


def reply_schema(offer: Offer) -> dict[str, Any]:
    """Return the dialect's object as a JSON schema, for servers that can hold a model to one: the tools, each with its
    own parameters, and nothing else."""
    calls = [
        _only({"name": {"type": "string", "enum": [spec.name]}, "parameters": _parameters(spec)}, "name", "parameters")
        for spec in offer.specs
    ]
    said = {
        "thought": {"type": "string"},
        "tool_calls": {"type": "array", "items": _any_of(calls, [spec.name for spec in offer.specs])},
        "final_answer": {"type": "string"},
    }
    return _only(said, "thought", "tool_calls", "final_answer")


def _any_of(calls: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Mapping[str, Any]:
    """Return a schema that allows one of these calls; what they share is stated as well, for servers that do not look
    into alternatives."""
    if len(calls) == 1:
        return calls[0]
    shared = _only({"name": {"type": "string", "enum": names}, "parameters": {"type": "object"}}, "name", "parameters")
    return {**shared, "anyOf": list(calls)}


def _only(properties: Mapping[str, Any], *required: str) -> dict[str, Any]:
    """Return an object with these properties and no others."""
    return {"type": "object", "properties": dict(properties), "required": list(required), "additionalProperties": False}


def _parameters(spec: ToolSpec) -> dict[str, Any]:
    """Return the schema of a tool's arguments; any object where it points elsewhere, which fails inside another."""
    if "$ref" in json.dumps(spec.parameters):
        return {"type": "object"}
    return {**spec.parameters, "additionalProperties": False}


def spoken(message: AssistantMessage, offer: Offer) -> str:
    """Return a message of the history as the model would have said it in the dialect."""
    calls = []
    for use in message.tool_uses or ():
        name, args = (use.name, use.args) if use.name in offer.by_name else offer.spoken(use.orig_name, use.orig_args)
        calls.append({"name": name, "parameters": args})
    said = {
        "thought": message.content if calls else "",
        "tool_calls": calls,
        "final_answer": "" if calls else message.content,
    }
    return json.dumps(said, ensure_ascii=False)


def finished(reading: DialectReply, raw: ModelReply, offer: Offer, history: Sequence[Message]) -> ModelReply:
    """Return the reply that native tool calls would have given.

    While tools are called, the final answer is provisional and left out: it tells of work not yet done.
    """
    message_id = raw.message.message_id
    if not reading.calls:
        message: AssistantMessage = AssistantMessage.new_response(message_id, reading.answer or "")
        return replace(raw, message=message, rung=reading.rung)
    ids = CallIds(call_ids(history))
    uses: list[AssistantToolUse] = []
    invalid: dict[str, str] = {}
    for call in reading.calls:
        use_id = ids.next(None)
        args, broken = read_arguments(RawCall(call.name, value=dict(call.args)), cut=False)
        orig_name, orig_args, reason = offer.translate(call.name, args)
        if broken or reason:
            invalid[use_id] = broken or reason or ""
        uses.append(AssistantToolUse(use_id, call.name, orig_name, args, orig_args))
    if raw.stop == "length":
        invalid = calls_of_cut_reply(uses, offer.readers) | invalid
    message = AssistantMessage.new_tool_use(message_id, reading.thought, uses)
    return replace(raw, message=message, rung=reading.rung, stop="tool_calls", invalid_calls=invalid)


def _read(raw: ModelReply, offer: Offer) -> DialectReply:
    uses = raw.message.tool_uses
    if uses:
        if raw.invalid_calls:
            raise FormatFailure(next(iter(raw.invalid_calls.values())))
        tools = KnownTools(offer.schemas, offer.readers)
        calls = tuple(SpokenCall(tools.name(use.name), use.args) for use in uses)
        return DialectReply(raw.message.content, calls, None, "native")
    try:
        return read_reply(raw.message.content, tools=offer.schemas, readers=offer.readers)
    except FormatFailure as failure:
        if raw.stop == "filter" and not raw.message.content.strip():
            raise FormatFailure("the provider held the reply back") from None
        if raw.stop == "length":
            limit = "{failure}; it reached the output limit, so write less at a time"
            raise FormatFailure(Sentence(limit, failure=failure.reason), is_prose=failure.is_prose) from None
        raise


def with_printed_calls(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """Return a reply whose text is nothing but tool calls, which some models print instead of making them, by the names
    they were offered or by those of the dialect, which they may have learnt; else as it is."""
    understood = _with_calls_of(make_offer(request.tools, under_own_names=True), reply, request)
    return understood if understood is not reply else _with_calls_of(make_offer(request.tools), reply, request)


def _with_calls_of(offer: Offer, reply: ModelReply, request: ModelRequest) -> ModelReply:
    try:
        reading = read_reply(reply.message.content, tools=offer.schemas, readers=offer.readers)
    except FormatFailure:
        return reply
    if reading.rung not in PLAIN_RUNGS or not reading.calls or any(c.name not in offer.schemas for c in reading.calls):
        return reply
    return finished(reading, reply, offer, request.messages)


def with_known_names(reply: ModelReply, request: ModelRequest) -> ModelReply:
    """Return a native reply whose calls name offered tools, where a server left tokens of its own on the names."""
    offer = make_offer(request.tools, under_own_names=True)
    tools = KnownTools(offer.schemas, offer.readers)
    uses = [
        replace(use, name=tools.name(use.name), orig_name=tools.name(use.orig_name))
        for use in reply.message.tool_uses or ()
    ]
    return replace(reply, message=replace(reply.message, tool_uses=uses))


def _with_complaint(asked: ModelRequest, raw: ModelReply, failure: FormatFailure) -> ModelRequest:
    said = raw.message.content[:MAX_QUOTED_REPLY] or "(nothing)"
    complaint = COMPLAINT.format(reason=failure, shape=SHAPE)
    turn = (AssistantMessage.new_response(None, said), UserMessage.new_prompt(complaint))
    return replace(asked, messages=(*asked.messages, *turn))


def _format_error(model: str, failure: FormatFailure, used: Usage) -> FormatError:
    return FormatError(
        "{model} did not keep to the JSON dialect, even after it was given the reason: {problem}. Try a larger "
        "model, or one with tool calls of its own.",
        model=model,
        problem=failure.reason,
        usage=used,
    )


def _response_block(result: ToolUseResult, name: str | None) -> str:
    content: Any = result.as_text()
    if len(result.content) == 1 and not isinstance(result.content[0], Text):
        content = json.loads(content)
    body = json.dumps({"name": name, "content": content} if name else {"content": content}, ensure_ascii=False)
    return f"<tool_response>\n{body}\n</tool_response>"
