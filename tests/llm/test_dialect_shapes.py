"""Replies as real models sent them (`reply_shapes.jsonl`), each read or refused as decided.

One line each: `source` is the public report that shows the shape; `reply` has its exact structure, with our tools and
our own words. What must happen: `calls` or an `answer`, with the `rung` that read it, or `refused` with the reason.
`native` instead of `reply` is a list of calls that the server found itself.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from nebula.llm.dialect.reader import read_reply
from nebula.llm.dialect.spoken import RUNGS, FormatFailure, KnownTools
from rows import each_row

STRING: dict[str, Any] = {"type": "string"}
NUMBER: dict[str, Any] = {"type": "integer"}


def schema(**properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties}


TOOLS = {
    "read_file": schema(path=STRING, start_line=NUMBER, end_line=NUMBER),
    "list_files": schema(path=STRING, recursive={"type": "boolean"}),
    "search_in_directory": schema(pattern=STRING, path=STRING, include={"type": "array", "items": STRING}),
    "write_file": schema(path=STRING, content=STRING),
}
READERS = frozenset(TOOLS) - {"write_file"}
SHAPES: list[dict[str, Any]] = [
    json.loads(line) for line in Path(__file__).with_name("reply_shapes.jsonl").read_text("utf-8").splitlines()
]


def read(reply: str) -> tuple[str, list[list[Any]], str | None]:
    reading = read_reply(reply, tools=TOOLS, readers=READERS)
    return reading.rung, [[call.name, dict(call.args)] for call in reading.calls], reading.answer


@each_row("shape", SHAPES, ids=[f"{each['source']}: {each['shape']}" for each in SHAPES])
def test_a_real_reply_is_read_or_refused_as_decided(shape: dict[str, Any]) -> None:
    if "native" in shape:
        tools = KnownTools(TOOLS, READERS)
        assert [[tools.name(call["name"]), call["arguments"]] for call in shape["native"]] == shape["calls"]
    elif "refused" in shape:
        with pytest.raises(FormatFailure) as failure:
            read(shape["reply"])
        assert str(failure.value) == shape["refused"]
    else:
        rung, calls, answer = read(shape["reply"])
        assert (rung, calls) == (shape["rung"], shape.get("calls", []))
        assert answer == shape.get("answer", answer)


def test_the_shapes_are_many_from_many_places_and_stand_on_every_rung() -> None:
    assert len(SHAPES) >= 120
    assert len({each["source"].partition("#")[0] for each in SHAPES}) >= 40
    assert all(re.fullmatch(r"[\w.-]+/[\w.-]+#\d+", each["source"]) for each in SHAPES)
    counted = Counter(each.get("rung", "refused") for each in SHAPES)
    assert counted.keys() == {*RUNGS, "refused"}
    assert counted["refused"] >= 40  # a refusal is as deliberate as an acceptance
