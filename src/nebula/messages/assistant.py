"""What the model says: an answer, or a wish to use tools."""

from __future__ import annotations

from collections.abc import Iterable

from nebula.value import value

from .json_forms import (
    own_json,
    read_field,
    read_json_value,
    read_list,
    read_object,
    read_optional_field,
    read_tag,
    read_text,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@value
class AssistantToolUse:
    """One call: `name` and `args` are what the model saw and sent, `orig_*` the tool that really runs."""

    id: str
    name: str
    orig_name: str
    args: Any
    orig_args: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "args", own_json(self.args))
        object.__setattr__(self, "orig_args", own_json(self.orig_args))

    def to_json(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "name": self.name,
            "orig_name": self.orig_name,
            "args": own_json(self.args),
            "orig_args": own_json(self.orig_args),
        }

    @classmethod
    def from_json(cls, obj: object) -> AssistantToolUse:
        return cls(
            read_field(obj, "id", read_text),
            read_field(obj, "name", read_text),
            read_field(obj, "orig_name", read_text),
            read_field(obj, "args", read_json_value),
            read_field(obj, "orig_args", read_json_value),
        )


class AssistantMessage:
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

    def to_json(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def from_json(cls, obj: object) -> AssistantMessage:
        if read_tag(obj, ("Response", "ToolUse")) == "Response":
            return Response.from_json(obj)
        return ToolUse.from_json(obj)


@value
class Response(AssistantMessage):
    """An answer without tool calls: it ends the turn."""

    message_id: str | None
    content: str

    @property
    def tool_uses(self) -> None:
        return None

    def to_json(self) -> dict[str, Any]:
        return {"Response": {"message_id": self.message_id, "content": self.content}}

    @classmethod
    def from_json(cls, obj: object) -> Response:
        read_tag(obj, ("Response",))
        return read_field(obj, "Response", cls._read)

    @classmethod
    def _read(cls, obj: object) -> Response:
        fields = read_object(obj)
        return cls(read_optional_field(fields, "message_id", read_text), read_field(fields, "content", read_text))


@value
class ToolUse(AssistantMessage):
    """Text, possibly empty, and the tools the model wants to have run."""

    message_id: str | None
    content: str
    tool_uses: tuple[AssistantToolUse, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_uses", tuple(self.tool_uses))

    def to_json(self) -> dict[str, Any]:
        fields = {
            "message_id": self.message_id,
            "content": self.content,
            "tool_uses": [tool_use.to_json() for tool_use in self.tool_uses],
        }
        return {"ToolUse": fields}

    @classmethod
    def from_json(cls, obj: object) -> ToolUse:
        read_tag(obj, ("ToolUse",))
        return read_field(obj, "ToolUse", cls._read)

    @classmethod
    def _read(cls, obj: object) -> ToolUse:
        fields = read_object(obj)
        return cls(
            read_optional_field(fields, "message_id", read_text),
            read_field(fields, "content", read_text),
            read_field(fields, "tool_uses", read_list(AssistantToolUse.from_json)),
        )
