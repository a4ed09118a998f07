"""The three things a user message can hold: a prompt, tool results, or cancelled tools with a prompt."""

from __future__ import annotations

from nebula.value import value

from .json_forms import TaggedObject, form, optional, read_list, read_text, required
from .tool_results import ToolUseResult, results_byte_length, truncate_safe_tool_use_results
from .truncation import byte_length, truncate_safe_in_place

TYPE_CHECKING = False

_RESULTS = required(read_list(ToolUseResult.from_json))


class UserMessageContent(TaggedObject):
    """`Prompt`, `CancelledToolUses` or `ToolUseResults`."""

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def prompt(self) -> str | None: ...
        @property
        def tool_use_results(self) -> tuple[ToolUseResult, ...] | None: ...

    def truncate_safe(self, max_bytes: int) -> UserMessageContent:
        """Return the same content within `max_bytes`, unchanged when it fits."""
        raise NotImplementedError


@value
class Prompt(UserMessageContent):
    """What the user typed."""

    prompt: str

    FORM = form(prompt=required(read_text))

    @property
    def tool_use_results(self) -> None:
        return None

    def truncate_safe(self, max_bytes: int) -> Prompt:
        return Prompt(truncate_safe_in_place(self.prompt, max_bytes))


@value
class CancelledToolUses(UserMessageContent):
    """Results and, often, what the user said instead of letting the tools run."""

    prompt: str | None
    tool_use_results: tuple[ToolUseResult, ...]

    FORM = form(prompt=optional(read_text), tool_use_results=_RESULTS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_use_results", tuple(self.tool_use_results))

    def truncate_safe(self, max_bytes: int) -> CancelledToolUses:
        """Give prompt and results half the room each; what one of them does not need goes to the other."""
        if self.prompt is None:
            return CancelledToolUses(None, _fitted(self.tool_use_results, max_bytes))
        half = max(max_bytes, 0) // 2
        needed = byte_length(self.prompt)
        if needed <= half:
            return CancelledToolUses(self.prompt, _fitted(self.tool_use_results, max_bytes - needed))
        results = _fitted(self.tool_use_results, half)
        prompt = truncate_safe_in_place(self.prompt, max_bytes - results_byte_length(results))
        return CancelledToolUses(prompt, results)


@value
class ToolUseResults(UserMessageContent):
    """What the tools gave back, and nothing else."""

    tool_use_results: tuple[ToolUseResult, ...]

    FORM = form(tool_use_results=_RESULTS)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tool_use_results", tuple(self.tool_use_results))

    @property
    def prompt(self) -> None:
        return None

    def truncate_safe(self, max_bytes: int) -> ToolUseResults:
        return ToolUseResults(_fitted(self.tool_use_results, max_bytes))


UserMessageContent.KINDS = (Prompt, CancelledToolUses, ToolUseResults)


def _fitted(results: tuple[ToolUseResult, ...], max_bytes: int) -> tuple[ToolUseResult, ...]:
    """Return results within `max_bytes`: whole if they fit together, else each within an even share."""
    if results_byte_length(results) <= max_bytes:
        return results
    return truncate_safe_tool_use_results(results, max_bytes)
