"""Reading a reply in the JSON dialect ("Hermes JSON") the way local models really write it.

The ladder, from clean to patched; a reading names the lowest rung it had to stand on:

    native    the server itself found the tool calls
    json      the whole text is the object
    stripped  … once think blocks, a byte order mark and special tokens are taken off
    tags      `<tool_call>` bodies, `<function=NAME>` bodies
    fence     a fenced code block
    scan      objects found among prose, or several in a row
    repair    lossless repairs: raw line breaks in strings, trailing commas, Python literals
    brackets  only closing brackets were missing, and nothing but reading was asked for

Nothing is guessed. What looks like a call and cannot be read is a failure of the whole reply, so that no part of a
broken one is carried out; text inside a broken object is never searched for further objects, since it may be the
content of a file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Mapping
from dataclasses import dataclass, field
from typing import Any

from nebula.llm.dialect.lenient_json import Cut, Fault, Parsed, parse_value
from nebula.value import value

RUNGS = ("native", "json", "stripped", "tags", "fence", "scan", "repair", "brackets")
NAME_KEYS = ("name", "tool", "function", "tool_name")
ARGUMENT_KEYS = ("parameters", "arguments", "args", "input")
CALL_KEYS = ("tool_calls", "tool_call", "function_call")
MAX_ATTEMPTS = 500

# All are tried at one place only, never searched for over the text: a run of line breaks would be tried from each.
_THINK = re.compile(r"\s*<(think|thinking|thought|reasoning)>(.*?)(</\1>|\Z)", re.S)
_LATE_THINK = re.compile(r"[^{<\[`]*?</(?:think|thinking)>", re.S)
_TOKENS_BEFORE = re.compile(r"(?:[\s\ufeff]+|<\|[\w ]{1,40}\|>(?:assistant\b)?|<s>)*")
_TOKEN_AT_END = re.compile(r"(?:<\|[\w ]{1,40}\|>|</s>)\Z")
_LONGEST_TOKEN = 44
_SPACE = re.compile(r"\s*")
_OPENER = re.compile(
    r"(?P<results><tool_response>)|(?P<tag><tool_calls?>|\[TOOL_CALLS\])|<function=(?P<function>[\w.-]+)>"
    r"|(?P<fence>```|~~~)(?P<language>[\w+.-]*)[^\n`]*\n?|(?P<object>\{)"
)
_VALUE_START = re.compile(r"\{|\[\s*\{")
_DIALECT_START = re.compile(
    r"""\[?\s*\{\s*["'](?:thought|tool_calls?|final_answer|function_call|name|tool|tool_name|function|parameters|"""
    r"""arguments|args|input)["']\s*:"""
)


class FormatFailure(Exception):
    """The reply is not in the dialect; the text is the exact reason, fit to be shown to the model."""


@value
class SpokenCall:
    name: str
    args: Mapping[str, Any]


@value
class DialectReply:
    thought: str
    calls: tuple[SpokenCall, ...]
    answer: str | None
    rung: str


@dataclass(slots=True)
class _Notes:
    """What has been found so far."""

    thought: str = ""
    calls: list[SpokenCall] = field(default_factory=list)
    answer: str | None = None
    found: bool = False
    rung: int = 0

    def stand_on(self, rung: str) -> None:
        self.rung = max(self.rung, RUNGS.index(rung))


def read_reply(text: str, *, tools: Container[str], readers: Container[str]) -> DialectReply:
    """The reading of `text`. `tools`: the names offered; `readers`: those of them that change nothing."""
    body = strip_noise(text)
    if not body:
        raise FormatFailure("the reply is empty" if not text.strip() else "the reply holds nothing but thoughts")
    notes = _Notes()
    _Scan(body, notes, tools, readers).run()
    if not notes.found:
        raise FormatFailure("the reply is plain text; one JSON object was asked for")
    if notes.rung <= RUNGS.index("json"):
        notes.stand_on("json" if body == text.strip() else "stripped")
    if not notes.calls and notes.answer is None:
        raise FormatFailure("the object has neither tool_calls nor a final_answer")
    return DialectReply(notes.thought, tuple(notes.calls), notes.answer, RUNGS[notes.rung])


def strip_noise(text: str) -> str:
    """Without think blocks in front, byte order marks, and the special tokens of chat templates at both ends."""
    start, end = 0, len(text)
    while True:
        before = (start, end)
        start = _past(_TOKENS_BEFORE, text, start, end)
        end = _without_tokens_at_end(text, start, end)
        start = _past(_THINK, text, start, end)
        start = _past(_LATE_THINK, text, start, end)
        if (start, end) == before:
            return text[start:end]


def _past(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    found = pattern.match(text, start, end)
    return found.end() if found else start


def _without_tokens_at_end(text: str, start: int, end: int) -> int:
    while True:
        while end > start and (text[end - 1].isspace() or text[end - 1] == "\ufeff"):
            end -= 1
        token = _TOKEN_AT_END.search(text, max(start, end - _LONGEST_TOKEN), end)
        if token is None:
            return end
        end = token.start()


class _Scan:
    """One walk over the text, opener by opener."""

    def __init__(self, text: str, notes: _Notes, tools: Container[str], readers: Container[str]) -> None:
        self._text = text
        self._notes = notes
        self._tools = tools
        self._readers = readers

    def run(self) -> None:
        text, notes = self._text, self._notes
        at = self._value(0, "json") if _VALUE_START.match(text) and self._begins_value(0) else 0
        for _ in range(MAX_ATTEMPTS):
            opener = _OPENER.search(text, at)
            if opener is None or opener["results"]:
                break  # results of tools are ours to give; what follows invented ones is worth nothing
            found_before = notes.found
            at = self._open(opener)
            if notes.found and not found_before and not notes.thought:
                notes.thought = text[: opener.start()].strip()
        else:
            raise FormatFailure("the reply holds too many braces to be the object that was asked for")
        if notes.rung == RUNGS.index("json") and text[at:].strip():
            notes.stand_on("scan")  # words around a clean object make it one that was searched for

    def _open(self, opener: re.Match[str]) -> int:
        """Reads what an opener announces; gives back where to go on."""
        inside = opener.end()
        if opener["fence"]:
            return self._fence(opener)
        if opener["tag"]:
            return self._value(inside, "tags")
        if opener["function"]:
            parsed = self._parse(inside)
            self._call(opener["function"], parsed.value)
            self._notes.stand_on("tags")
            return parsed.end
        return self._value(opener.start(), "scan") if self._begins_value(opener.start()) else inside

    def _fence(self, opener: re.Match[str]) -> int:
        text = self._text
        inside = opener.end()
        start = _past(_SPACE, text, inside, len(text))
        if text[start : start + 1] in ("{", "[") and self._begins_value(start):
            end = self._value(start, "fence")
            closing = re.compile(r"\s*" + opener["fence"]).match(text, end)
            return closing.end() if closing else end
        if text.startswith("<tool_call", start):
            return start
        after = text.find(opener["fence"], inside)  # code in some language: its braces are none of ours
        return len(text) if after < 0 else after + len(opener["fence"])

    def _begins_value(self, at: int) -> bool:
        """Whether a value worth reading begins here. A broken one raises if it was meant for us."""
        try:
            parse_value(self._text, at)
        except Cut:
            return True
        except Fault as fault:
            if _DIALECT_START.match(self._text, at):
                raise FormatFailure(f"the JSON cannot be read: {fault}") from None
            return False
        return True

    def _value(self, at: int, rung: str) -> int:
        parsed = self._parse(at)
        if self._take(parsed.value, tagged=rung == "tags"):
            self._notes.found = True
            self._notes.stand_on(rung)
            if parsed.repaired:
                self._notes.stand_on("repair")
        elif rung == "tags":
            raise FormatFailure("a <tool_call> holds no call with a name")
        return parsed.end

    def _parse(self, at: int) -> Parsed:
        try:
            return parse_value(self._text, at)
        except Cut as cut:
            return self._completed(at, cut)
        except Fault as fault:
            raise FormatFailure(f"the JSON cannot be read: {fault}") from None

    def _completed(self, at: int, cut: Cut) -> Parsed:
        """A value whose closing brackets alone are missing, provided that it asks for nothing but reading."""
        if cut.closers is None:
            raise FormatFailure(
                f"the JSON is cut off: {cut}; nothing was run, send it again whole and shorter"
            ) from None
        whole = parse_value(self._text + cut.closers, at)
        looked_at = _Notes()
        _Scan("", looked_at, self._tools, self._readers)._take(whole.value, tagged=True)
        if any(call.name not in self._readers for call in looked_at.calls):
            raise FormatFailure("the JSON is cut off, and what may be half a change is never carried out") from None
        self._notes.stand_on("brackets")
        return Parsed(whole.value, len(self._text), whole.repaired)

    # what the objects say

    def _take(self, value: Any, *, tagged: bool = False) -> bool:
        """Notes what a value says; False when it is none of ours."""
        if isinstance(value, list):
            taken = [self._take(item, tagged=tagged) for item in value]
            return bool(taken) and all(taken)
        if not isinstance(value, dict):
            return False
        if any(key in value for key in (*CALL_KEYS, "final_answer", "thought")):
            self._dialect_object(value)
            return True
        name = _name_of(value)
        if name is None or not (tagged or name in self._tools or any(key in value for key in ARGUMENT_KEYS)):
            return False
        self._entry(value)
        return True

    def _dialect_object(self, value: dict[str, Any]) -> None:
        notes = self._notes
        thought, answer = value.get("thought"), value.get("final_answer")
        if isinstance(thought, str) and not notes.thought:
            notes.thought = thought
        for key in CALL_KEYS:
            entries = _decoded(value.get(key), key)
            for entry in entries if isinstance(entries, list) else [entries] if entries else []:
                self._entry(entry)
        if answer is not None:
            notes.answer = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False)

    def _entry(self, entry: Any) -> None:
        name = _name_of(entry) if isinstance(entry, dict) else None
        if name is None:
            raise FormatFailure("an entry of tool_calls has no name")
        inner = entry.get("function")
        holder = inner if isinstance(inner, dict) else entry
        self._call(name, next((holder[key] for key in ARGUMENT_KEYS if key in holder), None))

    def _call(self, name: str, arguments: Any) -> None:
        args = _decoded(arguments, f"the parameters of {name}")
        if args is None or args == "":
            args = {}
        if not isinstance(args, dict):
            raise FormatFailure(f"the parameters of {name} must be an object")
        self._notes.found = True
        self._notes.calls.append(SpokenCall(name, args))


def _name_of(entry: Mapping[str, Any]) -> str | None:
    for key in NAME_KEYS:
        value = entry.get(key)
        if isinstance(value, dict):
            value = value.get("name")
        if isinstance(value, str) and value.strip():
            return value.strip()
    return None


def _decoded(value: Any, what: str) -> Any:
    """A value that was sent as JSON inside a string, taken out of it."""
    if not isinstance(value, str) or not value.strip():
        return value
    try:
        parsed = parse_value(value)
    except Fault as fault:
        raise FormatFailure(f"{what} cannot be read: {fault}") from None
    if value[parsed.end :].strip():
        raise FormatFailure(f"{what} cannot be read: something follows the JSON value")
    return parsed.value
