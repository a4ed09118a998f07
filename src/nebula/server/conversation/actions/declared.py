"""An action declares itself: its name, the keys of its data and their types are those of its function.

    async def get_history(server: ServerContext, _: Client, *, node_id: str, flow_id: str | None = None) -> ActionResult

answers `{"action": "get_history", "data": {"node_id": …, "flow_id"?: …}}`. Data is checked before the function is
called, and what is wrong with it is said by key. A key that is a word of Python has an underscore behind it here
(`from_`). A new action is such a function and one line in the table.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from types import UnionType
from typing import Any, Final, get_args, get_type_hints

from nebula.language import Sentence
from nebula.server.conversation.protocol import ActionError, ActionResult
from nebula.value import value

Texts = list[str]
"""A list of strings; a single string counts as a list of one."""
Objects = list[dict[str, Any]]
Numbers = list[int]

Handler = Callable[..., Awaitable[ActionResult]]


@value
class Key:
    """One key of an action's data."""

    name: str
    kind: Any
    default: Any = None
    required: bool = False

    @property
    def argument(self) -> str:
        return self.name + "_" if self.name in _WORDS_OF_PYTHON else self.name

    def read(self, data: Mapping[str, Any]) -> Any:
        found = data.get(self.name)
        if found is None:
            if self.required:
                raise ActionError("'{key}' is missing", key=self.name)
            return self.default
        if self.kind == Texts and isinstance(found, str):
            return [found]
        fits, description = _KINDS[str(self.kind)]
        if not fits(found):
            raise ActionError("'{key}' must be {description}", key=self.name, description=description)
        return found


@value
class Action:
    name: str
    keys: tuple[Key, ...]
    run: Handler
    takes_long: bool = False
    """The client's next request does not wait for it."""

    @classmethod
    def of(cls, handler: Handler, *, takes_long: bool = False) -> Action:
        types = get_type_hints(handler)
        named = [each for each in inspect.signature(handler).parameters.values() if each.kind is each.KEYWORD_ONLY]
        keys = tuple(_key(each.name, types[each.name], each.default) for each in named)
        return cls(handler.__name__, keys, handler, takes_long)

    def arguments(self, data: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the action from its data. Raises ActionError for the first key that is missing or has
        another type."""
        return {key.argument: key.read(data) for key in self.keys}


def _key(argument: str, kind: Any, default: Any) -> Key:
    required = default is inspect.Parameter.empty
    return Key(argument.rstrip("_"), _without_none(kind), None if required else default, required)


def _without_none(kind: Any) -> Any:
    if not isinstance(kind, UnionType):
        return kind
    [inner] = [each for each in get_args(kind) if each is not type(None)]
    return inner


def _is_number(found: Any) -> bool:
    return isinstance(found, int) and not isinstance(found, bool) and found >= 0


def _all(kind: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda found: isinstance(found, list) and all(map(kind, found))


_WORDS_OF_PYTHON: Final = frozenset({"from", "all"})
_KINDS: Final[Mapping[str, tuple[Callable[[Any], bool], Sentence]]] = {
    str(str): (lambda found: isinstance(found, str), Sentence("a string")),
    str(bool): (lambda found: isinstance(found, bool), Sentence("true or false")),
    str(int): (_is_number, Sentence("a whole number, 0 or more")),
    str(Texts): (_all(lambda each: isinstance(each, str)), Sentence("a list of strings")),
    str(Numbers): (_all(_is_number), Sentence("a list of whole numbers")),
    str(Objects): (_all(lambda each: isinstance(each, dict)), Sentence("a list of objects")),
}
