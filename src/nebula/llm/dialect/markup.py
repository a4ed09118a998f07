"""Calls whose parameters are elements, as Qwen3-Coder, MiniMax, GLM and DeepSeek write them.

    <function=read_file><parameter=path>a.py</parameter></function>
    <invoke name="read_file"><parameter name="path">a.py</parameter></invoke>
    <tool_call>read_file<arg_key>path</arg_key><arg_value>a.py</arg_value></tool_call>

The values are not escaped, so that a value that quotes such markup cannot be told from the markup: it is refused, not
guessed at. What type a value has is in the schema of the tool alone; what may be a string is taken as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from nebula.llm.dialect.spoken import FormatFailure, KnownTools, whole_value

_DSML = r"(?:[|｜]DSML[|｜]\s*)?"
FUNCTION = rf"{_DSML}(?:function|invoke)(?:\s*=\s*|\s+name\s*=\s*)[\"']?(?P<function>[\w.:-]{{1,100}})[\"']?\s*>"
_NEXT_FUNCTION = re.compile(rf"<{_DSML}(?:function|invoke)[\s=]")
_PARAMETER = re.compile(
    rf"\s*<{_DSML}parameter(?:(?P<attribute>\s+name))?\s*=\s*[\"']?(?P<name>[\w.-]{{1,100}})[\"']?"
    r"(?:\s+string\s*=\s*[\"'](?P<string>true|false)[\"'])?\s*>"
)
_PARAMETER_END = re.compile(rf"</{_DSML}parameter>")
_FUNCTION_END = re.compile(rf"\s*</{_DSML}(?:function|invoke)>")
_PAIR = re.compile(r"\s*<arg_key>\s*(?P<name>[\w.-]{1,100})\s*</arg_key>\s*<arg_value>")
_PAIR_END = "</arg_value>"
_INNER_MARKUP = re.compile(rf"<{_DSML}parameter[\s=]|</?arg_(?:key|value)>")

CUT_OFF = "the call of {name} is cut off; nothing was run, send it again whole and shorter"


def read_parameters(text: str, at: int, name: str, tools: KnownTools) -> tuple[dict[str, Any], int]:
    """The parameters of the function opened just before `at`, and where its element ends."""
    args: dict[str, Any] = {}
    while opened := _PARAMETER.match(text, at):
        closed = _PARAMETER_END.search(text, opened.end())
        if closed is None:
            raise FormatFailure(CUT_OFF.format(name=name))
        raw = text[opened.end() : closed.start()]
        if not opened["attribute"]:
            raw = _without_layout(raw, name, opened["name"], tools)
        _add(args, name, opened["name"], raw, tools, opened["string"])
        at = closed.end()
    ended = _FUNCTION_END.match(text, at)
    if ended is None:
        is_cut = not text[at:].strip()
        raise FormatFailure(CUT_OFF.format(name=name) if is_cut else f"the parameters of {name} cannot be told apart")
    if args:
        following = _NEXT_FUNCTION.search(text, ended.end())
        _refuse_loose_end(_PARAMETER_END.search(text, ended.end(), following.start() if following else len(text)), name)
    return args, ended.end()


def read_pairs(text: str, at: int, name: str, tools: KnownTools) -> tuple[dict[str, Any], int]:
    """Keys and values in turns, to the end of the `<tool_call>` that holds them."""
    args: dict[str, Any] = {}
    while opened := _PAIR.match(text, at):
        end = text.find(_PAIR_END, opened.end())
        if end < 0:
            raise FormatFailure(CUT_OFF.format(name=name))
        _add(args, name, opened["name"], text[opened.end() : end], tools, None)
        at = end + len(_PAIR_END)
    rest = text[at : at + 200].lstrip()
    if not rest.startswith("</tool_call>"):
        raise FormatFailure(f"the parameters of {name} cannot be told apart" if rest else CUT_OFF.format(name=name))
    if args:
        following = text.find("<tool_call>", at)
        _refuse_loose_end(text.find(_PAIR_END, at, following if following >= 0 else len(text)) >= 0, name)
    return args, at


def _add(args: dict[str, Any], tool: str, name: str, raw: str, tools: KnownTools, is_string: str | None) -> None:
    tools.check_parameter(tool, name)
    if name in args:
        raise FormatFailure(f"the parameters of {tool} cannot be told apart: {name} stands twice")
    if _INNER_MARKUP.search(raw):
        raise FormatFailure(f"{name} of {tool} holds markup of calls itself; send this call as JSON")
    args[name] = _typed(raw, tool, name, tools.properties(tool).get(name) or {}, is_string)


def _without_layout(raw: str, tool: str, name: str, tools: KnownTools) -> str:
    """Without the line breaks that the template puts around a value: one before it, and then one after it."""
    if not raw.startswith("\n"):
        return raw
    inner = raw[1:]
    if inner.endswith("\n"):
        return inner[:-1]
    last = inner.rfind("\n") + 1
    if last and not inner[last:].strip():  # the closing tag is indented: then the value is, too, but how far?
        if tool not in tools.readers:
            raise FormatFailure(f"{name} of {tool} is indented, and what of it is layout cannot be told")
        return inner.strip()
    return inner


def _refuse_loose_end(loose: object, name: str) -> None:
    if loose:  # a closing tag that closes nothing: the one before it was a part of a value
        raise FormatFailure(f"a value of {name} holds markup of calls itself; send this call as JSON")


def _typed(raw: str, tool: str, name: str, schema: Mapping[str, Any], is_string: str | None) -> Any:
    if is_string == "true" or (is_string is None and _may_be_string(schema)):
        return raw
    return whole_value(raw, f"{name} of {tool}")


def _may_be_string(schema: Mapping[str, Any]) -> bool:
    types = schema.get("type")
    return types is None or "string" in (types if isinstance(types, list) else [types])
