"""`whyLines` and `/why`: the prompts behind lines, for the model and for people."""

from __future__ import annotations

import json
import time

import pytest

from blamed_project import edit, git, repository, turn, write
from conftest import Bench
from in_process import run_here, sit_down_here
from nebula.blame.runs import LineRun
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person


def ask_why(bench: Bench, *argv: str, **args: object) -> dict[str, object]:
    """Let a turn call whyLines; what it was answered."""
    with ScriptedModel([Turn("Looking.", [Call("whyLines", dict(args))]), Turn("I see.")]) as model:
        ran = run_here(bench, "nebula", "-p", "why?", *argv, "--output-format", "stream-json", **model.env())
    assert ran.code == 0, ran.err
    (result,) = [each for each in ran.events if each["type"] == "tool_result"]
    found: dict[str, object] = json.loads(json.dumps(result["result"]))
    return found


def answered(result: dict[str, object]) -> str:
    return json.dumps(result, ensure_ascii=False)


def test_the_model_learns_the_prompts_behind_lines_newest_first(bench: Bench) -> None:
    bench.write("a.py", "line of before\n")
    one = turn(bench, "please add one", *edit("a.py", "line of before", "line of one"))
    two = turn(bench, "please add two", *edit("a.py", "line of before", "line of one", "line of two"))
    for mode in ("plan", "agent"):
        said = answered(ask_why(bench, "--mode", mode, path="a.py", start_line=1, end_line=99))
        assert said.index(two) < said.index(one) < said.index("before")
        assert "please add two" in said and "Done." in said
    said = answered(ask_why(bench, path="a.py", start_line=2, end_line=2))
    assert one in said and two not in said


def test_what_cannot_be_explained_is_said(bench: Bench) -> None:
    bench.write("a.py", "only line\n")
    bench.write(".env", "KEY=1\n")
    assert "there is no such file" in answered(ask_why(bench, path="b.py", start_line=1, end_line=1))
    assert "has 1 lines" in answered(ask_why(bench, path="a.py", start_line=2, end_line=3))
    assert "secrets" in answered(ask_why(bench, path=".env", start_line=1, end_line=1))


def test_a_person_asks_why_in_a_session(bench: Bench) -> None:
    turn(bench, "please\nadd one", write("a.py", "line of one", "another of one"), answer="Done:\n\n- a\n- b")

    def person(person: Person) -> None:
        person.prompt()
        person.line("/why a.py:2")
        person.wait("please add one")
        person.wait("- a - b")
        person.line("/why b.py")
        person.wait("there is no such file")
        person.line("/exit")

    with ScriptedModel([]) as model:
        code, seen = sit_down_here(bench, person, **model.env())
    assert code == 0 and "␊" not in seen.text, seen


def test_lines_of_two_commits_and_two_agents_are_told_apart(bench: Bench) -> None:
    repository(bench)
    for number, line in enumerate(["older line", "newer line", "line of codex", "line of cursor"]):
        bench.write("a.py", (bench.read("a.py") if number else "") + f"{line}\n")
        git(bench.project, "add", "a.py")
        git(bench.project, "commit", "-qm", line, at=f"2026-01-0{number + 1}T23:30:00Z")
    records = [
        {
            "tool": {"name": tool},
            "vcs": {"type": "git", "revision": git(bench.project, "rev-parse", revision)},
            "files": [
                {
                    "path": "a.py",
                    "conversations": [
                        {"contributor": {"type": "ai"}, "ranges": [{"start_line": line, "end_line": line}]}
                    ],
                }
            ],
        }
        for tool, revision, line in (("codex", "HEAD~1", 3), ("cursor", "HEAD", 4))
    ]
    bench.write(".agent-trace/traces.jsonl", "".join(json.dumps(each) + "\n" for each in records))

    def person(person: Person) -> None:
        person.prompt()
        person.line("/why a.py")
        for commit, where in (("HEAD~3", "line 1"), ("HEAD~2", "line 2")):
            person.wait(f"Me  {git(bench.project, 'rev-parse', commit)[:8]}  {where}")
        person.wait("codex    line 3")
        person.wait("cursor    line 4")
        person.line("/exit")

    with ScriptedModel([]) as model:
        code, seen = sit_down_here(bench, person, **model.env())
    assert code == 0, seen


def test_times_are_told_by_the_clock_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        assert LineRun(1, 1, "you", at="2026-01-01T23:30:00+00:00").tell_time("%m-%d %H:%M") == "01-02 08:30"
        assert LineRun(1, 1, "you", at="some day").tell_time("%m-%d") == LineRun(1, 1, "you").tell_time("%m-%d") == ""
    finally:
        monkeypatch.undo()
        time.tzset()
