"""The form in which a user message leaves for a model or goes into the stored history."""

from __future__ import annotations

from nebula.value import value

from .environment import EnvState
from .images import ImageBlock, checked_images
from .json_forms import JsonObject, form, optional, read_list, read_text, required
from .tool_results import ToolUseResult
from .tool_spec import ToolSpec


@value
class UserInputMessageContext(JsonObject):
    """What goes along with the text: environment, tool results, and the tools on offer."""

    env_state: EnvState | None = None
    tool_results: tuple[ToolUseResult, ...] | None = None
    tools: tuple[ToolSpec, ...] | None = None

    FORM = form(
        env_state=optional(EnvState.from_json),
        tool_results=optional(read_list(ToolUseResult.from_json)),
        tools=optional(read_list(ToolSpec.from_json)),
    )

    def __post_init__(self) -> None:
        for name in ("tool_results", "tools"):
            values = getattr(self, name)
            object.__setattr__(self, name, None if values is None else tuple(values))


@value
class UserInputMessage(JsonObject):
    """One user message as text, with its context, for one model."""

    content: str
    user_input_message_context: UserInputMessageContext | None = None
    images: tuple[ImageBlock, ...] | None = None
    model_id: str | None = None

    FORM = form(
        content=required(read_text),
        user_input_message_context=optional(UserInputMessageContext.from_json),
        images=optional(read_list(ImageBlock.from_json)),
        model_id=optional(read_text),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "images", checked_images(self.images))
