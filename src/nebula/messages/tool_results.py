"""What a tool gave back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from nebula.value import replace, value

from .json_forms import (
    JsonObject,
    form,
    json_text,
    own_json,
    read_field,
    read_json_value,
    read_list,
    read_tag,
    read_text,
    refuse,
    required,
)
from .truncation import byte_length, truncate_safe_in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

CANCELLED_TOOL_USE = "Tool use was cancelled by the user"
IMAGES_ONLY_RESULT = "See images data supplied"


class ToolResultStatus(StrEnum):
    Success = "Success"
    Error = "Error"


class ToolUseResultBlock(JsonObject):
    """One piece of a result: `Text` or `Json`."""

    __slots__ = ()

    def as_text(self) -> str:
        raise NotImplementedError

    @classmethod
    def from_json(cls, obj: object) -> ToolUseResultBlock:
        if read_tag(obj, ("Json", "Text")) == "Json":
            return Json.from_json(obj)
        return Text.from_json(obj)


@value
class Text(ToolUseResultBlock):
    """A piece of plain text."""

    text: str

    def as_text(self) -> str:
        return self.text

    def to_json(self) -> dict[str, Any]:
        return {"Text": self.text}

    @classmethod
    def from_json(cls, obj: object) -> Text:
        read_tag(obj, ("Text",))
        return cls(read_field(obj, "Text", read_text))


@value
class Json(ToolUseResultBlock):
    """A piece of structured data, a copy nobody else holds."""

    value: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", own_json(self.value))

    def as_text(self) -> str:
        return json_text(self.value)

    def to_json(self) -> dict[str, Any]:
        return {"Json": own_json(self.value)}

    @classmethod
    def from_json(cls, obj: object) -> Json:
        read_tag(obj, ("Json",))
        return cls(read_field(obj, "Json", read_json_value))


def _read_status(value: object) -> ToolResultStatus:
    try:
        return ToolResultStatus(value)  # type: ignore[arg-type]
    except ValueError:
        refuse("Success or Error", value)


@value
class ToolUseResult(JsonObject):
    """The answer to the tool use with that id."""

    tool_use_id: str
    content: tuple[ToolUseResultBlock, ...]
    status: ToolResultStatus

    FORM = form(
        tool_use_id=required(read_text),
        content=required(read_list(ToolUseResultBlock.from_json)),
        status=required(_read_status),
    )

    def __post_init__(self) -> None:
        object.__setattr__(self, "content", tuple(self.content))
        object.__setattr__(self, "status", ToolResultStatus(self.status))

    @classmethod
    def cancelled(cls, tool_use_id: str) -> ToolUseResult:
        """Return the answer to a tool use that never ran to its end."""
        return cls(tool_use_id, (Text(CANCELLED_TOOL_USE),), ToolResultStatus.Error)

    def as_text(self) -> str:
        """Return all of it as one text, for those who can show or send nothing else."""
        return "\n".join(block.as_text() for block in self.content)


def results_text(results: Iterable[ToolUseResult]) -> str:
    """Return all blocks as text, joined with a space."""
    return " ".join(block.as_text() for result in results for block in result.content)


def results_byte_length(results: Iterable[ToolUseResult]) -> int:
    return sum(byte_length(block.as_text()) for result in results for block in result.content)


def truncate_safe_tool_use_results(results: Sequence[ToolUseResult], max_bytes: int) -> tuple[ToolUseResult, ...]:
    """Return each content block within its even share of `max_bytes`; a JSON block that must be cut becomes text."""
    blocks = sum(len(result.content) for result in results)
    if not blocks:
        return tuple(results)
    share = max(max_bytes, 0) // blocks
    return tuple(
        replace(result, content=tuple(_truncated(block, share) for block in result.content)) for result in results
    )


def _truncated(block: ToolUseResultBlock, max_bytes: int) -> ToolUseResultBlock:
    whole = block.as_text()
    cut = truncate_safe_in_place(whole, max_bytes)
    return block if cut == whole else Text(cut)
