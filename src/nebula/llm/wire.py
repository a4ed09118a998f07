"""What the wire formats share: JSON text, remembered pieces of a request, ids, and making a finished message."""

from __future__ import annotations

import json
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from operator import is_
from typing import Any, TypeVar

from nebula.llm.contract import NO_USAGE, ModelReply
from nebula.llm.errors import BadReplyError
from nebula.messages import AssistantMessage, AssistantToolUse, DeclaredSpec, Message, ToolSpec
from nebula.messages.sanitize import clean_tool_arguments, strip_hidden_characters
from nebula.value import field, record

MAX_TOKENS = 1 << 53
MAX_REPLY = 4 * 1024 * 1024
"""Characters of an answer, or of the arguments of one call: many times what any model writes."""
MAX_CALLS = 2_000
MOST_PAGES = 100
"""Of a list of models."""
MAX_REMEMBERED_BYTES = 64 * 1024 * 1024
UNNAMED_TOOL = "unnamed_tool"
CUT_REPLY = (
    "The reply {how}, so that {name} may hold only a part of what was meant. Nothing was "
    "run; send the call again, in smaller parts."
)
HOW_CUT = {"length": "was cut off at the output limit", "filter": "was held back by the provider"}
"""How a reply stopped of which a part may be missing."""

K = TypeVar("K")
V = TypeVar("V")

Render = Callable[[Message, Message | None], Iterable[object]]
"""The JSON values that a message becomes, given the one before it."""

_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_decode_event = json.JSONDecoder(parse_constant=lambda _: None).decode
_decode = json.JSONDecoder(parse_constant=_refuse_constant).decode


def to_text(value: object) -> str:
    """Return compact JSON, fit to be sent: without invisible tag characters."""
    return strip_hidden_characters(_encode(value))


def to_bytes(value: object) -> bytes:
    return to_text(value).encode("utf-8", "replace")


def counted(told: object, *names: str) -> int:
    """Return the sum of the token counts that a server reports under these names. A value that is no count is zero: no
    answer is lost over it."""
    counts = [told.get(name) for name in names] if isinstance(told, Mapping) else []
    return sum(int(each) for each in counts if isinstance(each, int | float) and 0 < each < MAX_TOKENS)


def entries_of(told: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    """Return the objects in the list under `key` of an answer; anything else in that list is skipped."""
    listed = told.get(key)
    return [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []


def from_text(text: str, decode: Callable[[str], Any] = _decode) -> Any:
    """Parse JSON from a server. Raises ValueError for anything wrong with it, including NaN and nesting without end."""
    try:
        return decode(text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def from_event(text: str) -> Any:
    """Read an event of a stream, in which NaN and its like count as nothing. Raises ValueError."""
    return from_text(text, _decode_event)


class FragmentCache:
    """The wire form of each message, made once.

    Keyed by identity: messages never change, and a history is sent again and again with one more at its end. The
    message before is part of the key, since a result on the wire may need the name of the tool it answers.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[int, int], tuple[Message, Message | None, bytes]] = {}
        self._bytes = 0
        self._last: tuple[Message, ...] = ()
        self._last_pieces: list[bytes] = []

    def pieces(self, messages: Sequence[Message], render: Render, first: bytes = b"") -> list[bytes]:
        """Return the parts of a JSON array: `first`, then what `render` makes of each message, to be joined."""
        # The usual case, and the reason why a long history costs no more than a short one: the last one went on.
        start = len(self._last) if _goes_on(self._last, messages) else 0
        pieces = self._last_pieces[:start]
        before = messages[start - 1] if start else None
        for message in messages[start:]:
            pieces.append(self._piece(message, before, render))
            before = message
        self._last, self._last_pieces = tuple(messages), pieces
        if first or not pieces:
            return [b"[", first, *pieces, b"]"]
        # Each piece begins with the comma that parts it from the one before.
        return [b"[", pieces[0][1:], *pieces[1:], b"]"]

    def _piece(self, message: Message, before: Message | None, render: Render) -> bytes:
        key = (id(message), id(before))
        known = self._known.get(key)
        if known is None:
            piece = b"".join([b"," + to_bytes(value) for value in render(message, before)])
            # Holding the messages themselves keeps their ids from being given to others.
            known = self._known[key] = (message, before, piece)
            self._bytes += len(piece)
            while self._bytes > MAX_REMEMBERED_BYTES and len(self._known) > 1:
                self._bytes -= len(self._known.pop(next(iter(self._known)))[2])
        return known[2]


def remember(known: dict[K, V], key: K, value: V, most: int) -> None:
    """Keep a value beside the newest ones, no more than `most` in all."""
    known[key] = value
    while len(known) > most:
        del known[next(iter(known))]


def function_tool(spec: ToolSpec) -> dict[str, Any]:
    """Return a tool as OpenAI and Ollama are offered it."""
    function = {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
    return {"type": "function", "function": function}


def tool_names(message: Message | None) -> dict[str, str]:
    """Return the names of the tools that a message calls, by the id of the call."""
    uses = message.tool_uses if isinstance(message, AssistantMessage) else None
    return {use.id: use.name for use in uses or ()}


def told_name(function: Mapping[str, Any]) -> str:
    """Return the name of a call; empty where it is none."""
    name = function.get("name")
    return name if isinstance(name, str) else ""


def told_id(call: Mapping[str, Any], key: str = "id") -> str | None:
    """Return the id of a call as text, which some servers count; None where it is none."""
    given = call.get(key)
    return str(given) if isinstance(given, str | int) and given != "" else None


@record
class RawCall:
    """A tool call as it came in: arguments as pieces of text, or as the value that some wires carry."""

    name: str = ""
    id: str | None = None
    value: Any = None
    index: int | None = None
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def add_piece(self, piece: str) -> None:
        """Take in a piece of the arguments. Raises BadReplyError where there is no end to them."""
        self.size += len(piece)
        if self.size > MAX_REPLY:
            raise _endless()
        self.pieces.append(piece)

    @property
    def arguments(self) -> Any:
        return "".join(self.pieces) if self.value is None else self.value


def _endless() -> BadReplyError:
    return BadReplyError("The model server sent an answer without end.")


class Draft:
    """A reply being put together from a stream."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.calls: list[RawCall] = []
        self.message_id: str | None = None
        self.usage = NO_USAGE
        self.reading_rate: float | None = None
        self.stop: str | None = None
        """None until the model says that it has finished."""
        self._held = ""
        self._size = 0

    def add_text(self, piece: str) -> str:
        """Take in a piece of text; return what may be shown of it: half an emoji waits for its other half."""
        if not piece.isascii() or self._held:
            piece = self._held + piece
            self._held = ""
            if piece and "\ud800" <= piece[-1] <= "\udbff":
                piece, self._held = piece[:-1], piece[-1]
            piece = well_formed(piece)
        if piece:
            self._size += len(piece)
            if self._size > MAX_REPLY:
                raise _endless()
            self.text.append(piece)
        return piece

    def finish(self, history: Sequence[Message], tools: Sequence[ToolSpec] = ()) -> ModelReply:
        """Return the reply. Ids that the wire did not give are made from `history`, so that they are unique in it.

        Of a reply that was cut at the output limit, or held back by the provider, only those calls may run that `tools`
        declares to change nothing.
        """
        if self._held:
            self.text.append("\ufffd")
        content = "".join(self.text)
        stop = self.stop or "end"
        message_id = well_formed(self.message_id or "") or _next_message_id(history)
        if not self.calls:
            message: AssistantMessage = AssistantMessage.new_response(message_id, content)
            return ModelReply(message, self.usage, stop=stop, reading_rate=self.reading_rate)
        ids = CallIds(call_ids(history))
        uses, invalid = _tool_uses(self.calls, ids, cut=stop == "length")
        if stop in HOW_CUT:
            readers = {spec.name for spec in tools if isinstance(spec, DeclaredSpec) and spec.reads_only}
            invalid = calls_of_cut_reply(uses, readers, stop) | invalid
        message = AssistantMessage.new_tool_use(message_id, content, uses)
        stop = "tool_calls" if stop == "end" else stop
        return ModelReply(message, self.usage, stop=stop, invalid_calls=invalid, reading_rate=self.reading_rate)


def well_formed(text: str) -> str:
    """Return `text` with surrogate halves joined and single ones replaced, so that it can be stored and shown."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


class CallIds:
    """Ids for calls that came without one: `call_1`, `call_2`, … within a conversation."""

    def __init__(self, used: Set[str]) -> None:
        """`used` is the set of ids that earlier calls have."""
        self._used = used
        self._given: set[str] = set()
        self._last: int | None = None

    def next(self, given: str | None) -> str:
        if given and given not in self._used and given not in self._given:
            self._given.add(given)
            return given
        if self._last is None:
            taken = self._used | self._given
            self._last = max([len(taken), *(_number(each, "call_") for each in taken)])
        self._last += 1
        return self.next(f"call_{self._last}")


def call_ids(history: Iterable[Message]) -> set[str]:
    """Return the ids of all calls in a history."""
    return {use.id for said in history if isinstance(said, AssistantMessage) for use in said.tool_uses or ()}


def _goes_on(before: Sequence[Message], history: Sequence[Message]) -> bool:
    """Tell whether a history is the one before, and perhaps more."""
    return len(before) <= len(history) and all(map(is_, before, history))


def read_arguments(call: RawCall, *, cut: bool) -> tuple[dict[str, Any], str | None]:
    """Return the arguments as an object, or an empty one and the reason why the call must not run."""
    value = call.arguments
    if isinstance(value, str):
        if not value.strip():
            value = {}
        else:
            try:
                value = from_text(value)
            except ValueError as error:
                why = "were cut off at the output limit" if cut else f"are not valid JSON ({error})"
                return {}, f"The arguments of {call.name} {why}. Nothing was run; send the whole call again."
    if not isinstance(value, Mapping):
        return {}, f"The arguments of {call.name} must be a JSON object. Nothing was run; send the call again."
    try:
        cleaned: dict[str, Any] = clean_tool_arguments(value)
        _encode(cleaned).encode()
    except UnicodeEncodeError:
        why = "hold a lone surrogate, which is no character"
        return {}, f"The arguments of {call.name} {why}. Nothing was run; send the call again."
    except (ValueError, TypeError, RecursionError) as error:
        return {}, f"The arguments of {call.name} cannot be used ({error}). Nothing was run; send the call again."
    return cleaned, None


def _tool_uses(calls: Iterable[RawCall], ids: CallIds, *, cut: bool) -> tuple[list[AssistantToolUse], dict[str, str]]:
    uses: list[AssistantToolUse] = []
    invalid: dict[str, str] = {}
    for call in calls:
        use_id = ids.next(well_formed(call.id or ""))
        call.name = well_formed(call.name)
        args, reason = read_arguments(call, cut=cut)
        if not call.name:
            call.name, args, reason = UNNAMED_TOOL, {}, "The call has no tool name. Nothing was run."
        if reason is not None:
            invalid[use_id] = reason
        uses.append(AssistantToolUse(use_id, call.name, call.name, args, args))
    return uses, invalid


def calls_of_cut_reply(
    uses: Iterable[AssistantToolUse], readers: Container[str], stop: str = "length"
) -> dict[str, str]:
    """Return the calls of a cut reply that must not run, with the reason: what they would write may be half of it."""
    return {use.id: CUT_REPLY.format(how=HOW_CUT[stop], name=use.name) for use in uses if use.orig_name not in readers}


def _next_message_id(history: Sequence[Message]) -> str:
    ids = [said.message_id or "" for said in history if isinstance(said, AssistantMessage)]
    return f"msg_{max([len(ids), *(_number(each, 'msg_') for each in ids)]) + 1}"


def _number(text: str, prefix: str) -> int:
    digits = text.removeprefix(prefix) if text.startswith(prefix) else ""
    return int(digits) if digits.isdecimal() and digits.isascii() and len(digits) < 10 else 0
