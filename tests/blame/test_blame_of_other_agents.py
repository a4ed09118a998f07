"""Lines of other agents, as their notes and records in the repository say, are theirs and not the user's."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from blamed_project import blame, edit, git, repository, turn
from conftest import Bench

RANGE = {"start_line": 3, "end_line": 4}
AGENT = {"tool": "other-agent", "id": "conversation-1", "model": "big-model-1"}


@pytest.fixture
def committed(bench: Bench) -> Bench:
    """A commit whose third and fourth line another agent wrote."""
    repository(bench)
    bench.write("a b.py", "first line\nsecond line\nthird line, theirs\nfourth line, theirs\n")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "begin")
    return bench


def add_note(bench: Bench, note: str) -> None:
    git(bench.project, "notes", "--ref=ai", "add", "-f", "-m", note, "HEAD")


def write_note(path: str = '"a b.py"', ranges: str = "3-4", session: str = "abc", **metadata: Any) -> str:
    told = {"schema_version": "authorship/3.0.0", "prompts": {"abc": {"agent_id": AGENT}}, **metadata}
    return f"{path}\n  {session} {ranges}\n---\n{json.dumps(told)}"


def write_record(bench: Bench, **parts: Any) -> None:
    by = {"type": "ai", "model_id": "vendor/big-model-1"}
    conversations = [{"contributor": by, "ranges": [{"start_line": 3, "end_line": 4}]}]
    record = {
        "version": "0.1.0",
        "id": "550e8400-e29b-41d4-a716-446655440000",
        "timestamp": "2026-01-23T14:30:00Z",
        "vcs": {"type": "git", "revision": git(bench.project, "rev-parse", "HEAD")},
        "tool": {"name": "other-agent"},
        "files": [{"path": "a b.py", "conversations": conversations}],
        **parts,
    }
    bench.write(".agent-trace/traces.jsonl", f"no record\n[]\n{json.dumps(record)}\n")


def kinds(bench: Bench, path: str = "a b.py") -> list[str]:
    return [run["by"] for run in blame(bench, path) for _ in range(run["start_line"], run["end_line"] + 1)]


def test_a_note_names_the_agent_of_lines(committed: Bench) -> None:
    assert kinds(committed) == ["before"] * 4
    add_note(committed, write_note())
    _, theirs = blame(committed, "a b.py")
    assert theirs == {"start_line": 3, "end_line": 4, "by": "other", "model": "big-model-1", "tool": "other-agent"}


@pytest.mark.parametrize("name", ["größe.py", "日本.py", 'a "b".py'])
def test_a_note_and_a_record_hold_for_a_name_that_git_writes_otherwise(committed: Bench, name: str) -> None:
    git(committed.project, "mv", "a b.py", name)
    git(committed.project, "commit", "-q", "--amend", "-m", "begin")
    files = [{"path": name, "conversations": [{"contributor": {"type": "ai"}, "ranges": [RANGE]}]}]
    write_record(committed, files=files)
    assert kinds(committed, name) == ["before", "before", "other", "other"]
    write_record(committed, files=[])
    add_note(committed, write_note(path=f'"{name}"'))
    assert kinds(committed, name) == ["before", "before", "other", "other"]


def test_what_an_agent_calls_itself_is_one_line(committed: Bench) -> None:
    named = {"abc": {"agent_id": {"tool": "other\nagent", "id": "1", "model": "big\nmodel"}}}
    add_note(committed, write_note(prompts=named))
    _, theirs = blame(committed, "a b.py")
    assert (theirs["tool"], theirs["model"]) == ("other", "big")


def test_lines_that_came_from_two_files_of_one_commit_are_told_apart(bench: Bench) -> None:
    repository(bench)
    for name in "ab":
        bench.write(f"{name}.py", f"first line of {name}\nsecond line of {name}\n")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "begin", by="bob")
    add_note(bench, write_note(path="a.py", ranges="1"))
    bench.write("c.py", "first line of a\nfirst line of b\n")
    for name in "ab":
        bench.write(f"{name}.py", f"second line of {name}\n")
    git(bench.project, "add", "-A")
    git(bench.project, "commit", "-qm", "moved")
    assert kinds(bench, "c.py") == ["other", "before"]


def test_a_note_holds_after_a_rename_an_edit_and_a_turn(committed: Bench) -> None:
    add_note(committed, write_note())
    git(committed.project, "mv", "a b.py", "c.py")
    git(committed.project, "commit", "-qm", "renamed")
    turn(committed, "one", *edit("c.py", "of a turn", *committed.read("c.py").splitlines()))
    committed.write("c.py", committed.read("c.py").replace("fourth line, theirs", "fourth line, mine now"))
    assert kinds(committed, "c.py") == ["turn", "before", "before", "other", "you"]


def test_a_record_names_the_agent_of_lines(committed: Bench) -> None:
    write_record(committed)
    _, theirs = blame(committed, "a b.py")
    assert (theirs["by"], theirs["tool"], theirs["model"]) == ("other", "other-agent", "vendor/big-model-1")
    (record,) = [blame_as_trace(committed)]
    types = [each["contributor"]["type"] for each in record["files"][0]["conversations"]]
    assert types == ["unknown", "ai"]


def blame_as_trace(bench: Bench) -> dict[str, Any]:
    from in_process import run_here

    found: dict[str, Any] = run_here(bench, "nebula", "blame", "a b.py", "--format", "agent-trace").json
    return found


def test_a_record_of_another_revision_a_person_or_nobody_says_nothing(committed: Bench) -> None:
    write_record(committed, vcs={"type": "git", "revision": "0" * 40})
    assert kinds(committed) == ["before"] * 4
    by_hand = [{"contributor": {"type": "human"}, "ranges": [{"start_line": 3, "end_line": 4}]}]
    write_record(committed, files=[{"path": "a b.py", "conversations": by_hand}])
    assert kinds(committed) == ["before"] * 4


@pytest.mark.parametrize(
    "note",
    [
        "",
        "---",
        "no note at all",
        write_note(ranges="x-y,99999999999-1"),
        write_note(session="unknown"),
        write_note(prompts=[1]),
        write_note(prompts={"abc": {"agent_id": "x"}}),
        write_note(path='"'),
        '"a b.py"\n  abc 3-4\n---\n{',
    ],
)
def test_a_note_that_makes_no_sense_is_passed_over(committed: Bench, note: str) -> None:
    add_note(committed, note or " ")
    assert kinds(committed) == ["before"] * 4


@pytest.mark.parametrize(
    "files", [None, 3, [None], [{"path": 3, "conversations": [{"ranges": [{"start_line": "a"}]}]}]]
)
def test_a_record_that_makes_no_sense_is_passed_over(committed: Bench, files: Any) -> None:
    write_record(committed, files=files)
    assert kinds(committed) == ["before"] * 4


def test_a_note_of_our_own_names_the_turn_where_its_node_is_here(committed: Bench) -> None:
    node = turn(committed, "one", *edit("a b.py", *committed.read("a b.py").splitlines(), "of a turn"))
    git(committed.project, "commit", "-qam", "of a turn")
    own = {"abc": {"agent_id": {"tool": "nebula", "id": node, "model": "m"}}}
    add_note(committed, write_note(ranges="5", prompts=own))
    (committed.project / ".nebula/journal/changes.jsonl").unlink()
    assert blame(committed, "a b.py")[-1]["node_id"] == node


@pytest.mark.parametrize("source", ["agent-trace", "git-ai"])
def test_records_of_elsewhere_are_brought_in_once(committed: Bench, source: str, tmp_path: Path) -> None:
    if source == "git-ai":
        add_note(committed, write_note())
        git(tmp_path, "clone", "-q", str(committed.project), "elsewhere")
        git(tmp_path / "elsewhere", "fetch", "-q", "origin", "refs/notes/ai:refs/notes/ai")
        git(committed.project, "update-ref", "-d", "refs/notes/ai")
        place = tmp_path / "elsewhere"
    else:
        write_record(committed)
        place = (committed.project / ".agent-trace").rename(tmp_path / "traces")
    assert "other" not in kinds(committed)
    tried = committed.run("nebula", "import", source, str(place), "--dry-run")
    assert (tried.code, tried.out) == (0, "1 records of lines would be kept; 0 are there already\n"), tried.err
    assert "other" not in kinds(committed)
    done = [committed.run("nebula", "import", source, str(place)).out for _ in range(2)]
    assert done == [
        "1 records of lines kept; 0 were there already\n",
        "0 records of lines kept; 1 were there already\n",
    ]
    assert kinds(committed) == ["before", "before", "other", "other"]


def test_a_place_without_records_is_a_mistake(committed: Bench) -> None:
    for source in ("agent-trace", "git-ai"):
        ran = committed.run("nebula", "import", source, "/nowhere")
        assert (ran.code, "Traceback" in ran.err) == (64, False), ran.err


def test_a_record_is_read_however_its_file_is_laid_out(committed: Bench, tmp_path: Path) -> None:
    write_record(committed)
    lines = (committed.project / ".agent-trace/traces.jsonl").read_text().splitlines()
    record = json.loads(lines[2])
    (committed.project / ".agent-trace/traces.jsonl").unlink()
    (tmp_path / "one.json").write_text(json.dumps(record, indent=2))
    (tmp_path / "list.json").write_text(
        json.dumps([record | {"id": "two"}, record | {"id": "three", "vcs": None}], indent=1)
    )
    (tmp_path / "lines.json").write_text(f"{json.dumps(record)}\nno record\n")
    ran = committed.run("nebula", "import", "agent-trace", str(tmp_path))
    assert ran.out == "2 records of lines kept; 1 were there already\n"
    assert "records that name no commit, or no lines of an agent in it: 1" in ran.err
    assert "lines that cannot be understood: 1" in ran.err
    assert kinds(committed) == ["before", "before", "other", "other"]
