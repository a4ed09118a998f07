"""What the user's side says: prompts and the results of tools; and the form in which that leaves for a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timezone

from nebula.value import replace, value

from .environment import EnvState, UserEnvContext
from .images import ImageBlock, checked_images
from .json_forms import JsonObject, MessageFormatError, form, optional, read_list, read_text, read_time, required
from .tool_results import ToolUseResult, results_text
from .tool_spec import ToolSpec, tool_specs
from .truncation import truncate_safe
from .user_content import CancelledToolUses, Prompt, ToolUseResults, UserMessageContent

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_USER_MESSAGE_SIZE = 400_000
REDACTED_TOOL_RESULT = "<tool result redacted>"
USER_ENTRY_START_HEADER = "--- USER MESSAGE BEGIN ---\n"
USER_ENTRY_END_HEADER = "--- USER MESSAGE END ---\n\n"
CONTEXT_ENTRY_START_HEADER = "--- CONTEXT ENTRY BEGIN ---\n"
CONTEXT_ENTRY_END_HEADER = "--- CONTEXT ENTRY END ---\n\n"

# strftime would follow the locale.
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")


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


@value
class UserMessage(JsonObject):
    """One message from the user's side, with where and when it was written."""

    additional_context: str
    env_context: UserEnvContext
    content: UserMessageContent
    timestamp: datetime | None = None
    images: tuple[ImageBlock, ...] | None = None

    FORM = form(
        additional_context=required(read_text),
        env_context=required(UserEnvContext.from_json),
        content=required(UserMessageContent.from_json),
        timestamp=optional(read_time),
        images=optional(read_list(ImageBlock.from_json)),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "timestamp", _fixed_offset(self.timestamp))
        object.__setattr__(self, "images", checked_images(self.images))

    @classmethod
    def new_prompt(cls, prompt: str, timestamp: datetime | None = None) -> UserMessage:
        return cls("", UserEnvContext.generate_new(), Prompt(prompt), timestamp)

    @classmethod
    def new_cancelled_tool_uses(
        cls, prompt: str | None, tool_use_ids: Iterable[str], timestamp: datetime | None = None
    ) -> UserMessage:
        results = tuple(ToolUseResult.cancelled(tool_use_id) for tool_use_id in tool_use_ids)
        return cls("", UserEnvContext.generate_new(), CancelledToolUses(prompt, results), timestamp)

    @classmethod
    def new_tool_use_results(cls, results: Iterable[ToolUseResult]) -> UserMessage:
        return cls("", UserEnvContext.generate_new(), ToolUseResults(tuple(results)))

    @classmethod
    def new_steered_results(
        cls, results: Iterable[ToolUseResult], said: str, images: Iterable[ImageBlock] = ()
    ) -> UserMessage:
        """Return a message of results, what the user said while the tools ran, and the images that they showed."""
        kept = tuple(results)
        content = CancelledToolUses(said, kept) if said else ToolUseResults(kept)
        return cls("", UserEnvContext.generate_new(), content, None, tuple(images) or None)

    @classmethod
    def new_tool_use_results_with_images(
        cls, results: Iterable[ToolUseResult], images: Iterable[ImageBlock], timestamp: datetime | None = None
    ) -> UserMessage:
        content = ToolUseResults(tuple(results))
        return cls("", UserEnvContext.generate_new(), content, timestamp, tuple(images))

    @property
    def prompt(self) -> str | None:
        return self.content.prompt

    @property
    def tool_use_results(self) -> tuple[ToolUseResult, ...] | None:
        return self.content.tool_use_results

    @property
    def has_tool_use_results(self) -> bool:
        return self.content.tool_use_results is not None

    def content_with_context(self) -> str:
        """Return time, additional context and prompt as one text."""
        return _context_text(self.timestamp, self.additional_context, self.prompt)

    def truncate_safe(self, max_bytes: int) -> UserMessage:
        return replace(self, content=self.content.truncate_safe(max_bytes))

    def replace_content_with_tool_use_results(self) -> UserMessage:
        """Return the tool results as a prompt, for a place where no tool use precedes them."""
        results = self.tool_use_results
        if results is None:
            return self
        parts = (self.prompt, results_text(results))
        text = truncate_safe(" ".join(part for part in parts if part), MAX_USER_MESSAGE_SIZE)
        return replace(self, content=Prompt(text if text.strip() else REDACTED_TOOL_RESULT))

    def into_history_entry(self) -> UserInputMessage:
        """Return the message as the history stores it: without tools and model."""
        return self.into_user_input_message()

    def into_user_input_message(
        self, model_id: str | None = None, tools: Mapping[str, Any] | Iterable[Any] = ()
    ) -> UserInputMessage:
        """Return the message as it is sent; `tools` is a mapping or a sequence of `ToolSpec`."""
        context = UserInputMessageContext(self.env_context.env_state, self.tool_use_results, tool_specs(tools) or None)
        return UserInputMessage(self.content_with_context(), context, self.images, model_id)

    @classmethod
    def from_json(cls, obj: object) -> UserMessage:
        fields = {key: read(obj, key) for key, read in cls.FORM.items()}
        try:
            return cls(**fields)
        except ValueError as error:
            raise MessageFormatError(str(error), "images") from None


def _fixed_offset(moment: datetime | None) -> datetime | None:
    """Return the same moment with a plain offset: a named zone compares unequal to itself once a fold is involved."""
    if moment is None or isinstance(moment.tzinfo, timezone):
        return moment
    offset = moment.utcoffset()
    if offset is None:
        raise ValueError("a timestamp needs a UTC offset; use an aware datetime")
    return moment.replace(tzinfo=timezone(offset))


def _context_text(timestamp: datetime | None, additional_context: str, prompt: str | None) -> str:
    """Return time, further context and prompt as one text, each between its markers."""
    parts: list[str] = []
    if timestamp is not None:
        now = f"Current time: {_WEEKDAYS[timestamp.weekday()]}, {timestamp.isoformat(timespec='milliseconds')}\n"
        parts += (CONTEXT_ENTRY_START_HEADER, now, CONTEXT_ENTRY_END_HEADER)
    if additional_context:
        parts += (additional_context, "\n")
    if prompt is not None:
        parts += (USER_ENTRY_START_HEADER, prompt, USER_ENTRY_END_HEADER) if parts else (prompt,)
    return "".join(parts).strip()
