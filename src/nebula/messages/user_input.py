"""The form in which a user message leaves for a model or goes into the stored history."""

from __future__ import annotations

from nebula.value import value

from .environment import EnvState
from .images import ImageBlock, checked_images, images_to_json
from .json_forms import read_field, read_list, read_optional_field, read_text
from .tool_results import ToolUseResult
from .tool_spec import ToolSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@value
class UserInputMessageContext:
    """What goes along with the text: environment, tool results, and the tools on offer."""

    env_state: EnvState | None = None
    tool_results: tuple[ToolUseResult, ...] | None = None
    tools: tuple[ToolSpec, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("tool_results", "tools"):
            values = getattr(self, name)
            object.__setattr__(self, name, None if values is None else tuple(values))

    def to_json(self) -> dict[str, Any]:
        return {
            "env_state": None if self.env_state is None else self.env_state.to_json(),
            "tool_results": _list_to_json(self.tool_results),
            "tools": _list_to_json(self.tools),
        }

    @classmethod
    def from_json(cls, obj: object) -> UserInputMessageContext:
        return cls(
            read_optional_field(obj, "env_state", EnvState.from_json),
            read_optional_field(obj, "tool_results", read_list(ToolUseResult.from_json)),
            read_optional_field(obj, "tools", read_list(ToolSpec.from_json)),
        )


@value
class UserInputMessage:
    """One user message as text, with its context, for one model."""

    content: str
    user_input_message_context: UserInputMessageContext | None = None
    images: tuple[ImageBlock, ...] | None = None
    model_id: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", checked_images(self.images))

    def to_json(self) -> dict[str, Any]:
        context = self.user_input_message_context
        return {
            "content": self.content,
            "user_input_message_context": None if context is None else context.to_json(),
            "images": images_to_json(self.images),
            "model_id": self.model_id,
        }

    @classmethod
    def from_json(cls, obj: object) -> UserInputMessage:
        return cls(
            read_field(obj, "content", read_text),
            read_optional_field(obj, "user_input_message_context", UserInputMessageContext.from_json),
            read_optional_field(obj, "images", read_list(ImageBlock.from_json)),
            read_optional_field(obj, "model_id", read_text),
        )


def _list_to_json(values: tuple[ToolUseResult, ...] | tuple[ToolSpec, ...] | None) -> list[dict[str, Any]] | None:
    return None if values is None else [value.to_json() for value in values]
