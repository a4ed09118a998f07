"""What other tools and those who count get: Agent Trace records, and how many lines stayed."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema

from blamed_project import edit, git, repository, turn, write
from conftest import Bench
from in_process import run_here
from nebula.agent.figures.surviving import count_lines, surviving_json
from nebula.graph.graph import Graph
from nebula.graph.values import FileState, Utterance
from nebula.workspace.local import open_workspace


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
    found = run_here(bench, "nebula", "kpi", "--json").json
    assert found["surviving_lines"] == [{"model": "gpt-4.1-nano", "written": 4, "alive": 2}]
    (week,) = found["surviving_lines_by_week"]
    assert week == {"week": datetime.now().strftime("%G-W%V"), "model": "gpt-4.1-nano", "written": 4, "alive": 2}
    shown = run_here(bench, "nebula", "kpi").out
    assert re.search(r"week +lines written +still there\n +\d{4}-W\d\d +4 +2\n", shown)


def test_lines_are_told_apart_by_week_and_model(tmp_path: Path) -> None:
    with Graph(tmp_path / ".nebula/graph") as graph, open_workspace(str(tmp_path)) as files:
        for number, (model, day) in enumerate([("one", "01-05"), ("one", "01-12"), ("two", "01-13")]):
            wrote = FileState(f"{number}.py", "", "x", f"1:{'a' * 8}{'b' * 8}")
            node = graph.add_turn(
                texts=[Utterance("user", "x")], model=model, timestamp=f"2026-{day}T09:00:00+00:00", files=[wrote]
            )
            files.for_turn(node.id).write_file(f"{number}.py", "first line\nsecond line\n", "create")
    (tmp_path / "2.py").write_text("first line\nmine\n")
    assert surviving_json(count_lines([str(tmp_path)]))["surviving_lines_by_week"] == [
        {"week": "2026-W02", "model": "one", "written": 2, "alive": 2},
        {"week": "2026-W03", "model": "one", "written": 2, "alive": 2},
        {"week": "2026-W03", "model": "two", "written": 2, "alive": 1},
    ]


TEXT = {"type": "string"}
URI = {"type": "string", "format": "uri"}
LINE = {"type": "integer", "minimum": 1}


def form(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "required": required.split(), "properties": properties}


def several(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


BY = form(
    "type",
    type={"type": "string", "enum": ["human", "ai", "mixed", "unknown"]},
    model_id={"type": "string", "maxLength": 250},
)
RANGE = form("start_line end_line", start_line=LINE, end_line=LINE, content_hash=TEXT, contributor=BY)
CONVERSATION = form(
    "ranges", url=URI, contributor=BY, ranges=several(RANGE), related=several(form("type url", type=TEXT, url=URI))
)
RECORD = {"$schema": "https://json-schema.org/draft/2020-12/schema"} | form(
    "version id timestamp files",
    version={"type": "string", "pattern": "^[0-9]+\\.[0-9]+\\.[0-9]+$"},
    id={"type": "string", "format": "uuid"},
    timestamp={"type": "string", "format": "date-time"},
    vcs=form("type revision", type={"type": "string", "enum": ["git", "jj", "hg", "svn"]}, revision=TEXT),
    tool=form("", name=TEXT, version=TEXT),
    files=several(form("path conversations", path=TEXT, conversations=several(CONVERSATION))),
    metadata={"type": "object"},
)
"""The schema in the specification of Agent Trace (by Cursor, CC BY 4.0), field by field, without its descriptions."""


def closed(schema: Any) -> Any:
    """Return the same schema for what has those fields and no others."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: closed(each) for name, each in schema.items()}
    return inner | ({"additionalProperties": False} if "properties" in schema else {})


def is_moment(text: object) -> bool:
    """As the reference implementation reads it: RFC 3339, in UTC, said by a Z."""
    return isinstance(text, str) and text.endswith("Z") and datetime.fromisoformat(text).tzinfo is not None


def is_address(text: object) -> bool:
    return isinstance(text, str) and re.fullmatch(r"[a-z][a-z0-9+.-]*:[^\s<>\"]+", text) is not None


def test_records_keep_to_the_published_form(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "first line\n")
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    turn(bench, "one", *edit("a.py", "first line", "by one"), write("sub/b.py", "of another file"))
    bench.write("a.py", "first line\nby one\nby hand\n")
    told = run_here(bench, "nebula", "blame", "a.py", "--format", "agent-trace").json
    formats = jsonschema.FormatChecker()
    formats.checks("date-time", ValueError)(is_moment)
    formats.checks("uri")(is_address)
    check = jsonschema.Draft202012Validator(closed(RECORD), format_checker=formats)
    for record in [*exported(bench), told]:
        check.validate(record)
        assert set(record["tool"]) == {"name", "version"}  # the reference implementation wants both
    for wrong in ({"timestamp": "2026-01-01T10:00:00+09:00"}, {"id": "7"}, {"version": "0.1"}, {"by": "nebula"}):
        assert not check.is_valid(told | wrong)
    assert not check.is_valid(told | {"files": [{"path": "a", "conversations": [{"url": "7", "ranges": []}]}]})
    assert {each["contributor"]["type"] for each in told["files"][0]["conversations"]} == {
        "ai",
        "human",
        "unknown",
    }


def test_a_record_of_a_file_names_the_commit_that_has_these_lines(bench: Bench) -> None:
    repository(bench)
    turn(bench, "one", write("a.py", "by one", "also by one"))

    def revision(*argv: str) -> str | None:
        told = run_here(bench, "nebula", "blame", "a.py", "--format", "agent-trace", *argv).json
        found: str | None = told.get("vcs", {}).get("revision")
        return found

    assert revision() is None
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "one")
    commit = git(bench.project, "rev-parse", "HEAD")
    assert revision() == commit
    bench.write("a.py", "by hand\nby one\nalso by one\n")
    assert revision() is None and revision("--rev", "HEAD") == commit
