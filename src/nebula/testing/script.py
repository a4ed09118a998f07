"""What the server says, as values."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call. `args` as a string goes onto the wire raw (where the wire carries text), to send broken JSON."""

    name: str
    args: Mapping[str, Any] | str = field(default_factory=dict)
    id: str | None = None
    """Made by position over the whole script (`call_1`, `call_2`, …) unless given."""
    signature: str | None = None
    """Gemini's thoughtSignature."""


@dataclass(frozen=True)
class ScriptedFault:
    """Something that goes wrong. Build it with one of the class methods."""

    kind: str
    status: int = 500
    headers: Mapping[str, str] = field(default_factory=dict)
    body: str | None = None
    seconds: float = 0.0
    after_bytes: int = 0

    @classmethod
    def status_code(
        cls, status: int, *, retry_after: str | None = None, body: str | None = None, headers: Mapping[str, str] = {}
    ) -> ScriptedFault:
        extra = {"retry-after": retry_after} if retry_after is not None else {}
        return cls("status", status=status, headers={**headers, **extra}, body=body)

    @classmethod
    def reset(cls) -> ScriptedFault:
        """The connection is reset before any answer."""
        return cls("reset")

    @classmethod
    def close(cls) -> ScriptedFault:
        """The connection is closed in good order, without any answer."""
        return cls("close")

    @classmethod
    def cut(cls, after_bytes: int) -> ScriptedFault:
        """Return a `ScriptedReply.fault`: the connection is lost after so many bytes of the body."""
        return cls("cut", after_bytes=after_bytes)

    @classmethod
    def end(cls, after_bytes: int) -> ScriptedFault:
        """Return a `ScriptedReply.fault`: the body ends in good order after so many bytes, as behind some proxies."""
        return cls("end", after_bytes=after_bytes)

    @classmethod
    def stall(cls, after_bytes: int, seconds: float = 3600.0) -> ScriptedFault:
        """Return a `ScriptedReply.fault`: silence after so many bytes of the body."""
        return cls("stall", after_bytes=after_bytes, seconds=seconds)

    @classmethod
    def slow(cls, seconds: float) -> ScriptedFault:
        """Return a `ScriptedReply.fault`: the head of the answer comes late."""
        return cls("slow", seconds=seconds)

    @classmethod
    def garbage(cls, body: str = "data: {]]\n\n{]]\n") -> ScriptedFault:
        """Return a body of the right content type that is not what it says."""
        return cls("garbage", body=body)

    @classmethod
    def page(cls, body: str = "<html><body>Please log in</body></html>") -> ScriptedFault:
        """Return a web page with status 200, as a captive portal sends it."""
        return cls("page", body=body)

    @classmethod
    def stream_error(cls, message: str = "upstream overloaded", status: int = 503) -> ScriptedFault:
        """Return a `ScriptedReply.fault`: the stream ends with an error object in the format of the wire."""
        return cls("stream_error", status=status, body=message)


@dataclass(frozen=True)
class ScriptedReply:
    """One reply of the model."""

    text: str = ""
    calls: Sequence[ScriptedCall] = ()
    thinking: str = ""
    """Sent the way the wire sends thoughts; a client has to keep it out of the answer."""
    input_tokens: int = 100
    output_tokens: int = 20
    """With the thoughts."""
    cached_tokens: int = 0
    """Of the input, from a cache."""
    written_tokens: int = 0
    """Of the input, into a cache, on the wires that tell it."""
    thinking_tokens: int = 0
    """Of the output."""
    stop: str | None = None
    """`length` or `filter`; else it follows from the calls."""
    fault: ScriptedFault | None = None
    until: threading.Event | None = None
    """The head of the answer comes when this is set."""
    pace_s: float = 0.0
    """The pause before each piece of a stream."""
    id: str | None = None
    """Message id where the wire has one (`msg_1`, `msg_2`, … by position unless given)."""


@dataclass
class RecordedRequest:
    """What arrived. Times are `time.monotonic()`, the same clock in every process of the machine."""

    method: str
    path: str
    query: str
    headers: dict[str, str]
    body: bytes
    arrived: float
    """The first byte of the request was read."""
    complete: float
    """Its last byte was read."""
    answered: float | None = None
    """The last byte of the answer was handed to the kernel."""
    disconnected: bool = False
    """The client went away before the answer was complete."""
    connection: int = 0
    """Which connection it came on, counted from 1."""
    is_turn: bool = False
    """It took a turn of the script."""

    @property
    def json(self) -> Any:
        return json.loads(self.body)


ScriptedAnswer = ScriptedReply | ScriptedFault | str
ScriptStep = ScriptedAnswer | Callable[[RecordedRequest], ScriptedAnswer]


def speak_dialect(turn: ScriptedReply, names: Mapping[str, str] = {}) -> ScriptedReply:
    """Return the same reply as a model says it in the JSON dialect: all in the text. `names` renames tools."""
    calls = [{"name": names.get(call.name, call.name), "parameters": call.args} for call in turn.calls]
    spoken = {"thought": turn.text if calls else "", "tool_calls": calls, "final_answer": "" if calls else turn.text}
    return replace(turn, text=json.dumps(spoken, ensure_ascii=False), calls=())
