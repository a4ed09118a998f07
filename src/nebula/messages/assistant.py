"""What the model says: an answer, or a wish to use tools."""

from __future__ import annotations

from collections.abc import Iterable

from nebula.value import value

from .json_forms import (
    JsonObject,
    TaggedObject,
    form,
    optional,
    own_json,
    read_json_value,
    read_list,
    read_text,
    required,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@value
class AssistantToolUse(JsonObject):
    """One call: `name` and `args` are what the model saw and sent, `orig_*` the tool that really runs."""

    id: str
    name: str
    orig_name: str
    args: Any
    orig_args: Any

    FORM = form(
        id=required(read_text),
        name=required(read_text),
        orig_name=required(read_text),
        args=required(read_json_value),
        orig_args=required(read_json_value),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", own_json(self.args))
        object.__setattr__(self, "orig_args", own_json(self.orig_args))


class AssistantMessage(TaggedObject):
    """A finished message of the model: `Response` or `ToolUse`."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def message_id(self) -> str | None: ...
        @property
        def content(self) -> str: ...
        @property
        def tool_uses(self) -> tuple[AssistantToolUse, ...] | None: ...

    @staticmethod
    def new_response(message_id: str | None, content: str) -> Response:
        return Response(message_id, content)

    @staticmethod
    def new_tool_use(message_id: str | None, content: str, tool_uses: Iterable[AssistantToolUse]) -> ToolUse:
        return ToolUse(message_id, content, tuple(tool_uses))


@value
class Response(AssistantMessage):
    """An answer without tool calls: it ends the turn."""

    message_id: str | None
    content: str

    FORM = form(message_id=optional(read_text), content=required(read_text))

    @property
    def tool_uses(self) -> None:
        return None


@value
class ToolUse(AssistantMessage):
    """Text, possibly empty, and the tools the model wants to have run."""

    message_id: str | None
    content: str
    tool_uses: tuple[AssistantToolUse, ...]

    FORM = form(**Response.FORM, tool_uses=required(read_list(AssistantToolUse.from_json)))

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_uses", tuple(self.tool_uses))


AssistantMessage.KINDS = (Response, ToolUse)
