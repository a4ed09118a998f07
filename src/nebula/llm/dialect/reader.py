"""Reading a reply in the JSON dialect ("Hermes JSON") the way local models really write it.

The ladder, from clean to patched; a reading names the lowest rung it had to stand on:

    native    the server itself found the tool calls
    json      the whole text is the object
    stripped  … once think blocks, a byte order mark and special tokens are taken off
    tags      `<tool_call>` bodies
    fence     a fenced code block
    scan      objects found among prose, or several in a row
    repair    lossless repairs: raw line breaks in strings, trailing commas, Python literals
    brackets  only closing brackets were missing, and nothing but reading was asked for

Nothing is guessed. What looks like a call and cannot be read is a failure of the whole reply, so that no part of a
broken one is carried out; what was read of a broken object is not searched for further ones, since it may be the
content of a file. Calls in another notation than JSON (elements, Python, raw channels) are refused for the same reason:
a value in them may hold an object that looks like a call. The text is walked once, from mark to mark.
"""

from __future__ import annotations

import re
from collections.abc import Container, Mapping
from typing import Any

from nebula.language import Sentence
from nebula.llm.dialect.lenient_json import Cut, Fault, Parsed, parse_value
from nebula.llm.dialect.noise import TEMPLATE_MARK, THOUGHT, strip_noise
from nebula.llm.dialect.spoken import RUNGS, FormatFailure, KnownTools, Spoken, SpokenCall
from nebula.value import value

MAX_MARKS = 500
OTHER_NOTATION = "the calls are not written in JSON; one JSON object was asked for"

_TAG = r"(?:\w{1,20}:)?(?:tool_calls?|function_calls?|tools?)"
_FOREIGN = (
    r"[|｜]?(?:DSML[|｜]\s*)?(?:function\s*=|function\s+name|invoke\s|parameter[\s=]|arg_(?:key|value)>)"
    r"|[|｜](?:channel|tool[▁_]\w{1,30}|python_tag|plugin)[|｜]?>"
)
"""How calls begin in other notations than JSON, behind a `<`."""
# Begins with one set of characters, so that the search runs over prose at the speed of the machine.
_MARK = re.compile(
    rf"""[{{<\[`~](?:
      (?<=\{{)(?P<object>)
    | (?<=[`~])(?P<fence>(?<=`)``+|(?<=~)~~+)(?P<language>[\w+.-]*)[^\n`]*\n?
    | (?<=\[)(?P<bracketed>TOOL_CALLS?|TOOL_REQUEST|ARGS)\]
    | (?<=<)(?:
        (?P<others>tool_(?:response|result)|\|im_start\|>(?!assistant)|\|start_header_id\|>(?!assistant))
      | (?P<foreign>{_FOREIGN})
      | (?P<think>{THOUGHT})>
      | /(?P<thought>{THOUGHT})>
      | /(?P<end>{_TAG})>
      | (?P<tag>{_TAG})>
      ))""",
    re.X,
)
_VALUE_START = re.compile(r"\{|\[\s*\{")
_CALL_AS_CODE = re.compile(r"\[?\s*(?:call:)?(?P<name>[A-Za-z_][\w.:-]{0,99})\s*[({]")
_DIALECT_START = re.compile(
    r"""\[?\s*\{\s*["'](?:thought|tool_calls?|final_answer|function_call|name|tool|tool_name|function|parameters|"""
    r"""arguments|args|input)["']\s*:"""
)
_CHANNEL_SIGNS = ("<|message|>", "assistantfinal", "assistantcommentary")
_NO_WORDS = re.compile(rf"{TEMPLATE_MARK}|</?(?:{_TAG})>")
_SPACE = re.compile(r"\s*")


@value
class DialectReply:
    thought: str
    calls: tuple[SpokenCall, ...]
    answer: str | None
    rung: str


def read_reply(text: str, *, tools: Mapping[str, Mapping[str, Any]], readers: Container[str]) -> DialectReply:
    """Return what a reply says. `tools` are those offered, with the schemas of their parameters, `readers` the names of
    those that change nothing. Raises FormatFailure."""
    body = strip_noise(text)
    if not body:
        raise FormatFailure("the reply is empty" if not text.strip() else "the reply holds nothing but thoughts")
    spoken = Spoken(KnownTools(tools, readers))
    _Walk(body, spoken).run()
    if not spoken.found:
        raise FormatFailure("the reply is plain text; one JSON object was asked for", is_prose=True)
    if spoken.rung <= RUNGS.index("json"):
        spoken.stand_on("json" if body == text.strip() else "stripped")
    if not spoken.calls and spoken.answer is None:
        raise FormatFailure("the object has neither tool_calls nor a final_answer")
    return DialectReply(spoken.thought, tuple(spoken.calls), spoken.answer, RUNGS[spoken.rung])


class _Walk:
    """One walk over the text, mark by mark."""

    def __init__(self, text: str, spoken: Spoken) -> None:
        self._text = text
        self._spoken = spoken
        self._tools = spoken.tools
        self._past = 0
        """What comes before is read, or skipped for good."""

    def run(self) -> None:
        text, spoken = self._text, self._spoken
        at = self._whole()
        for _ in range(MAX_MARKS):
            mark = _MARK.search(text, at)
            if mark is None or mark["others"]:
                break  # results of tools and words of the user are not the model's to give
            at = self._open(mark)
        else:
            raise FormatFailure("the reply holds too many braces to be the object that was asked for")
        if spoken.rung == RUNGS.index("json") and text[at:].strip():
            spoken.stand_on("scan")  # words around a clean object make it one that was searched for

    def _whole(self) -> int:
        """Read a text that begins with what was asked for; return where to go on."""
        if _VALUE_START.match(self._text):
            return self._value(0, "json")
        self._refuse_code(0)
        if self._text.startswith("analysis") and any(each in self._text for each in _CHANNEL_SIGNS):
            raise FormatFailure(OTHER_NOTATION)  # thoughts that name calls, without the tokens around them
        return 0

    def _open(self, mark: re.Match[str]) -> int:
        """Read what a mark announces; return where to go on."""
        start, inside = mark.start(), mark.end()
        if mark["foreign"] or mark["bracketed"]:
            raise FormatFailure(OTHER_NOTATION)
        if mark["object"] is not None:
            return self._value(start, "scan")
        if mark["fence"]:
            return self._fence(mark)
        if mark["think"]:
            return self._skip_to(self._text.find(f"</{mark['think']}>", inside))
        if mark["thought"]:
            self._spoken.forget()
            return self._skip_to(inside)
        return inside if mark["end"] else self._tag(start, inside)

    # what surrounds a value

    def _refuse_code(self, at: int) -> None:
        """Refuse a call of an offered tool that is written as in a programming language."""
        call = _CALL_AS_CODE.match(self._text, at)
        if call and self._tools.name(call["name"]) in self._tools.schemas:
            raise FormatFailure(OTHER_NOTATION)

    def _skip_to(self, at: int) -> int:
        self._past = len(self._text) if at < 0 else at
        return self._past

    def _fence(self, mark: re.Match[str]) -> int:
        text, inside = self._text, mark.end()
        fence = text[mark.start() : mark.end("fence")]
        start = self._space(inside)
        if text[start : start + 1] in ("{", "["):
            end = self._value(start, "fence", mark.start())
            if self._past == end:
                closing = self._space(end)
                return closing + len(fence) if text.startswith(fence, closing) else end
        following = _MARK.match(text, start)
        if following and following["tag"]:
            return start
        after = text.find(fence, inside)  # code in some language: its braces are none of ours
        return self._skip_to(after + len(fence) if after >= 0 else -1)

    def _tag(self, start: int, inside: int) -> int:
        text = self._text
        at = self._space(inside)
        if _VALUE_START.match(text, at):
            return self._value(at, "tags", start)
        self._refuse_code(at)
        if text.startswith("<", at) or at == len(text) or "call" not in text[start:inside].lower():
            return at
        raise FormatFailure(f"what follows {text[start:inside]} cannot be read")

    def _taken(self, start: int, end: int, rung: str) -> int:
        spoken = self._spoken
        if not spoken.thought and len(spoken.calls) <= 1 and rung != "json":
            spoken.thought = _NO_WORDS.sub("", self._text[self._past : start]).strip()
        spoken.found = True
        spoken.stand_on(rung)
        self._past = end
        return end

    def _space(self, at: int) -> int:
        found = _SPACE.match(self._text, at)
        return found.end() if found else at

    # values

    def _value(self, at: int, rung: str, start: int | None = None) -> int:
        """Read the value that begins here, if one does. A broken one raises FormatFailure if it was meant for us."""
        try:
            parsed = self._parse(at)
        except Fault as fault:
            if rung == "tags" or _DIALECT_START.match(self._text, at):
                raise FormatFailure(f"the JSON cannot be read: {fault}") from None
            return max(fault.place, at + 1)
        if self._spoken.take(parsed.value, tagged=rung == "tags"):
            if parsed.repaired:
                self._spoken.stand_on("repair")
            return self._taken(at if start is None else start, parsed.end, rung)
        if rung == "tags":
            raise FormatFailure("a <tool_call> holds no call with a name")
        return parsed.end

    def _parse(self, at: int) -> Parsed:
        try:
            return parse_value(self._text, at)
        except Cut as cut:
            return self._completed(at, len(self._text), cut)
        except Fault as fault:
            if not self._text.startswith("</", fault.place):
                raise
            end = fault.place  # a closing tag where brackets should have closed
        try:
            return parse_value(self._text[:end], at)
        except Cut as cut:
            return self._completed(at, end, cut)

    def _completed(self, at: int, end: int, cut: Cut) -> Parsed:
        """Return a value whose closing brackets alone are missing, provided that it asks for nothing but reading."""
        if cut.closers is None:
            shorter = "the JSON is cut off: {cut}; nothing was run, send it again whole and shorter"
            raise FormatFailure(Sentence(shorter, cut=str(cut))) from None
        whole = parse_value(self._text[at:end] + cut.closers)
        looked_at = Spoken(self._tools)
        looked_at.take(whole.value, tagged=True)
        if any(call.name not in self._tools.readers for call in looked_at.calls):
            raise FormatFailure("the JSON is cut off, and what may be half a change is never carried out") from None
        self._spoken.stand_on("brackets")
        return Parsed(whole.value, end, whole.repaired)
