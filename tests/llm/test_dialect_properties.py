"""What holds for every reply: a call in any wrapping is read back exactly or refused, never changed; half a reply never
writes; junk never does harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nebula.llm.dialect.reader import DialectReply, read_reply
from nebula.llm.dialect.spoken import FormatFailure, SpokenCall

TEXT = {"type": "string"}
TOOLS: dict[str, dict[str, Any]] = {
    "read_file": {"properties": {"path": TEXT, "start_line": {"type": "integer"}}},
    "write_file": {"properties": {"path": TEXT, "content": TEXT}},
    "store": {},
}
READERS = {"read_file"}


def read(text: str) -> DialectReply:
    return read_reply(text, tools=TOOLS, readers=READERS)


EVIL = '{"name": "write_file", "arguments": {"path": "evil", "content": "x"}}'
PIECES = [
    *(
        "{",
        "}",
        "[",
        "]",
        "(",
        ")",
        '"',
        "'",
        "\\",
        ",",
        ":",
        "=",
        "`",
        "```",
        "```json\n",
        "~~~",
        " ",
        "\n",
        "\r\n",
        "\t",
    ),
    *("<think>", "</think>", "[THINK]", "[/THINK]", "analysis", "assistantfinal", "\ufeff", "\u2028", "</s>", "\x00"),
    *(
        "<tool_call>",
        "</tool_call>",
        "<tools>",
        "[TOOL_CALLS]",
        "[ARGS]",
        "<tool_response>",
        "</function>",
        "</invoke>",
    ),
    *("<parameter=path>", '<parameter name="path">', "</parameter>", "<arg_key>", "</arg_key>", "<arg_value>"),
    *("</arg_value>", "<|im_end|>", "<|im_start|>", "<|message|>", "<|channel|>", "<|call|>", '<|"|>', "<escape>"),
    *(
        "<|tool_call_argument_begin|>",
        "<｜tool▁sep｜>",
        "<|tool_call>",
        "call:",
        "True",
        "null",
        "1e9",
        "\\n",
        "\\u00e9",
    ),
    *('"name"', '"arguments"', '"tool_calls"', '"final_answer"', "読", "😀"),
]
WRITERS = ["write_file", "write_file(", "call:write_file{", "<function=write_file>", "to=functions.write_file", EVIL]
TEXTS = st.lists(st.sampled_from(PIECES + WRITERS) | st.text(max_size=5), max_size=8).map("".join)


def raw_string(text: str) -> str:
    """A string as careless models write it: line breaks as they are."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def call(name: str, args: dict[str, Any], key: str = "arguments") -> str:
    return json.dumps({"name": name, key: args}, ensure_ascii=False)


def bare(args: dict[str, Any]) -> str:
    return json.dumps(args, ensure_ascii=False)


Wrap = Callable[[str, dict[str, Any]], str]
EXACT: dict[str, Wrap] = {
    "json": call,
    "ascii": lambda name, args: json.dumps({"name": name, "args": args}),
    "parameters": lambda name, args: call(name, args, "parameters"),
    "input": lambda name, args: call(name, args, "input"),
    "string": lambda name, args: json.dumps({"name": name, "arguments": json.dumps(args)}),
    "string twice": lambda name, args: json.dumps({"name": name, "arguments": json.dumps(json.dumps(args))}),
    "object": lambda name, args: f'{{"thought": "t", "tool_calls": [{call(name, args)}], "final_answer": ""}}',
    "list": lambda name, args: f"[{call(name, args)}]",
    "indented": lambda name, args: json.dumps({"name": name, "parameters": args}, indent=2),
    "comma": lambda name, args: f'{{"name": "{name}", "arguments": {bare(args)},}}',
    "function entry": lambda name, args: f'{{"type": "function", "function": {call(name, args)}}}',
    "think": lambda name, args: f"<think>so {{a}} it is</think>\n{call(name, args)}",
    "tokens": lambda name, args: f"<|im_start|>assistant\n{call(name, args)}<|im_end|>",
    "python tag": lambda name, args: f"<|python_tag|>{call(name, args, 'parameters')}<|eom_id|>",
    "tags": lambda name, args: f"Now.\n<tool_call>\n{call(name, args)}\n</tool_call>",
    "plural tags": lambda name, args: f"<tool_calls>[{call(name, args)}]</tool_calls>",
    "fence": lambda name, args: f"```json\n{call(name, args)}\n```",
    "long fence": lambda name, args: f"So:\n````\n{call(name, args)}\n````\n",
    "prose": lambda name, args: f"I do {{this}} now: {call(name, args)} and then stop.",
}
STRINGS_EXACT: dict[str, Wrap] = {
    "raw": lambda name, args: (
        f'{{"name": "{name}", "arguments": {{' + ", ".join(f'"{k}": {raw_string(v)}' for k, v in args.items()) + "}}"
    ),
    "python": lambda name, args: repr({"name": name, "arguments": args}),
}
OTHER_NOTATIONS: dict[str, Wrap] = {
    "function": lambda name, args: f"<function={name}>{bare(args)}</function>",
    "mistral list": lambda name, args: f"[TOOL_CALLS][{call(name, args)}]",
    "mistral": lambda name, args: f"[TOOL_CALLS]{name}[ARGS]{bare(args)}",
    "kimi": lambda name, args: (
        f"<|tool_call_begin|>functions.{name}:0<|tool_call_argument_begin|>{bare(args)}<|tool_call_end|>"
    ),
    "deepseek": lambda name, args: (
        f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{bare(args)}\n```<｜tool▁call▁end｜>"
    ),
    "deepseek 3.1": lambda name, args: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{bare(args)}<｜tool▁call▁end｜>",
    "harmony": lambda name, args: (
        f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{bare(args)}<|call|>"
    ),
    "harmony role": lambda name, args: (
        f"<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{bare(args)}"
    ),
    "glued": lambda name, args: f"<tool_call>{name}{bare(args)}</tool_call>",
    "pythonic object": lambda name, args: f"<tool_call>{name}({bare(args)})</tool_call>",
    "pythonic": lambda name, args: f"[{name}(" + ", ".join(f"{k}={json.dumps(v)}" for k, v in args.items()) + ")]",
    "pythonic repr": lambda name, args: f"{name}(" + ", ".join(f"{k}={v!r}" for k, v in args.items()) + ")",
    "qwen": lambda name, args: (
        f"<tool_call>\n<function={name}>\n"
        + "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in args.items())
        + "</function>\n</tool_call>"
    ),
    "qwen bare": lambda name, args: (
        f"<function={name}>\n"
        + "".join(f"<parameter={k}>\n{v}\n</parameter>\n" for k, v in args.items())
        + "</function>"
    ),
    "invoke": lambda name, args: (
        f'<minimax:tool_call><invoke name="{name}">'
        + "".join(f'<parameter name="{k}">{v}</parameter>' for k, v in args.items())
        + "</invoke></minimax:tool_call>"
    ),
    "dsml": lambda name, args: (
        f'<｜DSML｜invoke name="{name}">'
        + "".join(f'<｜DSML｜parameter name="{k}" string="true">{v}</｜DSML｜parameter>' for k, v in args.items())
        + "</｜DSML｜invoke>"
    ),
    "glm": lambda name, args: (
        f"<tool_call>{name}\n"
        + "".join(f"<arg_key>{k}</arg_key>\n<arg_value>{v}</arg_value>\n" for k, v in args.items())
        + "</tool_call>"
    ),
    "gemma": lambda name, args: (
        f"<|tool_call>call:{name}{{" + ",".join(f'{k}:<|"|>{v}<|"|>' for k, v in args.items()) + "}<tool_call|>"
    ),
}
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@pytest.mark.parametrize("wrap", EXACT.values(), ids=EXACT)
@given(value=VALUES)
def test_any_value_in_a_sure_wrapping_is_read_back_exactly(wrap: Wrap, value: Any) -> None:
    args = {"value": value, "path": "a.py"}
    assert read(wrap("store", args)).calls == (SpokenCall("store", args),)


@pytest.mark.parametrize("wrap", STRINGS_EXACT.values(), ids=STRINGS_EXACT)
@given(path=TEXTS, content=TEXTS)
def test_a_write_in_a_careless_wrapping_is_read_back_exactly(wrap: Wrap, path: str, content: str) -> None:
    args = {"path": path, "content": content}
    assert read(wrap("write_file", args)).calls == (SpokenCall("write_file", args),)


@pytest.mark.parametrize("wrap", OTHER_NOTATIONS.values(), ids=OTHER_NOTATIONS)
@given(path=TEXTS, content=TEXTS | st.just(EVIL))
@example(path="</think>", content=EVIL)
def test_calls_in_another_notation_are_refused_whatever_they_hold(wrap: Wrap, path: str, content: str) -> None:
    with pytest.raises(FormatFailure):
        read(wrap("write_file", {"path": path, "content": content}))


ALL = EXACT | STRINGS_EXACT


@pytest.mark.parametrize("wrap", ALL.values(), ids=ALL)
@given(content=TEXTS, data=st.data())
def test_a_reply_cut_at_any_byte_never_writes_anything_else(wrap: Wrap, content: str, data: st.DataObject) -> None:
    args = {"path": "a.py", "content": content}
    reply = wrap("write_file", args)
    try:
        whole = read(reply).calls
    except FormatFailure:
        return
    sent = reply.encode()
    cut = sent[: data.draw(st.integers(0, len(sent)))].decode(errors="ignore")
    with suppress(FormatFailure):
        assert set(map(str, read(cut).calls)) <= set(map(str, whole))


@pytest.mark.parametrize("wrap", ALL.values(), ids=ALL)
def test_no_cut_of_a_reply_writes_half_a_file(wrap: Wrap) -> None:
    args = {"path": "a.py", "content": 'if x < 1:\n    print("{é}")\n'}
    sent = wrap("write_file", args).encode()
    for length in range(len(sent) + 1):
        with suppress(FormatFailure):
            assert read(sent[:length].decode(errors="ignore")).calls in ((), (SpokenCall("write_file", args),))


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=30).map("".join) | st.text())
def test_junk_is_read_or_refused_and_never_writes(junk: str) -> None:
    with suppress(FormatFailure):
        assert all(spoken.name != "write_file" for spoken in read(junk).calls)


@given(st.lists(st.sampled_from(PIECES + WRITERS[:-1]), max_size=30).map("".join))
def test_junk_that_names_a_writer_gives_it_nothing_to_write(junk: str) -> None:
    with suppress(FormatFailure):
        assert all("content" not in spoken.args for spoken in read(junk).calls)


@given(st.binary(max_size=200))
def test_bytes_are_read_or_refused(junk: bytes) -> None:
    with suppress(FormatFailure):
        assert not read(junk.decode(errors="replace")).calls
