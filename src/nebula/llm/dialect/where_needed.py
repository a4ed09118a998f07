"""Native tool calls where a model has them, the dialect where not.

Whether it has them is asked of its server once. A model of one's own server that prints its calls as text instead of
making them shows itself by the structure of its reply; it is understood, and asked in the dialect until it answers in
prose. The dialect itself is loaded only for a model that needs it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator
from contextlib import aclosing
from typing import TYPE_CHECKING

from nebula.language import Sentence
from nebula.llm.catalog import known_provider
from nebula.llm.contract import Model, ModelInfo, ModelNotice, ModelReply, ModelRequest, StreamItem, WrappedModel
from nebula.llm.errors import BadReplyError, ModelError
from nebula.messages import DeclaredSpec, ToolSpec

if TYPE_CHECKING:
    from nebula.llm.dialect.json_dialect import JsonDialect

NO_TOOLS_WORDS = ("does not support tools", "tool choice requires", "tools param requires", "Unsupported param: tools")
"""How Ollama, vLLM and llama.cpp, new and old, refuse a request that offers tools."""


class DialectWhereNeeded(WrappedModel):
    """`remark` is said once, before the first reply.

    `reads_printed_calls`: the server is one whose models may print calls as text. Never for a provider whose models
    have tool calls, nor for its models behind another address: there a text is the answer, whatever it looks like.
    """

    def __init__(self, model: Model, remark: Sentence | None = None, *, reads_printed_calls: bool = False) -> None:
        super().__init__(model)
        self._remark = remark
        self._reads_printed_calls = reads_printed_calls
        self._printing: set[str] = set()
        """Models that printed a call and have not answered in prose since."""
        self._refusing: set[str] = set()
        """Models whose server refused a request that offered tools."""
        self._dialects: dict[bool, JsonDialect] = {}

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        if self._remark is not None:
            yield ModelNotice(self._remark)
            self._remark = None
        info = await self._info(request.model)
        has_none = needs_dialect(info) or request.model in self._refusing
        if not request.tools or not (has_none or request.model in self._printing):
            try:
                async with aclosing(self._native(request)) as items:
                    async for item in items:
                        yield item
                return
            except BadReplyError as error:
                if not any(words in str(error) for words in NO_TOOLS_WORDS):
                    raise
                self._refusing.add(request.model)
                has_none = True
        dialect = self._dialect(tool_role=info.tool_role is not False)
        async with aclosing(dialect.stream(request) if has_none else dialect.stream_or_prose(request)) as items:
            async for item in items:
                if isinstance(item, ModelReply) and item.rung is None:
                    self._printing.discard(request.model)  # it answered in prose: native again
                yield item

    async def _info(self, model: str) -> ModelInfo:
        try:
            return await self._model.describe(model)
        except ModelError:
            # Not for us to judge: the request itself will meet the same fault, with its retries.
            return ModelInfo(model, self.provider)

    def _dialect(self, *, tool_role: bool) -> JsonDialect:
        if tool_role not in self._dialects:
            from nebula.llm.dialect.json_dialect import JsonDialect

            self._dialects[tool_role] = JsonDialect(self._model, tool_role=tool_role)
        return self._dialects[tool_role]

    async def _native(self, request: ModelRequest) -> AsyncGenerator[StreamItem]:
        reads_printed = self._reads_printed_calls and not known_provider(request.model)
        async with aclosing(self._model.stream(request)) as items:
            async for item in items:
                if isinstance(item, ModelReply) and reads_printed and may_print_calls(item, request):
                    from nebula.llm.dialect.json_dialect import with_printed_calls

                    understood = with_printed_calls(item, request)
                    if understood is not item:
                        self._printing.add(request.model)
                        yield ModelNotice(
                            Sentence(
                                "{model} prints its tool calls as text. They were understood; until it answers in "
                                "prose it is asked in the JSON dialect.",
                                model=request.model,
                            )
                        )
                        item = understood
                elif isinstance(item, ModelReply) and has_unknown_names(item, request):
                    from nebula.llm.dialect.json_dialect import with_known_names

                    item = with_known_names(item, request)
                yield item


def needs_dialect(info: ModelInfo) -> bool:
    """Return whether the provider says that this model has no tool calls of its own."""
    return info.tools is False


def may_print_calls(reply: ModelReply, request: ModelRequest) -> bool:
    """Return whether a reply may be a printed call, by a cheap look: its text is nothing but structure, and names a
    tool."""
    if reply.message.tool_uses or not request.tools:
        return False
    text = reply.message.content.strip()
    is_fence = text.startswith("```") and text.endswith("```") and text.count("```") == 2
    return (is_fence or text[:1] in ("{", "[", "<")) and any(name in text for name in _names(request.tools))


def _names(tools: Iterable[ToolSpec]) -> Iterator[str]:
    """Yield the names by which a model may call them: those it was offered, and the dialect's."""
    for spec in tools:
        yield spec.name
        if isinstance(spec, DeclaredSpec):
            yield from (form.name for form in spec.forms)


def has_unknown_names(reply: ModelReply, request: ModelRequest) -> bool:
    names = {spec.name for spec in request.tools}
    return any(use.name not in names for use in reply.message.tool_uses or ())
