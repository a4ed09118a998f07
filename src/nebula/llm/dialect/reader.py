"""Reading a reply in the JSON dialect ("Hermes JSON") the way local models really write it.

The ladder, from clean to patched; a reading names the lowest rung it had to stand on:

    native    the server itself found the tool calls
    json      the whole text is the object
    stripped  … once think blocks, a byte order mark and special tokens are taken off
    tags      `<tool_call>` bodies, `<function=NAME>` bodies
    tokens    objects of arguments named by the tokens before them: gpt-oss, Kimi, DeepSeek, Mistral, Gemma
    markup    parameters as elements: Qwen3-Coder, MiniMax, GLM, DeepSeek
    pythonic  calls as in Python
    fence     a fenced code block
    scan      objects found among prose, or several in a row
    repair    lossless repairs: raw line breaks in strings, trailing commas, Python literals
    brackets  only closing brackets were missing, and nothing but reading was asked for

Nothing is guessed. What looks like a call and cannot be read is a failure of the whole reply, so that no part of a
broken one is carried out; what was read of a broken object is not searched for further ones, since it may be the
content of a file. The text is walked once, from mark to mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping
from typing import Any

from nebula.language import Sentence
from nebula.llm.dialect.lenient_json import Cut, Fault, Parsed, parse_value
from nebula.llm.dialect.markup import FUNCTION, read_pairs, read_parameters
from nebula.llm.dialect.noise import TEMPLATE_MARK, THOUGHT, strip_noise
from nebula.llm.dialect.notations import NAME, Calls, read_bare_keys, read_pythonic
from nebula.llm.dialect.spoken import RUNGS, FormatFailure, KnownTools, Spoken, SpokenCall
from nebula.value import value

MAX_MARKS = 500
LONGEST_LABEL = 200

_TAG = (
    r"(?:\w{1,20}:)?(?:tool_calls?|function_calls?|function-calls?|TOOLCALL|tools?|tool_code)"
    r"|\|(?:tool_calls?|tool_call_start|python_tag|plugin)\|"
    r"|\|tool_call|start_function_call|｜DSML｜\s*(?:function|tool)_calls"
)
# Begins with one set of characters, so that the search runs over prose at the speed of the machine.
_MARK = re.compile(
    rf"""[{{<\[`~](?:
      (?<=\{{)(?P<object>)
    | (?<=[`~])(?P<fence>(?<=`)``+|(?<=~)~~+)(?P<language>[\w+.-]*)[^\n`]*\n?
    | (?<=\[)(?:TOOL_CALLS?|TOOL_REQUEST)\](?P<bracketed>)
    | (?<=<)(?:
        (?P<others>tool_(?:response|result)|\|im_start\|>(?!assistant)|\|start_header_id\|>(?!assistant))
      | (?P<think>{THOUGHT})>
      | /(?P<thought>{THOUGHT})>
      | \|channel\|>(?P<analysis>analysis<\|message\|>)
      | {FUNCTION}
      | /(?P<end>{_TAG})>
      | (?P<tag>{_TAG})(?:\s+name=["'][^"'>]{{1,100}}["'])?>
      ))""",
    re.X,
)
_VALUE_START = re.compile(r"\{|\[\s*\{")
_PYTHONIC_START = re.compile(rf"\[?\s*(?P<name>{NAME})\(")
_DIALECT_START = re.compile(
    r"""\[?\s*\{\s*["'](?:thought|tool_calls?|final_answer|function_call|name|tool|tool_name|function|parameters|"""
    r"""arguments|args|input)["']\s*:"""
)
_SEP = r"<[|｜]tool[▁_]sep[|｜]>"
_LABEL = re.compile(
    rf"""(?:
      \bto=(?P<recipient>{NAME})(?:\s|<\|\w{{1,20}}\|>|json|code|commentary|analysis|assistant)*
    | (?P<kimi>{NAME})\s*<\|tool_call_argument_begin\|>
    | (?P<mistral>{NAME})(?:\[CALL_ID\]\w{{1,40}})?\[ARGS\]
    | {_SEP}(?P<after>{NAME})\s*(?:```(?:json)?)?
    | (?P<before>{NAME}){_SEP}
    | <tool_call>\s*(?P<tagged>{NAME})
    | \[TOOL_CALLS\]\s*(?P<bracketed>{NAME})
    | <function>\s*(?P<element>{NAME})\s*</function>
    | call:(?P<bare>{NAME})
    )\s*\Z""",
    re.X,
)
_NAMED = re.compile(rf"(?P<name>{NAME})(?:\[CALL_ID\]\w{{1,40}})?(?:\[ARGS\])?\s*(?P<next><arg_key>|</|\{{|\()")
_PROSE_BEFORE_FUNCTION = re.compile(r"[^<{]{1,2000}(?=<function[=\s]|<invoke\s)")
_ANALYSIS_END = re.compile(r"<\|(?:end|start|channel|call|return)\|>")
_NO_WORDS = re.compile(rf"{TEMPLATE_MARK}|</?(?:{_TAG})>")
_SPACE = re.compile(r"\s*")


_Notation = Callable[[str, int], tuple[Calls, int]]


@value
class DialectReply:
    thought: str
    calls: tuple[SpokenCall, ...]
    answer: str | None
    rung: str


def read_reply(text: str, *, tools: Mapping[str, Mapping[str, Any]], readers: Container[str]) -> DialectReply:
    """The reading of `text`. `tools`: those offered, with the schemas of their parameters; `readers`: the names of
    those that change nothing."""
    body = strip_noise(text)
    if not body:
        raise FormatFailure("the reply is empty" if not text.strip() else "the reply holds nothing but thoughts")
    spoken = Spoken(KnownTools(tools, readers))
    _Walk(body, spoken).run()
    spoken.check_alone()
    if not spoken.found:
        raise FormatFailure("the reply is plain text; one JSON object was asked for")
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
        self._wrapper = ""
        """The tag that is open around what is read."""

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
        """Reads a text that begins with what was asked for; gives back where to go on."""
        text = self._text
        if _VALUE_START.match(text):
            return self._value(0, "json")
        pythonic = _PYTHONIC_START.match(text)
        if pythonic and self._tools.name(pythonic["name"]) in self._tools.schemas:
            end = self._notation(read_pythonic, 0, "pythonic", 0)
            if text[end:].strip():
                raise FormatFailure("something follows the call; one JSON object was asked for")
            return end
        return self._skipped_analysis(0) if text.startswith("analysis<|message|>") else 0

    def _open(self, mark: re.Match[str]) -> int:
        """Reads what a mark announces; gives back where to go on."""
        start, inside = mark.start(), mark.end()
        if mark["object"] is not None:
            return self._value(start, "scan")
        if mark["fence"]:
            return self._fence(mark)
        if mark["think"]:
            return self._skip_to(self._text.find(f"</{mark['think']}>", inside))
        if mark["thought"]:
            self._spoken.forget()
            return self._skip_to(inside)
        if mark["analysis"]:
            return self._skipped_analysis(mark.start("analysis"))
        if mark["function"]:
            return self._function(mark["function"], start, inside)
        if mark["end"]:
            self._wrapper = ""
            return inside
        self._wrapper = mark["tag"] or ""
        return self._tag(start, inside)

    # what surrounds a value

    def _skip_to(self, at: int) -> int:
        self._past = len(self._text) if at < 0 else at
        return self._past

    def _skipped_analysis(self, at: int) -> int:
        """Past the thoughts of gpt-oss, which stand in a channel of their own."""
        ended = _ANALYSIS_END.search(self._text, at)
        return self._skip_to(ended.start() if ended else -1)

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
        if following and (following["tag"] or following["function"]):
            return start
        if mark["language"] == "tool_code":
            return self._notation(read_pythonic, start, "pythonic", mark.start())
        after = text.find(fence, inside)  # code in some language: its braces are none of ours
        return self._skip_to(after + len(fence) if after >= 0 else -1)

    def _tag(self, start: int, inside: int) -> int:
        text = self._text
        at = self._space(inside)
        if _VALUE_START.match(text, at):
            return self._value(at, "tags", start)
        if text.startswith("call:", at):
            return self._bare_keys(at, start)
        if _PYTHONIC_START.match(text, at):
            return self._notation(read_pythonic, at, "pythonic", start)
        if text.startswith("<", at) or at == len(text) or "call" not in text[start:inside].lower():
            return at
        named = _NAMED.match(text, at)
        if named is None:
            prose = _PROSE_BEFORE_FUNCTION.match(text, at)
            if prose is None:
                raise FormatFailure(f"what follows {text[start:inside]} cannot be read")
            return prose.end()
        return self._named(named, start)

    def _named(self, named: re.Match[str], start: int) -> int:
        """A name right after a tag: parameters follow as elements or as an object, or there are none."""
        name = self._tools.name(named["name"])
        if named["next"] == "{":
            return named.end() - 1
        if named["next"] == "<arg_key>":
            args, end = read_pairs(self._text, named.start("next"), name, self._tools)
        elif name in self._tools.schemas:
            args, end = {}, named.start("next")
        else:
            raise FormatFailure(f"there is no tool {name}")
        self._spoken.is_unescaped = True
        return self._called([(name, args)], start, end, "markup")

    def _function(self, spoken_name: str, start: int, inside: int) -> int:
        text, name = self._text, self._tools.name(spoken_name)
        at = self._space(inside)
        if text.startswith("{", at):
            return self._arguments(name, at, start, "tags")
        args, end = read_parameters(text, at, name, self._tools)
        if self._wrapper and name not in self._tools.readers and text.find(f"</{self._wrapper}", end) < 0:
            raise FormatFailure(f"the call of {name} is cut off, and what may be half a change is never carried out")
        self._spoken.is_unescaped = True
        return self._called([(name, args)], start, end, "markup")

    def _notation(self, read: _Notation, at: int, rung: str, start: int) -> int:
        try:
            calls, end = read(self._text, at)
        except Fault as fault:
            raise FormatFailure(f"the call cannot be read: {fault}") from None
        return self._called(calls, start, end, rung)

    def _bare_keys(self, at: int, start: int) -> int:
        end = self._notation(read_bare_keys, at, "tokens", start)
        self._spoken.is_unescaped = True
        for name in self._spoken.calls[-1].args:
            self._tools.check_parameter(self._spoken.calls[-1].name, name)
        return end

    def _called(self, calls: Calls, start: int, end: int, rung: str) -> int:
        for name, args in calls:
            self._spoken.call(name, args)
        return self._taken(start, end, rung)

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
        """Reads the value that begins here, if one does. A broken one raises if it was meant for us."""
        label = _LABEL.search(self._text, max(self._past, at - LONGEST_LABEL), at)
        name = label[label.lastgroup] if label and label.lastgroup else None
        if label and name and name != "assistant":
            if label["bare"]:
                return self._bare_keys(label.start(), label.start())
            return self._arguments(name, at, label.start(), "tokens")
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

    def _arguments(self, name: str, at: int, start: int, rung: str) -> int:
        """An object of arguments alone: the tool is named by what stands before it."""
        try:
            parsed = self._parse(at, name)
        except Fault as fault:
            raise FormatFailure(f"the JSON cannot be read: {fault}") from None
        if parsed.repaired:
            self._spoken.stand_on("repair")
        return self._called([(name, parsed.value)], start, parsed.end, rung)

    def _parse(self, at: int, name: str | None = None) -> Parsed:
        """The value at `at`; the arguments of the tool `name`, where that is known already."""
        try:
            return parse_value(self._text, at)
        except Cut as cut:
            return self._completed(at, len(self._text), cut, name)
        except Fault as fault:
            if not self._text.startswith("</", fault.place):
                raise
            end = fault.place  # a closing tag where brackets should have closed
        try:
            return parse_value(self._text[:end], at)
        except Cut as cut:
            return self._completed(at, end, cut, name)

    def _completed(self, at: int, end: int, cut: Cut, name: str | None) -> Parsed:
        """A value whose closing brackets alone are missing, provided that it asks for nothing but reading."""
        if cut.closers is None:
            shorter = "the JSON is cut off: {cut}; nothing was run, send it again whole and shorter"
            raise FormatFailure(Sentence(shorter, cut=str(cut))) from None
        whole = parse_value(self._text[at:end] + cut.closers)
        looked_at = Spoken(self._tools)
        if name is None:
            looked_at.take(whole.value, tagged=True)
        else:
            looked_at.call(name, whole.value)
        if any(call.name not in self._tools.readers for call in looked_at.calls):
            raise FormatFailure("the JSON is cut off, and what may be half a change is never carried out") from None
        self._spoken.stand_on("brackets")
        return Parsed(whole.value, end, whole.repaired)
