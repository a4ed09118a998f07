"""What a value found in a reply says."""

from __future__ import annotations

from typing import Any

import pytest

from nebula.llm.dialect.noise import strip_noise
from nebula.llm.dialect.reader import read_reply
from nebula.llm.dialect.spoken import FormatFailure, KnownTools, Spoken, SpokenCall, decoded, whole_value
from rows import each_row

TEXT = {"type": "string"}
TOOLS: dict[str, dict[str, Any]] = {
    "read": {
        "properties": {"path": TEXT, "line": {"type": "integer"}, "any": {}, "both": {"type": ["string", "null"]}}
    },
    "write": {"properties": {"path": TEXT, "content": TEXT}},
    "store": {},
    "make": {"properties": {"properties": {"type": "object"}}},
}
KNOWN = KnownTools(TOOLS, {"read"})


def call(name: str, **args: Any) -> SpokenCall:
    return SpokenCall(name, args)


# names

NAMES = {
    "read": "read", " read\n": "read", "functions.read": "read", "function.read": "read", "tools.read": "read",
    "tool.read": "read", "default_api.read": "read", "read:0": "read", "read:12": "read", "functions.read:3": "read",
    "read<|channel|>commentary": "read", "read</tool>": "read", "read.call": "read", "read<|x|>\nmore": "read",
    "other:0": "other:0", "functions.other": "functions.other", " other ": "other", "read:x": "read:x", "": "",
    f"functions.{'x' * 300}": f"functions.{'x' * 300}", f"read<|{'x' * 300}": f"read<|{'x' * 300}",
}  # fmt: skip


@each_row("name", NAMES)
def test_a_name_is_freed_of_decorations_where_that_gives_an_offered_one(name: str) -> None:
    assert KNOWN.name(name) == NAMES[name]


def test_a_long_name_that_was_offered_is_one() -> None:
    assert KnownTools({"x" * 300: {}}, ()).name("x" * 300) == "x" * 300


# values

SAYS: list[tuple[Any, list[SpokenCall], str | None, str]] = [
    ({"name": "read", "parameters": {"path": "a"}}, [call("read", path="a")], None, ""),
    ({"name": "functions.read:0", "args": {}}, [call("read")], None, ""),
    ({"name": "other", "params": {}}, [call("other")], None, ""),
    ({"name": "read"}, [call("read")], None, ""),
    ({"tool": "read", "path": "a"}, [call("read", path="a")], None, ""),
    ({"tool": "read", "odd": 1}, [call("read")], None, ""),
    ({"action": "read", "action_input": {"path": "a"}}, [call("read", path="a")], None, ""),
    ({"recipient_name": "read", "parameters": {}}, [call("read")], None, ""),
    ({"tool_name": "read", "tool_input": '{"path": "a"}'}, [call("read", path="a")], None, ""),
    ({"name": "read", "parameters": None}, [call("read")], None, ""),
    ({"name": "read", "parameters": ""}, [call("read")], None, ""),
    ({"name": "read", "parameters": {}, "arguments": {"path": "a"}}, [call("read", path="a")], None, ""),
    ({"name": "read", "parameters": {"path": "a"}, "args": {"path": "a"}}, [call("read", path="a")], None, ""),
    ({"function": {"name": "read", "arguments": {"path": "a"}}}, [call("read", path="a")], None, ""),
    ({"function": {"name": "read"}, "arguments": {"path": "a"}}, [call("read", path="a")], None, ""),
    ({"name": {"name": "read"}, "arguments": {}}, [call("read")], None, ""),
    ({"name": " ", "tool": "read"}, [call("read")], None, ""),
    ([{"name": "read"}, {"name": "store", "input": {"a": 1}}], [call("read"), call("store", a=1)], None, ""),
    ({"tool_calls": [{"name": "read"}], "final_answer": "x"}, [call("read")], "x", ""),
    ({"tool_calls": '[{"name": "read"}]'}, [call("read")], None, ""),
    ({"tool_call": {"name": "read"}}, [call("read")], None, ""),
    ({"functionCall": {"name": "read", "args": {"path": "a"}}}, [call("read", path="a")], None, ""),
    ({"function_call": {"name": "read"}}, [call("read")], None, ""),
    ({"tool_uses": [{"recipient_name": "functions.read", "parameters": {}}]}, [call("read")], None, ""),
    ({"thought": "t", "name": "read", "parameters": {}}, [call("read")], None, "t"),
    ({"thought": 5, "final_answer": ["é"]}, [], '["é"]', ""),
    ({"thought": "t", "final_answer": ""}, [], "", "t"),
    ({"final_answer": None, "thought": "t"}, [], None, "t"),
    ({"tool_calls": None, "final_answer": 0}, [], "0", ""),
    ({"action": "Final Answer", "action_input": "done"}, [], "done", ""),
    ({"action": "final answer", "action_input": 5}, [], "5", ""),
    ({"name": "make", "parameters": {"properties": {}}}, [call("make", properties={})], None, ""),
    ({"name": "store", "parameters": {"properties": {}}}, [call("store", properties={})], None, ""),
]


@each_row(("value", "calls", "answer", "thought"), SAYS)
def test_what_a_value_says(value: Any, calls: list[SpokenCall], answer: str | None, thought: str) -> None:
    spoken = Spoken(KNOWN)
    assert spoken.take(value) is True
    assert (spoken.calls, spoken.answer, spoken.thought) == (calls, answer, thought)
    assert spoken.found is (bool(calls) or "action_input" in value)


@each_row(
    "value", [5, "read", None, [], {}, {"name": "other"}, {"name": 5}, {"a": 1}, [5], [{"a": 1}, 6], {"parameters": {}}]
)
def test_a_value_that_is_none_of_ours(value: Any) -> None:
    spoken = Spoken(KNOWN)
    assert spoken.take(value) is False
    assert (spoken.calls, spoken.found, spoken.answer, spoken.thought) == ([], False, None, "")


def test_in_a_tag_a_name_alone_is_a_call() -> None:
    for value in ({"name": "other"}, [{"name": "other"}]):
        spoken = Spoken(KNOWN)
        assert spoken.take(value, tagged=True)
        assert spoken.calls == [call("other")]


def test_the_first_thought_counts() -> None:
    spoken = Spoken(KNOWN)
    for thought in ("one", "two"):
        spoken.take({"thought": thought, "final_answer": thought})
    assert (spoken.thought, spoken.answer) == ("one", "two")


def test_what_was_said_in_thoughts_is_forgotten() -> None:
    spoken = Spoken(KNOWN)
    spoken.take({"thought": "t", "tool_calls": [{"name": "read"}], "final_answer": "x"})
    spoken.forget()
    assert (spoken.thought, spoken.calls, spoken.answer, spoken.found) == ("", [], None, False)


TWICE = "read is given parameters twice, and they differ"
REFUSED: list[tuple[Any, str]] = [
    ({"name": "read", "parameters": {"path": "a"}, "args": {"path": "b"}}, TWICE),
    ({"name": "read", "parameters": {"path": "a"}, "args": {"path": "a"}, "input": {"line": 1}}, TWICE),
    ({"function": {"name": "read", "arguments": {"path": "a"}}, "arguments": {"path": "b"}}, TWICE),
    ({"tool_calls": [5]}, "an entry of tool_calls has no name"),
    ({"tool_calls": [{"parameters": {}}]}, "an entry of tool_calls has no name"),
    ({"tool_calls": "[{"}, "tool_calls cannot be read: the reply is cut off at line 1, column 3"),
    ({"name": "write", "path": "a", "odd": 1}, "the parameters of write must stand in an object of their own"),
    ({"name": "write", "odd": 1}, "the parameters of write must stand in an object of their own"),
    ({"name": "read", "path": "a", "odd": 1}, "the parameters of read must stand in an object of their own"),
    ({"name": "read", "parameters": [1]}, "the parameters of read must be an object"),
    ({"name": "read", "parameters": "5"}, "the parameters of read must be an object"),
    ({"name": "read", "parameters": "{} x"}, "the parameters of read cannot be read: something follows the JSON value"),
    ({"name": "write", "parameters": {"properties": {}}}, "the parameters of write are its schema; give their values"),
    ([{"name": "read"}, 5], "a list of calls holds something that is no call"),
]


@each_row(("value", "reason"), REFUSED)
def test_a_value_that_makes_no_sense_is_refused_with_the_reason(value: Any, reason: str) -> None:
    with pytest.raises(FormatFailure) as failure:
        Spoken(KNOWN).take(value)
    assert str(failure.value) == reason


def test_a_value_inside_strings_is_taken_out_of_a_few() -> None:
    for text, value in (('"[1]"', [1]), ('"\\"[1]\\""', [1]), ('"\\"\\\\\\"[1]\\\\\\"\\""', "[1]"), (" ", " "), (5, 5)):
        assert decoded(text, "x") == value
    assert whole_value(" {} \n", "x") == {}


# what stands around a reply

NOISE = {
    "x": "x", " x\n": "x", "\ufeff x \ufeff": "x", "<|im_start|>assistant\nx<|im_end|>": "x", "<s> x </s></s>": "x",
    "<think>a</think>x": "x", "<think>a": "", "<thinking>a</think></thinking>x": "x", "<seed:think>a</seed:think>x": "x",
    "<reasoning>a</reasoning> <thought>b</thought>x": "x", "[THINK]a[/THINK]x": "x", "[THINK]a": "", "◁think▷a◁/think▷x": "x",
    "a</think>x": "x", "a</thinking>x": "x", "a</thought>x": "a</thought>x",
    "{</think>x": "{</think>x", "x<think>a</think>": "x<think>a</think>",
    "<｜end▁of▁sentence｜>x<｜end▁of▁sentence｜>": "x", f"x<|{'a' * 40}|>": "x", f"x<|{'a' * 41}|>": f"x<|{'a' * 41}|>",
    "<|im_end|>": "", "": "",
}  # fmt: skip


@each_row("text", NOISE, ids=lambda text: text[:30])
def test_what_stands_around_a_reply_is_taken_off(text: str) -> None:
    assert strip_noise(text) == NOISE[text]


# where a thought is found

CALL = '{"name": "read", "parameters": {}}'
THOUGHTS = {
    CALL: "",
    f"I look. {CALL}": "I look.",
    f"I look.<|x|> {CALL} more": "I look.",
    f"I look. {CALL} and then {CALL}": "I look.",
    f"{CALL} and then {CALL}": "",
    f"```json\n{CALL}\n```": "",
    f"So:\n```json\n{CALL}\n```": "So:",
    f"So <tool_call>{CALL}</tool_call>": "So",
    f'So {{"thought": "t", "tool_calls": [{CALL}]}}': "t",
    f"<think>a</think>So {CALL}": "So",
    f"So <think>a</think> now {CALL}": "now",
    f"So ```py\nx\n``` now {CALL}": "now",
}


@each_row("text", THOUGHTS)
def test_words_before_the_first_call_are_its_thought(text: str) -> None:
    assert read_reply(text, tools=TOOLS, readers={"read"}).thought == THOUGHTS[text]


HALF = "the JSON is cut off, and what may be half a change is never carried out"
NEVER_RUN = {
    '<tool_call>{"name": "unheard"</tool_call>': HALF,
    '<tool_call>{"odd" 1}</tool_call>': "the JSON cannot be read: expected ':', found '1' at line 1, column 19",
}


@pytest.mark.parametrize("text", NEVER_RUN)
def test_what_is_not_sure_to_be_whole_is_never_run(text: str) -> None:
    with pytest.raises(FormatFailure) as failure:
        read_reply(text, tools=TOOLS, readers={"read"})
    assert str(failure.value) == NEVER_RUN[text]


@pytest.mark.parametrize(
    ("text", "rung"),
    [
        ('<tool_call>{"name": "read", "parameters": {"path": "a"}</tool_call>', "brackets"),
    ],
)
def test_how_far_down_a_call_was_found(text: str, rung: str) -> None:
    reading = read_reply(text, tools=TOOLS, readers={"read"})
    assert (reading.calls, reading.rung) == ((call("read", path="a"),), rung)


def test_a_tag_makes_a_call_of_a_name_alone() -> None:
    reading = read_reply('<tool_call>{"name": "unheard"}</tool_call>', tools=TOOLS, readers={"read"})
    assert (reading.calls, reading.rung) == ((call("unheard"),), "tags")
