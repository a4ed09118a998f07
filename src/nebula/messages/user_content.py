"""The three things a user message can hold: a prompt, tool results, or cancelled tools with a prompt."""

from __future__ import annotations

from nebula.value import value

from .json_forms import read_field, read_list, read_optional_field, read_tag, read_text
from .tool_results import ToolUseResult, results_byte_length, truncate_safe_tool_use_results
from .truncation import byte_length, truncate_safe_in_place

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class UserMessageContent:
    """`Prompt`, `CancelledToolUses` or `ToolUseResults`."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def prompt(self) -> str | None: ...
        @property
        def tool_use_results(self) -> tuple[ToolUseResult, ...] | None: ...

    def truncate_safe(self, max_bytes: int) -> UserMessageContent:
        """The same content within `max_bytes`, unchanged when it fits."""
        raise NotImplementedError

    def to_json(self) -> dict[str, Any]:
        raise NotImplementedError

    @classmethod
    def from_json(cls, obj: object) -> UserMessageContent:
        tag = read_tag(obj, ("Prompt", "CancelledToolUses", "ToolUseResults"))
        if tag == "Prompt":
            return Prompt.from_json(obj)
        return CancelledToolUses.from_json(obj) if tag == "CancelledToolUses" else ToolUseResults.from_json(obj)


@value
class Prompt(UserMessageContent):
    """What the user typed."""

    prompt: str

    @property
    def tool_use_results(self) -> None:
        return None

    def truncate_safe(self, max_bytes: int) -> Prompt:
        return Prompt(truncate_safe_in_place(self.prompt, max_bytes))

    def to_json(self) -> dict[str, Any]:
        return {"Prompt": {"prompt": self.prompt}}

    @classmethod
    def from_json(cls, obj: object) -> Prompt:
        read_tag(obj, ("Prompt",))
        return read_field(obj, "Prompt", lambda fields: cls(read_field(fields, "prompt", read_text)))


@value
class CancelledToolUses(UserMessageContent):
    """Results and, often, what the user said instead of letting the tools run."""

    prompt: str | None
    tool_use_results: tuple[ToolUseResult, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_use_results", tuple(self.tool_use_results))

    def truncate_safe(self, max_bytes: int) -> CancelledToolUses:
        """Half the room for each side; what one side does not need goes to the other."""
        if self.prompt is None:
            return CancelledToolUses(None, _fitted(self.tool_use_results, max_bytes))
        half = max(max_bytes, 0) // 2
        needed = byte_length(self.prompt)
        if needed <= half:
            return CancelledToolUses(self.prompt, _fitted(self.tool_use_results, max_bytes - needed))
        results = _fitted(self.tool_use_results, half)
        prompt = truncate_safe_in_place(self.prompt, max_bytes - results_byte_length(results))
        return CancelledToolUses(prompt, results)

    def to_json(self) -> dict[str, Any]:
        return {"CancelledToolUses": {"prompt": self.prompt, "tool_use_results": _to_json(self.tool_use_results)}}

    @classmethod
    def from_json(cls, obj: object) -> CancelledToolUses:
        read_tag(obj, ("CancelledToolUses",))
        return read_field(obj, "CancelledToolUses", cls._read)

    @classmethod
    def _read(cls, fields: object) -> CancelledToolUses:
        prompt = read_optional_field(fields, "prompt", read_text)
        return cls(prompt, read_field(fields, "tool_use_results", read_list(ToolUseResult.from_json)))


@value
class ToolUseResults(UserMessageContent):
    """What the tools gave back, and nothing else."""

    tool_use_results: tuple[ToolUseResult, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_use_results", tuple(self.tool_use_results))

    @property
    def prompt(self) -> None:
        return None

    def truncate_safe(self, max_bytes: int) -> ToolUseResults:
        return ToolUseResults(_fitted(self.tool_use_results, max_bytes))

    def to_json(self) -> dict[str, Any]:
        return {"ToolUseResults": {"tool_use_results": _to_json(self.tool_use_results)}}

    @classmethod
    def from_json(cls, obj: object) -> ToolUseResults:
        read_tag(obj, ("ToolUseResults",))
        return read_field(obj, "ToolUseResults", cls._read)

    @classmethod
    def _read(cls, fields: object) -> ToolUseResults:
        return cls(read_field(fields, "tool_use_results", read_list(ToolUseResult.from_json)))


def _fitted(results: tuple[ToolUseResult, ...], max_bytes: int) -> tuple[ToolUseResult, ...]:
    """Even shares only where they are needed: results that fit together stay whole."""
    if results_byte_length(results) <= max_bytes:
        return results
    return truncate_safe_tool_use_results(results, max_bytes)


def _to_json(results: tuple[ToolUseResult, ...]) -> list[dict[str, Any]]:
    return [result.to_json() for result in results]
