"""Frozen values, made at a tenth of the price of a dataclass.

    @value
    class Point:
        x: int
        y: int = 0

What a frozen dataclass with slots does: built by position or name, equal and hashed by content, shown by content,
never changed, `__post_init__` called, a dataclass to `dataclasses.replace`. Only its making differs. A dataclass
compiles half a dozen functions for each class, and a start loads some eighty classes before the first request leaves:
that was a quarter of the whole start (`bench/start.py`). Here one function is compiled, `__init__`, and only for a
class that is called often; the others are the same few for all.

`@record` makes an object with state in the same way: its fields can be set, and `field(default_factory=list)` gives
each object a list of its own.

As with any class that is made anew for its slots, a method cannot say `super()` without arguments.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar, dataclass_transform

    T = TypeVar("T")
else:

    def dataclass_transform(**_):
        return lambda decorate: decorate


_REQUIRED = object()
_set = object.__setattr__
_PAYS = 8
"""Objects of a class after which its compiled `__init__` has earned what compiling costs."""


class _Factory:
    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def field(*, default_factory: Callable[[], T]) -> T:
    """Return the default of a field that is made anew for every object."""
    return _Factory(default_factory)  # type: ignore[return-value]


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value(cls: type[T]) -> type[T]:
    """Return the class as a frozen value of its annotated fields; a base that is one gives its fields, too."""
    return _made(cls, _SHARED)


@dataclass_transform(field_specifiers=(field,))
def record(cls: type[T]) -> type[T]:
    """Return the class as an object with its annotated fields, which can be set; equal by content, and not hashed."""
    return _made(cls, {"__eq__": _eq, "__hash__": None, "__repr__": _repr})


def _made(cls: type[T], methods: dict[str, Any]) -> type[T]:
    inherited: dict[str, Any] = {}
    for base in reversed(cls.__mro__[1:]):
        inherited |= base.__dict__.get("__fields__", {})
    own = {
        name: cls.__dict__.get(name, _REQUIRED)
        for name, annotation in cls.__annotations__.items()
        if not annotation.startswith("ClassVar")
    }
    fields = inherited | own
    body = {name: each for name, each in cls.__dict__.items() if name not in own and name not in _MADE_ANEW}
    body["__slots__"] = tuple(name for name in own if name not in inherited)
    body["__fields__"] = fields
    body["__match_args__"] = tuple(fields)
    body["__init__"] = _initialiser(fields, hasattr(cls, "__post_init__"))
    for name, method in methods.items():
        body.setdefault(name, method)
    kind: Any = type(cls)
    made: Any = kind(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return made  # type: ignore[no-any-return]


def replace(original: T, **changes: Any) -> T:
    """Return the same value with some fields changed."""
    names: Any = original.__match_args__  # type: ignore[attr-defined]
    return type(original)(**{name: getattr(original, name) for name in names} | changes)


def _initialiser(fields: dict[str, Any], has_post_init: bool) -> Any:
    """Return an `__init__` that compiles a faster one once it pays: most classes of a start make an object or two."""
    names = tuple(fields)
    calls = 0

    def __init__(self: Any, *given: Any, **named: Any) -> None:
        nonlocal calls
        calls += 1
        contents = fields | dict(zip(names, given, strict=False)) | named
        is_wrong = max(len(given), len(contents)) > len(names) or not named.keys().isdisjoint(names[: len(given)])
        if not is_wrong and calls <= _PAYS:
            for name, content in contents.items():
                if content is _REQUIRED:
                    break
                _set(self, name, content.make() if type(content) is _Factory else content)
            else:
                if has_post_init:
                    self.__post_init__()
                return
        compiled = _compiled(fields, has_post_init)  # which also says what is wrong
        for kind in type(self).__mro__:
            if kind.__dict__.get("__init__") is __init__:
                kind.__init__ = compiled  # type: ignore[misc]
        compiled(self, *given, **named)

    return __init__


def _compiled(fields: dict[str, Any], has_post_init: bool) -> Any:
    space: dict[str, Any] = {"_set": _set, "_REQUIRED": _REQUIRED}
    parameters = ["self"]
    lines = []
    for name, default in fields.items():
        given = name
        if default is _REQUIRED:
            parameters.append(name)
        elif isinstance(default, _Factory):
            space[f"_make_{name}"] = default.make
            parameters.append(f"{name}=_REQUIRED")
            given = f"_make_{name}() if {name} is _REQUIRED else {name}"
        else:
            space[f"_{name}"] = default
            parameters.append(f"{name}=_{name}")
        lines.append(f" _set(self, {name!r}, {given})")
    if has_post_init:
        lines.append(" self.__post_init__()")
    exec(f"def __init__({', '.join(parameters)}):\n" + ("\n".join(lines) or " pass"), space)  # noqa: S102 - our own text
    return space["__init__"]


def _contents(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in self.__fields__])


def _eq(self: Any, other: object) -> bool:
    return _contents(self) == _contents(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_contents(self))


def _repr(self: Any) -> str:
    shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__fields__)
    return f"{type(self).__qualname__}({shown})"


def _frozen(self: Any, name: str, *_: object) -> None:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__} is a value; its '{name}' cannot be changed")


class _AsDataclass:
    """Makes a value a dataclass for whoever asks: `dataclasses.replace`, `fields` and `asdict` work. Rarely asked."""

    def __init__(self, attribute: str) -> None:
        self._attribute = attribute

    def __get__(self, _: object, owner: Any) -> Any:
        from dataclasses import field, make_dataclass
        from functools import partial

        fields: list[Any] = [
            (name, "object")
            if default is _REQUIRED
            else (name, "object", field(default_factory=partial(_same, default)))
            for name, default in owner.__fields__.items()
        ]
        twin = make_dataclass(owner.__name__, fields, init=False, repr=False, eq=False, frozen=True)
        return getattr(twin, self._attribute)


def _same(default: object) -> object:
    return default


def _reduce(self: Any) -> tuple[Any, ...]:
    return type(self), _contents(self)


_MADE_ANEW = frozenset({"__dict__", "__weakref__"})
_SHARED = {
    "__eq__": _eq,
    "__hash__": _hash,
    "__repr__": _repr,
    "__setattr__": _frozen,
    "__delattr__": _frozen,
    "__reduce__": _reduce,
    "__dataclass_fields__": _AsDataclass("__dataclass_fields__"),
    "__dataclass_params__": _AsDataclass("__dataclass_params__"),
}
