"""Values that events hold, and the root of all events: as JSON they are their fields."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from nebula.language import Sentence
from nebula.value import value

StepState = Literal["started", "done", "failed", "skipped", "not_run"]


class Facts:
    """Base of the values that an event holds: as JSON they are their fields."""

    __slots__ = ()
    __match_args__: ClassVar[tuple[str, ...]] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the fields. One that is None is left out, so that optional facts cost nothing on the wire."""
        return without_none({name: _plain(getattr(self, name)) for name in self.__match_args__})


@value
class Usage(Facts):
    """Tokens of one model call, or summed over several. Thoughts are output."""

    input_tokens: int = 0
    """All input, of which:"""
    output_tokens: int = 0
    cached_input_tokens: int = 0
    """came from the provider's cache,"""
    cache_write_tokens: int = 0
    """was put into it, where that has a price of its own."""

    def __add__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) + getattr(other, name) for name in self.__match_args__))

    def __sub__(self, other: Usage) -> Usage:
        return Usage(*(getattr(self, name) - getattr(other, name) for name in self.__match_args__))

    def to_json(self) -> dict[str, Any]:
        told = Facts.to_json(self)
        if not self.cache_write_tokens:
            del told["cache_write_tokens"]
        return told


@value
class CheckRun(Facts):
    """A configured check and how it ended."""

    name: str
    passed: bool
    summary: str = ""
    exit_code: int | None = None
    """None where a limit stopped it."""


@value
class CommandRun(Facts):
    """A command that the model ran, and how it ended the last time."""

    command: str
    exit_code: int | None = None
    """None where a limit stopped it."""
    stopped: str | None = None
    """The limit that stopped it."""

    @property
    def failed(self) -> bool:
        return self.stopped is not None or self.exit_code != 0


@value
class StepOutcome(Facts):
    """How a step of a plan ended."""

    id: str
    state: StepState
    title: str = ""
    remark: Sentence | None = None
    duration_s: float = 0.0
    attempts: int = 1

    def to_json(self) -> dict[str, Any]:
        return Facts.to_json(self) | {"remark": say_remark(self.remark)}


@value
class Evidence(Facts):
    """Lines of a file that the model was shown, and the content they were taken from."""

    path: str
    span: str
    """`Lx-Ly`"""
    blob: str = ""
    commit: str = ""


@value
class Citations(Facts):
    """How many of the places that an answer cites (`path:Lx-Ly`) are there as it says."""

    held: int
    total: int


@value
class Event(Facts):
    """Base of all events; `type` is the tag on the wire."""

    type: ClassVar[str] = ""

    def to_json(self) -> dict[str, Any]:
        return {"type": self.type} | Facts.to_json(self)


def without_none(body: dict[str, Any]) -> dict[str, Any]:
    return {key: fact for key, fact in body.items() if fact is not None}


def say_remark(remark: Sentence | None) -> str:
    return "" if remark is None else str(remark)


_PLAIN = (str, int, float)


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, _PLAIN):
        return value
    to_json = getattr(value, "to_json", None)
    if to_json is not None:
        return to_json()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return value
