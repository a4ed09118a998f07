"""What the values found in a reply say: calls, an answer, a thought. Names and arguments come in many spellings."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from typing import Any

from nebula.language import Sentence
from nebula.llm.dialect.lenient_json import Fault, parse_value
from nebula.value import value

RUNGS = ("native", "json", "stripped", "tags", "fence", "scan", "repair", "brackets")
NAME_KEYS = ("name", "tool", "function", "tool_name", "action", "recipient_name")
ARGUMENT_KEYS = ("parameters", "arguments", "args", "input", "params", "action_input", "tool_input")
CALL_KEYS = ("tool_calls", "tool_call", "function_call", "functionCall", "tool_uses")
ENVELOPE_KEYS = frozenset((*NAME_KEYS, *ARGUMENT_KEYS, *CALL_KEYS, "id", "type", "index", "thought", "final_answer"))
MAX_ENCODINGS = 3
MAX_NAME = 200

_DECORATED = re.compile(r"(?:functions?|tools?|default_api)\.|:\d+\Z|<[|/].*|\.call\Z", re.S)
"""What servers leave on a name: the namespace, the number of the call, a token that should have ended it."""


class FormatFailure(Exception):
    """The reply is not in the dialect; the text is the exact reason, fit to be shown to the model."""

    def __init__(self, reason: str | Sentence, *, is_prose: bool = False) -> None:
        super().__init__(str(reason))
        self.reason = reason
        """A sentence where a person may be told it in another language."""
        self.is_prose = is_prose
        """Nothing in the reply is meant as the object that was asked for."""


@value
class SpokenCall:
    name: str
    args: Mapping[str, Any]


@value
class KnownTools:
    """What was offered: the schema of each tool's parameters, and which tools change nothing."""

    schemas: Mapping[str, Mapping[str, Any]]
    readers: Container[str]

    def name(self, spoken: str) -> str:
        """Return the tool that a name means; decorations are taken off only where an offered name is left."""
        name = spoken.strip()
        if name in self.schemas or len(name) > MAX_NAME:
            return name
        plain = _DECORATED.sub("", name)
        return plain if plain in self.schemas else name

    def properties(self, tool: str) -> Mapping[str, Any]:
        return self.schemas.get(tool, {}).get("properties") or {}


class Spoken:
    """What has been found so far, and the lowest rung it took to find it."""

    def __init__(self, tools: KnownTools) -> None:
        self.tools = tools
        self.thought = ""
        self.calls: list[SpokenCall] = []
        self.answer: str | None = None
        self.found = False
        self.rung = 0

    def stand_on(self, rung: str) -> None:
        self.rung = max(self.rung, RUNGS.index(rung))

    def forget(self) -> None:
        """Forget everything found so far: it stood in thoughts, and a call that is only considered is none."""
        self.thought, self.calls, self.answer, self.found = "", [], None, False

    def take(self, value: Any, *, tagged: bool = False) -> bool:
        """Note what a value says; return False if it is none of ours."""
        if isinstance(value, list):
            return self._take_all(value, tagged=tagged)
        if not isinstance(value, dict):
            return False
        if any(key in value for key in (*CALL_KEYS, "final_answer", "thought")):
            self._dialect_object(value)
            return True
        if not self._is_entry(value, tagged=tagged):
            return False
        self._entry(value)
        return True

    def _take_all(self, values: list[Any], *, tagged: bool) -> bool:
        taken = [self.take(each, tagged=tagged) for each in values]
        if any(taken) and not all(taken):
            raise FormatFailure("a list of calls holds something that is no call")
        return bool(taken) and all(taken)

    def _is_entry(self, value: dict[str, Any], *, tagged: bool) -> bool:
        name = _name_of(value)
        if name is None:
            return False
        return tagged or self.tools.name(name) in self.tools.schemas or any(key in value for key in ARGUMENT_KEYS)

    def _dialect_object(self, value: dict[str, Any]) -> None:
        thought, answer = value.get("thought"), value.get("final_answer")
        if isinstance(thought, str) and not self.thought:
            self.thought = thought
        for key in CALL_KEYS:
            entries = decoded(value.get(key), key)
            for entry in entries if isinstance(entries, list) else [entries] if entries else []:
                self._entry(entry)
        if not any(key in value for key in CALL_KEYS) and self._is_entry(value, tagged=False):
            self._entry(value)
        if answer is not None:
            self.answer = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def _entry(self, entry: Any) -> None:
        name = _name_of(entry) if isinstance(entry, dict) else None
        if name is None:
            raise FormatFailure("an entry of tool_calls has no name")
        if name.lower() == "final answer" and "action_input" in entry:
            self.found, self.answer = True, str(entry["action_input"])
            return
        name = self.tools.name(name)
        inner = entry.get("function")
        holders = [inner, entry] if isinstance(inner, dict) else [entry]
        self.call(name, self._arguments(name, holders))

    def _arguments(self, name: str, holders: list[dict[str, Any]]) -> Any:
        given = [holder[key] for holder in holders for key in ARGUMENT_KEYS if key in holder]
        filled = [each for each in given if each not in (None, "", {})]
        if any(each != filled[0] for each in filled[1:]):
            raise FormatFailure(f"{name} is given parameters twice, and they differ")
        if given:
            return filled[0] if filled else given[0]
        return self._beside_the_name(name, holders[0])

    def _beside_the_name(self, name: str, entry: dict[str, Any]) -> dict[str, Any]:
        """Return the arguments that stand beside the name instead of in an object of their own; other keys mean
        nothing."""
        beside = {key: each for key, each in entry.items() if key not in ENVELOPE_KEYS}
        known = self.tools.properties(name)
        if not any(key in known for key in beside) and (name in self.tools.readers or not beside):
            return {}
        if any(key not in known for key in beside):
            raise FormatFailure(f"the parameters of {name} must stand in an object of their own")
        return beside

    def call(self, name: str, arguments: Any) -> None:
        name = self.tools.name(name)
        args = decoded(arguments, f"the parameters of {name}")
        if args is None or args == "":
            args = {}
        if not isinstance(args, dict):
            raise FormatFailure(f"the parameters of {name} must be an object")
        known = self.tools.properties(name)
        if isinstance(args.get("properties"), dict) and known and "properties" not in known:
            raise FormatFailure(f"the parameters of {name} are its schema; give their values")
        self.found = True
        self.calls.append(SpokenCall(name, args))


def _name_of(entry: Mapping[str, Any]) -> str | None:
    for key in NAME_KEYS:
        value = entry.get(key)
        if isinstance(value, dict):
            value = value.get("name")
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def decoded(value: Any, what: str) -> Any:
    """Return a value that was sent as JSON inside a string (or inside a string inside one), taken out of it."""
    for _ in range(MAX_ENCODINGS):
        if not isinstance(value, str) or not value.strip():
            return value
        value = whole_value(value, what)
    return value


def whole_value(text: str, what: str) -> Any:
    """Return the JSON value that a text is, with nothing behind it."""
    try:
        parsed = parse_value(text)
    except Fault as fault:
        raise FormatFailure(f"{what} cannot be read: {fault}") from None
    if text[parsed.end :].strip():
        raise FormatFailure(f"{what} cannot be read: something follows the JSON value")
    return parsed.value
