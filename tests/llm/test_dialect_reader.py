"""The ladder: what local models really send, read or refused, each knowingly."""

from __future__ import annotations

import contextlib
import json
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.llm.dialect.lenient_json import Cut, parse_value
from nebula.llm.dialect.noise import strip_noise
from nebula.llm.dialect.reader import DialectReply, read_reply
from nebula.llm.dialect.spoken import FormatFailure, SpokenCall
from rows import each_row

TOOLS: dict[str, dict[str, Any]] = {"read_file": {"properties": {"path": {}}}, "list_files": {}, "write_file": {}}
READERS = {"read_file", "list_files"}


def read(text: str) -> DialectReply:
    return read_reply(text, tools=TOOLS, readers=READERS)


READ_A = SpokenCall("read_file", {"path": "a.py"})
READ_B = SpokenCall("read_file", {"path": "b.py"})
CALL_A = '{"name": "read_file", "parameters": {"path": "a.py"}}'
CALL_B = '{"name": "read_file", "arguments": {"path": "b.py"}}'
OBJECT = f'{{"thought": "見る", "tool_calls": [{CALL_A}], "final_answer": ""}}'

CALLS = {
    # rung 3: the whole text
    OBJECT: ("json", [READ_A]),
    f"  {OBJECT}\n": ("json", [READ_A]),
    CALL_A: ("json", [READ_A]),
    f"[{CALL_A}, {CALL_B}]": ("json", [READ_A, READ_B]),
    '{"tool_calls": {"name": "read_file", "args": {"path": "a.py"}}}': ("json", [READ_A]),
    '{"tool_calls": [{"tool": "read_file", "input": {"path": "a.py"}}]}': ("json", [READ_A]),
    '{"tool_calls": [{"function": {"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}}]}': (
        "json",
        [READ_A],
    ),
    '{"tool_calls": [{"type": "function", "function": "read_file", "parameters": {"path": "a.py"}}]}': (
        "json",
        [READ_A],
    ),
    '{"name": "read_file", "arguments": "{\\"path\\": \\"a.py\\"}"}': ("json", [READ_A]),
    '{"name": "list_files"}': ("json", [SpokenCall("list_files", {})]),
    '{"name": "list_files", "arguments": ""}': ("json", [SpokenCall("list_files", {})]),
    '{"name": "list_files", "parameters": null}': ("json", [SpokenCall("list_files", {})]),
    # rung 2: thoughts and tokens
    f"<think>Should I {{use}} it?</think>\n{OBJECT}": ("stripped", [READ_A]),
    f"reading it is best.</think>{OBJECT}": ("stripped", [READ_A]),
    f"\ufeff{OBJECT}<|im_end|>": ("stripped", [READ_A]),
    f"<|im_start|>assistant\n{OBJECT}</s>": ("stripped", [READ_A]),
    # rung 4: tags
    f"<tool_call>\n{CALL_B}\n</tool_call>": ("tags", [READ_B]),
    f"<tool_call>{CALL_A}</tool_call>\n<tool_call>{CALL_B}</tool_call>": ("tags", [READ_A, READ_B]),
    f"<tool_call>\n{CALL_A}": ("tags", [READ_A]),
    f"Sure.\n<tool_call>{CALL_A}</tool_call> Done!": ("tags", [READ_A]),
    "I use <tool>it</tool> now. " + CALL_A: ("scan", [READ_A]),
    f"<think>a {CALL_B}</think> so <think>b {CALL_B}</think> {CALL_A}": ("scan", [READ_A]),
    # rung 5: fences
    f"```json\n{OBJECT}\n```": ("fence", [READ_A]),
    f"Here:\n```\n{OBJECT}\n```\nDone.": ("fence", [READ_A]),
    f"```json\n{CALL_A}\n```\nand\n```json\n{CALL_B}\n```": ("fence", [READ_A, READ_B]),
    f"```python\nd = {{'a': {{}}}}\n```\n```json\n{CALL_A}\n```": ("fence", [READ_A]),
    f"```json\n{CALL_A}{CALL_B}": ("scan", [READ_A, READ_B]),
    f"So {CALL_B}</think> or <think>{CALL_B}</think> {CALL_A}": ("scan", [READ_A]),
    f"So {CALL_B} <think>b</think> {CALL_A}": ("scan", [READ_A]),  # it may have been considered only
    # rung 6: among prose, or several in a row
    f"I will read it: {OBJECT} That is all.": ("scan", [READ_A]),
    f"{CALL_A}\n{CALL_B}": ("scan", [READ_A, READ_B]),
    f"Given {{x}} and {{}}, {CALL_A}": ("scan", [READ_A]),
    f"{OBJECT}\n<tool_response>{{}}</tool_response>\n{CALL_B}": ("scan", [READ_A]),
    # rung 7: lossless repairs
    "{'name': 'read_file', 'parameters': {'path': 'a.py'}}": ("repair", [READ_A]),
    '{"tool_calls": [{"name": "read_file", "parameters": {"path": "a.py",},},],}': ("repair", [READ_A]),
    '{"tool_calls": [{"name": "read_file", "parameters": {"path": "a\nb\tc"}}]}': (
        "repair",
        [SpokenCall("read_file", {"path": "a\nb\tc"})],
    ),
    "{'name': 'list_files', 'arguments': {'path': '.', 'recursive': True, 'x': None}}": (
        "repair",
        [SpokenCall("list_files", {"path": ".", "recursive": True, "x": None})],
    ),
    '{"name": "write_file", "parameters": {"path": "a", "content": """def f():\n    return "x"\n"""}}': (
        "repair",
        [SpokenCall("write_file", {"path": "a", "content": 'def f():\n    return "x"\n'})],
    ),
    # rung 8: closing brackets only, and nothing but reading
    OBJECT[: OBJECT.index("]")]: ("brackets", [READ_A]),
    f"<tool_call>{CALL_A[:-1]}": ("brackets", [READ_A]),
}


@each_row("text", CALLS)
def test_a_call_is_read_on_its_rung(text: str) -> None:
    rung, calls = CALLS[text]
    reading = read(text)
    assert list(reading.calls) == calls
    assert reading.rung == rung


ANSWERS = {
    '{"thought": "", "tool_calls": [], "final_answer": "できた"}': ("json", "できた"),
    '{"final_answer": "done"}': ("json", "done"),
    '{"tool_calls": null, "final_answer": {"a": 1}}': ("json", '{"a": 1}'),
    '{"thought": "x", "tool_calls": [], "final_answer": ""}': ("json", ""),
    '{"tool_calls": [], "final_answer": "done"': ("brackets", "done"),
    "```json\n{'final_answer': 'it\\'s done'}\n```": ("repair", "it's done"),
}


@each_row("text", ANSWERS)
def test_an_answer_is_read_on_its_rung(text: str) -> None:
    reading = read(text)
    assert (reading.rung, reading.answer, reading.calls) == (*ANSWERS[text], ())


def test_thought_comes_from_the_object_or_the_words_before() -> None:
    assert read(OBJECT).thought == "見る"
    assert read(f"I look first.\n<tool_call>{CALL_A}</tool_call>").thought == "I look first."


WRITE = '{"thought": "t", "tool_calls": [{"name": "write_file", "parameters": {"path": "a.py", "content": "x = 1"}}]}'

OTHER = "the calls are not written in JSON; one JSON object was asked for"
REFUSED = {
    "": "the reply is empty",
    "  \n": "the reply is empty",
    "The file was written.": "the reply is plain text; one JSON object was asked for",
    "<think>never closed, {}": "the reply holds nothing but thoughts",
    '{"thought": "hm", "tool_calls": []}': "the object has neither tool_calls nor a final_answer",
    '{"answer": 42}': "the reply is plain text; one JSON object was asked for",
    '{"name": "John", "age": 3}': "the reply is plain text; one JSON object was asked for",
    # a write that is cut off is never completed
    WRITE[:-1]: "the JSON is cut off, and what may be half a change is never carried out",
    WRITE[:-2]: "the JSON is cut off, and what may be half a change is never carried out",
    WRITE[:-4]: "the JSON is cut off, and what may be half a change is never carried out",
    WRITE[
        :-6
    ]: "the JSON is cut off: the reply is cut off inside a string at line 1, column 102; nothing was run, send it again whole and shorter",
    f"```json\n{WRITE[:-2]}": "the JSON is cut off, and what may be half a change is never carried out",
    f"<tool_call>{WRITE[32:-4]}": "the JSON is cut off, and what may be half a change is never carried out",
    f"Now I write.\n{WRITE[:-3]}": "the JSON is cut off, and what may be half a change is never carried out",
    f"{OBJECT}\n{WRITE[:-3]}": "the JSON is cut off, and what may be half a change is never carried out",
    '{"tool_calls": [{"name": "unheard_of", "parameters": {"a": "b"}': "the JSON is cut off, and what may be half a change is never carried out",
    # what may have lost something is not completed either
    '{"tool_calls": [{"name": "read_file", "parameters": {"path": "a", "start_line": 1': "the JSON is cut off: closing brackets are missing at line 1, column 82; nothing was run, send it again whole and shorter",
    '{"tool_calls": [{"name": "read_file", "parameters": {"path": "a",': "the JSON is cut off: the reply is cut off at line 1, column 66; nothing was run, send it again whole and shorter",
    '{"tool_calls": [{"name": "read_file", "parameters": {"path": tru': "the JSON is cut off: the reply is cut off at line 1, column 65; nothing was run, send it again whole and shorter",
    # never a guess at quotes and escapes
    '{"name": "write_file", "parameters": {"path": "a", "content": "print("hi")"}}': "the JSON cannot be read: expected ',' or '}', found 'h' at line 1, column 71",
    '{"name": "write_file", "parameters": {"path": "a", "content": "re.match(\'\\d+\')"}}': "the JSON cannot be read: unknown escape \\d (a backslash is written \\\\) at line 1, column 74",
    # a broken object is not searched for calls inside it
    f'{{"thought": "say "x"", "tool_calls": [{CALL_A}]}}': "the JSON cannot be read: expected ',' or '}', found 'x' at line 1, column 19",
    "{\"thought\": broken, \"content\": \"{'name': 'write_file', 'parameters': {'path': 'x', 'content': ''}}\"}": "the JSON cannot be read: expected a value, found 'b' at line 1, column 13",
    # parts that are there and make no sense
    '{"tool_calls": [{"parameters": {}}]}': "an entry of tool_calls has no name",
    '{"tool_calls": ["read_file"]}': "an entry of tool_calls has no name",
    '{"tool_calls": [{"name": "read_file", "parameters": ["a"]}]}': "the parameters of read_file must be an object",
    '{"tool_calls": [{"name": "read_file", "parameters": "{\\"path\\": \\"a"}]}': "the parameters of read_file cannot be read: the reply is cut off inside a string at line 1, column 12",
    "<tool_call>read_file a.py</tool_call>": "what follows <tool_call> cannot be read",
    f"<tool_call>{CALL_A}</tool_call><tool_call>{{'name': </tool_call>": "the JSON is cut off: a value is missing at line 1, column 97; nothing was run, send it again whole and shorter",
    f"analysis<|message|>I could use {CALL_A}": OTHER,
    f"analysis I could {CALL_A} assistantfinal{CALL_A}": OTHER,
    "<tool_call><function=write_file><parameter=path>a</parameter></function>": OTHER,
    '<tool_call>{"path": "a.py"}</tool_call>': "a <tool_call> holds no call with a name",
    '[write_file(path="a.py", content="x = 1"': OTHER,
    'write_file(path="a.py", content="x") and that is it': OTHER,
    "<tool_call>unheard_of</tool_call>": "what follows <tool_call> cannot be read",
    '{"name": "read_file", "parameters": {"type": "object", "properties": {"path": {"type": "string"}}}}': "the parameters of read_file are its schema; give their values",
    '{"name": "read_file", "parameters": {"path": "a"}, "arguments": {"path": "b"}}': "read_file is given parameters twice, and they differ",
    f"[{CALL_A}, 5]": "a list of calls holds something that is no call",
    '{"tool_calls": [{"name": "write_file", "parameters": {"path": "a", "size": '
    + "1" * 5000
    + "}}]}": "the JSON cannot be read: a number that is too large at line 1, column 76",
    '{"tool_calls": [{"name": "write_file", "parameters": {"path": "a", "size": 1e999}}]}': "the JSON cannot be read: a number that is too large at line 1, column 76",
    '{"name": "write_file", "parameters": {"path": "a", "content": "\\U00110000"}}': "the JSON cannot be read: unknown escape \\U00110000 (a backslash is written \\\\) at line 1, column 64",
    "{" * 5000: "the reply holds too many braces to be the object that was asked for",
    '{"a":'
    * 5000: "the JSON is cut off: a value is missing at line 1, column 25001; nothing was run, send it again whole and shorter",
}


@each_row("text", REFUSED)
def test_what_cannot_be_read_for_sure_is_refused_with_the_reason(text: str) -> None:
    with pytest.raises(FormatFailure) as failure:
        read(text)
    assert str(failure.value) == REFUSED[text]


JSON_VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(JSON_VALUES)
def test_json_is_read_as_json_reads_it(value: Any) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=2)):
        parsed = parse_value(text)
        assert parsed.value == value
        assert not parsed.repaired


@given(JSON_VALUES)
def test_python_literals_are_read_too(value: Any) -> None:
    assert parse_value(repr(value)).value == value


@given(st.text(), st.text(), st.data())
def test_no_write_ever_comes_out_of_a_shortened_reply(path: str, content: str, data: st.DataObject) -> None:
    whole = json.dumps(
        {"tool_calls": [{"name": "write_file", "parameters": {"path": path, "content": content}}]}, ensure_ascii=False
    )
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    with pytest.raises(FormatFailure):
        read(cut)
    assert read(whole).calls == (SpokenCall("write_file", {"path": path, "content": content}),)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read(text)
    except FormatFailure as failure:
        assert str(failure)


def test_a_cut_says_which_brackets_are_missing() -> None:
    with pytest.raises(Cut) as cut:
        parse_value('{"a": [{"b": "c"')
    assert cut.value.closers == "}]}"


PLAIN_OBJECT = '{"thought": "t", "tool_calls": [], "final_answer": "a"}'
GROWING = {
    "line breaks before the object": lambda n: "prose" + "\n" * n + PLAIN_OBJECT,
    "line breaks before a word": lambda n: PLAIN_OBJECT + "\n" * n + "x",
    "lines": lambda n: "a\n" * n + PLAIN_OBJECT,
    "think blocks": lambda n: "<think></think>" * (n // 4) + PLAIN_OBJECT,
    "late ends of thoughts": lambda n: "x</think>" * (n // 4) + PLAIN_OBJECT,
    "special tokens": lambda n: "<|im_start|>" * (n // 4) + PLAIN_OBJECT + "<|im_end|>" * (n // 4),
    "halves of tokens": lambda n: PLAIN_OBJECT + "<|a" * n,
    "fences": lambda n: "```py\nx\n```\n" * n + PLAIN_OBJECT,
    "braces": lambda n: "{" * n,
    "functions": lambda n: "<function=" * n,
    "raw line breaks in a string": lambda n: '{"final_answer": "' + "\n" * n + '"}',
    "escapes": lambda n: '{"final_answer": "' + "\\n" * n + '"}',
    "quotes in triple quotes": lambda n: '{"final_answer": """' + "'\"" * n + 'a"""}',
    "a long list": lambda n: '{"final_answer": [' + "1," * n + "1]}",
    "a list cut off": lambda n: '{"final_answer": [' + "1," * n,
    "calls": lambda n: '{"tool_calls": [' + '{"name": "read_file", "parameters": {}},' * (n // 8) + "]}",
    "arguments as a string": lambda n: '{"tool_calls": [{"name": "x", "parameters": "' + '\\"' * n + '"}]}',
    "calls in tags": lambda n: f"<tool_call>{CALL_A}</tool_call>" * (n // 100),
    "ends of thoughts": lambda n: f"{CALL_A}</think>" * (n // 100) + PLAIN_OBJECT,
    "a closing tag for brackets": lambda n: (
        '<tool_call>{"name": "read_file", "parameters": {"path": "' + "a" * n + '"</tool_call>'
    ),
    "faults at closing tags": lambda n: '{"a"</b>' * (n // 100) + PLAIN_OBJECT,
    "words": lambda n: "word " * n + PLAIN_OBJECT,
    "one word": lambda n: "w" * n + PLAIN_OBJECT,
    "a fault far away": lambda n: '{"a":[' * 90 + '"' + "x" * n + '" oops',
}


def seconds_to_read(text: str) -> float:
    """Of the processor, the best of five: what others do on this machine does not count."""
    best = float("inf")
    for _ in range(5):
        started = time.process_time()
        with contextlib.suppress(FormatFailure):
            read(text)
        best = min(best, time.process_time() - started)
    return best


@pytest.mark.slow
@pytest.mark.parametrize("grow", GROWING.values(), ids=GROWING)
def test_reading_takes_time_in_proportion_to_the_reply(grow: Callable[[int], str]) -> None:
    small, large = seconds_to_read(grow(4_000)), seconds_to_read(grow(40_000))
    assert large < 30 * small + 0.01  # ten times the text; by the square it would be a hundred


_OLD_THINK = re.compile(r"\A\s*<(think|thinking|thought|reasoning)>(.*?)(</\1>|\Z)", re.S)
_OLD_LATE_THINK = re.compile(r"\A[^{<\[`]*?</(?:think|thinking)>", re.S)
_OLD_BEFORE = re.compile(r"\A(?:\s|\ufeff|<\|[\w ]{1,40}\|>(?:assistant\b)?|<s>)+")
_OLD_AFTER = re.compile(r"(?:\s|\ufeff|<\|[\w ]{1,40}\|>|</s>)+\Z")


def stripped_the_plain_way(text: str) -> str:
    """What `strip_noise` promises, written as four patterns (and slow on long runs of white space)."""
    while True:
        shorter = _OLD_AFTER.sub("", _OLD_BEFORE.sub("", text))
        shorter = _OLD_LATE_THINK.sub("", _OLD_THINK.sub("", shorter))
        if shorter == text:
            return text
        text = shorter


PIECES = [
    "<think>",
    "</think>",
    "<thought>",
    "</thought>",
    "<|im_end|>",
    "<|",
    "|>",
    "assistant",
    "<s>",
    "</s>",
    "\ufeff",
]


@given(st.lists(st.sampled_from([*PIECES, " ", "\n", "a", "{", "}", "[", "`", "<", PLAIN_OBJECT]), max_size=12))
def test_noise_is_stripped_as_four_patterns_would(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert strip_noise(text) == stripped_the_plain_way(text)


@pytest.mark.parametrize("part", ["analysis</think>", "x</think>analysis y", "assistantfinalanalysis</think>"])
def test_thoughts_that_go_on_and_on_are_passed_over_in_linear_time(part: str) -> None:
    before = time.process_time()
    strip_noise(part * 20_000)
    assert time.process_time() - before < 10  # half a second at most; minutes where each is looked at to the end
