"""What other tools and those who count get: Agent Trace records, and how many lines stayed."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

from blamed_project import edit, turn, write
from conftest import Bench
from in_process import run_here


def exported(bench: Bench, *argv: str) -> list[dict[str, Any]]:
    ran = run_here(bench, "nebula", "trace", "export", "--agent-trace", *argv)
    assert ran.code == 0, ran.err
    return [json.loads(line) for line in ran.out.splitlines()]


def test_a_record_a_turn_with_ranges_as_it_left_the_file(bench: Bench) -> None:
    bench.write("a.py", "first line\nlast line\n")
    one = turn(bench, "one", *edit("a.py", "first line", "by one", "also by one", "last line", "end"))
    turn(bench, "nothing but words")
    two = turn(bench, "two", *edit("a.py", "new first line", "first line", "by one", "last line", "end"))
    records = exported(bench)
    assert [UUID(record["id"]) for record in records] == [UUID(one), UUID(two)]
    ranges = [record["files"][0]["conversations"][0]["ranges"] for record in records]
    assert ranges[0] == [{"start_line": 2, "end_line": 3}, {"start_line": 5, "end_line": 5}]
    assert ranges[1] == [{"start_line": 1, "end_line": 1}]
    contributor = records[0]["files"][0]["conversations"][0]["contributor"]
    assert contributor["type"] == "ai" and contributor["model_id"] == "openai/gpt-4.1-nano"
    assert exported(bench, "--since", "2999-01-01") == []


def test_records_need_their_form(bench: Bench) -> None:
    assert run_here(bench, "nebula", "trace", "export").code == 64


def test_how_many_lines_of_a_model_stayed(bench: Bench) -> None:
    turn(bench, "one", write("a.py", "first line", "second line", "third line"))
    turn(bench, "two", *edit("a.py", "first line", "another line", "third line"))
    bench.write("a.py", "first line\nanother line\nmine\n")
    found = run_here(bench, "nebula", "kpi", "--json").json["surviving_lines"]
    assert found == [{"model": "gpt-4.1-nano", "written": 4, "alive": 2}]
