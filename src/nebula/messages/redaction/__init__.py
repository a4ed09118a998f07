"""Secrets stay out of every record, wherever they turn up: in a prompt, a tool's answer, an error of a provider.

Done once, where the stream of events begins, so that no reader of it can forget it. A redactor knows the keys of the
settings from the start, learns the values of a secret file when one is read or written, and knows the shapes of keys.
Whatever names a secret file by its path (a call of a tool, a difference, a step of a plan) is kept without content.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from types import MappingProxyType

from nebula.files.protected_names import names_secret
from nebula.language import Sentence
from nebula.messages.redaction.key_shapes import holds_key, without_keys
from nebula.messages.redaction.known_values import START, KnownValues
from nebula.messages.tool_results import Json, Text, ToolUseResult

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")

REDACTED = "[redacted]"
SECRET_CONTENT = "[the content of a secret file is not recorded]"  # noqa: S105 - the words that stand for one
SHORTEST_KEY = START
"""Stand-ins for keys such as "none" or "ollama" are no secrets, and redacting them would shred ordinary words."""
SHORTEST_VALUE = 8
"""A shorter value of a secret file is as likely a port or a flag."""
LONG = 4_096
"""Characters from which on a text is remembered that was looked through: the message and the call that writes a file
carry the same, and a secret file is read for each command."""
MOST_REMEMBERED = 4

# What stands right of `=` or `:`, quoted or a single word; what is behind the last colon of a line, as in .pgpass; the
# password in a URL or a .netrc; a line of a private key; a word with a digit that has a line to itself (a token, the
# further lines of a long value).
_VALUES = r"""[=:]\s*(?:"([^"\n]+)"|'([^'\n]+)'|([^\s"',;]+))"""
_REST_OF_LINE = r"(?m)[=:][ \t]*+(\S.*)$"
_LAST_FIELD = r"(?m):(?!//)([^\s:\"']+)$"
_PASSWORD = r"(?:://[^\s/:@]*:([^\s/@]+)@|\b[Pp]assword[ \t]+(\S+))"  # noqa: S105
_ENCODED = r"()([A-Za-z0-9+/_-]{24,}={0,2})"
_ALONE = r"(?m)^[ \t]*(?=[^\s\d]*\d)([^\s=:]+={0,2})[ \t]*$"

# Named here, because a union that is written where it is used is made anew each time.
_MAPPINGS = (dict, MappingProxyType)
_LISTS = (list, tuple)
_NUMBERS = (int, float)
_TEXTS = (str, *_MAPPINGS, *_LISTS)

_KEPT = frozenset({"path", "renamed_from", "mode", "kind", "before", "after", "span", "blob", "commit", "task_id"})
"""Texts beside the path of a secret file that are none of its content: which file, what became of it, its state."""


class Redactor:
    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets = KnownValues()
        self._without: tuple[str, ...] = ()
        self._learned: tuple[str, ...] = ()
        self._add(secrets, SHORTEST_KEY)

    def learn(self, text: str) -> None:
        """Learn the values in a text that was read from a secret file."""
        if text in self._learned:
            return
        patterns = (_VALUES, _REST_OF_LINE, _LAST_FIELD, _PASSWORD, _ENCODED, _ALONE)
        found = (group for pattern in patterns for match in re.finditer(pattern, text) for group in match.groups())
        values = (kept.strip("\"'") for value in found if value for kept in (value, value.rstrip(" \t,;")))
        self._add(values, SHORTEST_VALUE)
        if len(text) >= LONG:
            self._learned = (text, *self._learned[: MOST_REMEMBERED - 1])

    def _add(self, secrets: Iterable[str], shortest: int) -> None:
        if self._secrets.add(each for each in secrets if len(each) >= shortest):
            self._without = ()

    def text(self, text: str) -> str:
        return without_keys(self._secrets.replaced(text, REDACTED), REDACTED)

    def secret_start(self, text: str, cut: int) -> int:
        """Return where a known secret begins that goes on behind `cut`, or may at the end of `text`; else `cut`."""
        return self._secrets.first_across(text, cut)

    def value(self, value: T) -> T:
        """Return the same for JSON and for values of ours, inside strings only: a key of digits must not eat a number.

        Hardly any event holds a secret, and looking is much cheaper than copying: what holds none is returned itself.
        """
        if not self._is_in(value):
            return value
        self._learn_contents(value)  # first: the words around a call may hold what it writes
        kept: T = self._copy(value)
        return kept

    def secret_result(self, result: ToolUseResult) -> ToolUseResult:
        """Return the result of reading a secret file as it may be recorded; its values are known from now on.

        What a command says that may see such files is not: their own values are known before it runs, and each long
        path in its output would be taken for one.
        """
        for block in result.content:
            if not (isinstance(block, Json) and isinstance(block.value, _MAPPINGS) and "exit_code" in block.value):
                self._learn_strings(block.value if isinstance(block, Json) else block.as_text())
        return ToolUseResult(result.tool_use_id, (Text(SECRET_CONTENT),), result.status)

    def _is_in(self, value: Any) -> bool:
        """Return whether a secret is in a value. It runs for every event, so it walks plainly, without nested
        generators."""
        if value is None:
            return False
        if isinstance(value, str):
            return self._is_in_text(value)
        if isinstance(value, _MAPPINGS):
            if "path" in value and _withheld(value):
                return True
            for key, inner in value.items():
                if self._is_in(key) or (inner is not None and self._is_in(inner)):
                    return True
        elif isinstance(value, _LISTS):
            for inner in value:
                if self._is_in(inner):
                    return True
        elif fields := _fields(value):
            if "path" in fields and _withheld(_parts(value)):
                return True
            for name in fields:
                inner = getattr(value, name)
                if inner is not None and self._is_in(inner):
                    return True
        elif not isinstance(value, _NUMBERS):
            return self._is_in(str(value))  # an error or a sentence that stands in another's place
        return False

    def _is_in_text(self, text: str) -> bool:
        if len(text) >= LONG and text in self._without:
            return False
        if self._secrets.are_in(text) or holds_key(text):
            return True
        if len(text) >= LONG:
            self._without = (text, *self._without[: MOST_REMEMBERED - 1])
        return False

    def _copy(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, _LISTS):
            return type(value)([self._copy(inner) for inner in value])
        parts = _parts(value)
        hidden = _withheld(parts)
        kept = {name: SECRET_CONTENT if name in hidden else self._copy(inner) for name, inner in parts.items()}
        if isinstance(value, _MAPPINGS):
            return {self._copy(key): inner for key, inner in kept.items()}
        if kept:
            return type(value)(*kept.values())
        if isinstance(value, Sentence):
            return Sentence(self.text(value.sentence), **self._copy(value.values))
        return self.text(str(value)) if self._is_in(value) else value

    def _learn_contents(self, value: Any) -> None:
        """Learn the values in what is withheld of `value`."""
        parts = dict(enumerate(value)) if isinstance(value, _LISTS) else _parts(value)
        hidden = _withheld(parts)
        for name, inner in parts.items():
            if name in hidden:
                self._learn_strings(inner)
            else:
                self._learn_contents(inner)

    def _learn_strings(self, value: Any) -> None:
        for text in _strings(value):
            self.learn(text)


def _withheld(parts: Mapping[Any, Any]) -> Collection[str]:
    """Return the names of those parts that are content of a secret file: all texts beside its path, and what holds
    texts."""
    paths = (parts.get("path"), parts.get("renamed_from"))
    if not any(isinstance(path, str) and names_secret(path) for path in paths):
        return ()
    return {name for name, inner in parts.items() if inner and name not in _KEPT and isinstance(inner, _TEXTS)}


def _parts(value: Any) -> Mapping[Any, Any]:
    """Return the parts of a mapping or of a `@value` by their names; other values have none."""
    return value if isinstance(value, _MAPPINGS) else {name: getattr(value, name) for name in _fields(value)}


def _strings(value: Any) -> Iterable[str]:
    """Yield the strings in a JSON value, names of keys aside."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, _LISTS):
        for inner in value:
            yield from _strings(inner)


def _fields(value: Any) -> Iterable[str]:
    """Return the fields of a `@value`; nothing else has them."""
    return getattr(type(value), "__fields__", ())
