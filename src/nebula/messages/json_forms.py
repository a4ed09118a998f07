"""Message values as JSON and back, with errors that name the field.

A value says in `FORM` which of its fields JSON has, and how each is read. A fault inside one raises
`MessageFormatError`, and every level that it passes on the way out puts its own key in front, so that the reader of the
error sees the whole path: `content.Prompt.prompt: expected a string, got 3`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, ClassVar, NoReturn, Self, TypeVar

    T = TypeVar("T")
    Form = Mapping[str, Callable[[object, str], Any]]

# Deeper than any honest value, well within what `json` and the interpreter's stack can take.
MAX_JSON_DEPTH = 128


class MessageFormatError(ValueError):
    """Stored or received JSON that is no message; its text is one sentence that names the field."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(f"{path}: {problem}" if path else problem)
        self.problem = problem
        self.path = path

    def under(self, key: str) -> MessageFormatError:
        """Return the same fault with its path seen from one level further out."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return MessageFormatError(self.problem, f"{key}{joint}{self.path}")


def refuse(expected: str, value: object) -> NoReturn:
    raise MessageFormatError(f"expected {expected}, got {_shown(value)}")


def read_object(value: object) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        refuse("an object", value)
    return value


def read_text(value: object) -> str:
    if not isinstance(value, str):
        refuse("a string", value)
    return value


def read_time(value: object) -> datetime:
    text = read_text(value)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        refuse("an RFC 3339 time", value)
    if moment.tzinfo is None:
        refuse("an RFC 3339 time with an offset", value)
    return moment


def read_list(reader: Callable[[Any], T]) -> Callable[[object], tuple[T, ...]]:
    def read(value: object) -> tuple[T, ...]:
        if not isinstance(value, (list, tuple)):
            refuse("a list", value)
        items = []
        for index, item in enumerate(value):
            try:
                items.append(reader(item))
            except MessageFormatError as error:
                raise error.under(f"[{index}]") from None
        return tuple(items)

    return read


def read_json_value(value: object) -> Any:
    try:
        return own_json(value)
    except (TypeError, ValueError) as error:
        raise MessageFormatError(str(error)) from None


def read_field(value: object, key: str, reader: Callable[[Any], T]) -> T:
    fields = read_object(value)
    if key not in fields:
        raise MessageFormatError("missing", key)
    try:
        return reader(fields[key])
    except MessageFormatError as error:
        raise error.under(key) from None


def required(reader: Callable[[Any], T]) -> Callable[[object, str], T]:
    return lambda value, key: read_field(value, key, reader)


def optional(reader: Callable[[Any], T], otherwise: T | None = None) -> Callable[[object, str], T | None]:
    """Read a key that may be missing or null: it is `otherwise` then."""
    return lambda value, key: otherwise if read_object(value).get(key) is None else read_field(value, key, reader)


def read_tag(value: object, tags: Sequence[str]) -> str:
    """Return the one key of an externally tagged value such as `{"Prompt": {…}}`."""
    fields = read_object(value)
    if len(fields) != 1:
        found = ", ".join(map(str, fields)) or "none"
        raise MessageFormatError(f"expected exactly one of the keys {', '.join(tags)}, got {found}")
    tag = next(iter(fields))
    if tag not in tags:
        raise MessageFormatError(f"expected one of {', '.join(tags)}, got {_shown(tag)}")
    return str(tag)


def form(**readers: Callable[[object, str], Any]) -> Form:
    """Declare the keys that an object has in JSON, each with its reader."""
    return readers


class JsonObject:
    """Base of the values that are an object in JSON."""

    __slots__ = ()
    FORM: ClassVar[Form]

    def to_json(self) -> dict[str, Any]:
        return {key: _to_json(getattr(self, key)) for key in self.FORM}

    @classmethod
    def from_json(cls, obj: object) -> Self:
        return cls._read(obj)

    @classmethod
    def _read(cls, obj: object) -> Self:
        return cls(**{key: read(obj, key) for key, read in cls.FORM.items()})


class TaggedObject(JsonObject):
    """Base of the values that stand in an object of one key, the name of their class: `{"Prompt": {…}}`."""

    __slots__ = ()
    KINDS: ClassVar[tuple[type[TaggedObject], ...]]
    """All that a base may turn out to be."""

    def to_json(self) -> dict[str, Any]:
        return {type(self).__name__: super().to_json()}

    @classmethod
    def from_json(cls, obj: object) -> Self:
        kinds = {kind.__name__: kind for kind in cls.KINDS if issubclass(kind, cls)}
        tag = read_tag(obj, tuple(kinds))
        return read_field(obj, tag, kinds[tag]._read)


def _to_json(value: Any) -> Any:
    if isinstance(value, JsonObject):
        return value.to_json()
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, datetime):  # with microseconds only where it has any
        return value.isoformat(timespec="microseconds" if value.microsecond % 1000 else "milliseconds")
    return str(value) if isinstance(value, str) else own_json(value)


def own_json(value: object) -> Any:
    """Return a copy of a JSON value that nobody else can change.

    Raises TypeError for what JSON cannot hold, ValueError for what is nested too deeply (or in itself).
    """
    return map_json_text(value, lambda text: text)


def map_json_text(value: object, on_text: Callable[[str], str], depth: int = 0) -> Any:
    """Return a copy of a JSON value with every string in it, keys included, passed through `on_text`."""
    if isinstance(value, str):
        return on_text(value)
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if depth == MAX_JSON_DEPTH:
        raise ValueError(f"nested more than {MAX_JSON_DEPTH} levels deep")
    if isinstance(value, (dict, Mapping)):
        return {on_text(_key(key)): map_json_text(inner, on_text, depth + 1) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_json_text(inner, on_text, depth + 1) for inner in value]
    raise TypeError(f"expected a JSON value, got {_shown(value)}")


_encode = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def json_text(value: object) -> str:
    """Return compact JSON, with characters beyond ASCII as they are."""
    return _encode(value)


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"expected string keys in a JSON object, got {_shown(key)}")
    return key


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, (list, tuple)):
        return "a list"
    if value is None or isinstance(value, (bool, int, float, str)):
        text = json.dumps(value, ensure_ascii=False)
        return text if len(text) <= 60 else f"{text[:60]}…"
    return type(value).__name__
