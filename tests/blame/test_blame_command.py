"""`nebula blame`, asked about real turns against the scripted model."""

from __future__ import annotations

import json
import os

import pytest

from blamed_project import blame, edit, git, repository, turn, who, write
from conftest import Bench
from in_process import run_here
from rows import each_row
from scripted_model import Fault, ScriptedModel, Turn
from scripted_model.planned import ollama, plan, say, step
from scripted_model.planned import write as planned_write


def test_a_turn_a_person_and_what_was_there_before(bench: Bench) -> None:
    bench.write("a.py", "first line\n")
    node = turn(bench, "add the second\nand more words", *edit("a.py", "first line", "second line"))
    bench.write("a.py", "first line\nsecond line\nthird line\n")
    before, by_turn, you = blame(bench, "a.py")
    assert before == {"start_line": 1, "end_line": 1, "by": "before"}
    assert you == {"start_line": 3, "end_line": 3, "by": "you"}
    model, at = by_turn.pop("model"), by_turn.pop("at")
    assert model and at.startswith("20")
    assert by_turn == {"start_line": 2, "end_line": 2, "by": "turn", "node_id": node, "prompt": "add the second"}


@pytest.mark.parametrize("check", ["true", "false"])
def test_verified_is_what_the_checks_passed_after(bench: Bench, check: str) -> None:
    bench.home.joinpath(".nebula").mkdir()
    bench.home.joinpath(".nebula/config.json").write_text(json.dumps({"checks": [check]}), "utf-8")
    script = (plan(step("1")), planned_write("a.py", "first line\n"), *[say("Made.")] * 9)
    with ollama(*script) as model:
        run_here(bench, "evercontext", "run", "--task", "do it", "--json", **model.env("ollama"))
    (run,) = blame(bench, "a.py")
    assert run["by"] == "turn" and run.get("verified") == (True if check == "true" else None)


def test_looking_at_a_project_writes_nothing_into_it(bench: Bench) -> None:
    bench.write("a.py", "first line\n")
    assert who(blame(bench, "a.py")) == ["before"]
    assert os.listdir(bench.project) == ["a.py"]


def test_a_file_without_lines_has_no_runs(bench: Bench) -> None:
    bench.write("a.py", "")
    assert blame(bench, "a.py") == []


def test_line_breaks_and_a_byte_order_mark_are_nobodys(bench: Bench) -> None:
    node = turn(bench, "write it", write("a.py", "first line", "second line"))
    (bench.project / "a.py").write_bytes(b"\xef\xbb\xbffirst line\r\nsecond line")
    assert who(blame(bench, "a.py")) == [node, node]


@each_row("lines", ["0,2", "2,1", "4,4", "x", "1", "1,", ",2", "-1,2", "1,2,3", ""])
def test_a_bad_range_is_a_mistake(bench: Bench, lines: str) -> None:
    bench.write("a.py", "one\ntwo\nthree\n")
    assert run_here(bench, "nebula", "blame", "a.py", f"-L{lines}" if lines else "-L=").code == 64


def test_a_range_is_cut_at_the_end(bench: Bench) -> None:
    bench.write("a.py", "one\ntwo\nthree\n")
    assert blame(bench, "a.py", "-L", "2,99") == [{"start_line": 2, "end_line": 3, "by": "before"}]


def test_what_cannot_be_asked_about(bench: Bench) -> None:
    (bench.project / "image.png").write_bytes(b"\x89PNG\0\0")
    (bench.project / "folder").mkdir()
    (bench.project / "out.py").symlink_to("/etc/hostname")
    bench.write(".env", "PASSWORD=1\n")
    codes = {
        path: run_here(bench, "nebula", "blame", path).code
        for path in ("missing.py", "image.png", "folder", "folder/", ".", "../x", "/etc/hostname", "out.py", ".env")
    }
    assert codes == {
        "missing.py": 1,
        "image.png": 1,
        **dict.fromkeys(["folder", "folder/", ".", "../x", "/etc/hostname", "out.py"], 64),
        ".env": 2,
    }


def test_older_lines_have_the_commit_and_author_of_git(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "first line\n")
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin", by="ann")
    commit = git(bench.project, "rev-parse", "HEAD")
    node = turn(bench, "more", *edit("a.py", "first line", "second line"))
    before, _ = blame(bench, "a.py")
    assert (before["by"], before["commit"], before["author"]) == ("before", commit, "Ann")
    git(bench.project, "commit", "-qam", "of the turn")
    assert who(blame(bench, "a.py")) == ["before", node]


def test_a_commit_of_somebody_else_is_not_yours(bench: Bench) -> None:
    repository(bench)
    node = turn(bench, "begin", write("a.py", "first line"))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    bench.write("a.py", "first line\nof a colleague\n")
    git(bench.project, "commit", "-qam", "theirs", by="bob")
    bench.write("a.py", "first line\nof a colleague\nof mine\n")
    git(bench.project, "commit", "-qam", "mine")
    _, theirs, mine = runs = blame(bench, "a.py")
    assert who(runs) == [node, "before", "you"]
    assert theirs["author"] == "Bob" and "commit" not in mine


def test_a_line_of_somebody_else_stays_theirs_in_other_blanks_and_in_another_place(bench: Bench) -> None:
    repository(bench)
    node = turn(bench, "begin", write("a.py", "first line"))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    bench.write("a.py", "first line\nof a colleague\nalso of hers\n")
    git(bench.project, "commit", "-qam", "theirs", by="bob")
    bench.write("a.py", "also of hers\nfirst line\n\tof a  colleague\n")
    git(bench.project, "commit", "-qam", "mine")
    assert who(blame(bench, "a.py")) == ["before", node, "before"]
    bench.write("a.py", "also of hers\nfirst line\n\tof a  colleague\nalso of hers\n")
    git(bench.project, "commit", "-qam", "copied")
    assert who(blame(bench, "a.py")) == ["before", node, "before", "you"]


def test_a_turn_without_a_node_is_yours(bench: Bench) -> None:
    node = turn(bench, "begin", write("a.py", "first line"))
    assert who(blame(bench, "a.py")) == [node]
    for file in (bench.project / ".nebula/graph/nodes").rglob("*.xml"):
        file.unlink()
    assert who(blame(bench, "a.py")) == ["you"]


def test_a_turn_that_failed_without_a_word_left_no_node(bench: Bench) -> None:
    with ScriptedModel([Turn("", [write("a.py", "first line")]), Fault.status_code(400)]) as model:
        ran = run_here(bench, "nebula", "-p", "begin", "--yes", "--output-format", "json", **model.env())
    assert ran.code == 1 and ran.json["node_id"] is None and bench.read("a.py") == "first line\n"
    assert who(blame(bench, "a.py")) == ["you"]


def test_a_repository_runs_nothing_when_it_is_asked(bench: Bench) -> None:
    repository(bench)
    bench.write("a.py", "first line\n")
    bench.write(".gitattributes", "*.py diff=evil filter=evil\n")
    bench.write("evil.sh", f"#!/bin/sh\ntouch {bench.project}/ran\ncat\n").chmod(0o755)
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    for key in ("diff.evil.textconv", "filter.evil.clean", "filter.evil.smudge", "diff.evil.command"):
        git(bench.project, "config", key, f"{bench.project}/evil.sh")
    (run,) = blame(bench, "a.py")
    assert run["author"] == "Me" and not (bench.project / "ran").exists()


def test_a_file_as_it_was_in_a_commit(bench: Bench) -> None:
    repository(bench)
    first = turn(bench, "begin", write("a.py", "first line", "second line"))
    git(bench.project, "add", "a.py")
    git(bench.project, "commit", "-qm", "begin")
    second = turn(bench, "change", *edit("a.py", "first line", "another line"))
    assert who(blame(bench, "a.py")) == [first, second]
    assert who(blame(bench, "a.py", "--rev", "HEAD")) == [first, first]
    nowhere = run_here(bench, "nebula", "blame", "a.py", "--rev", "nowhere")
    assert (nowhere.code, nowhere.err) == (64, "nebula: There is no revision nowhere here.\n")
    bench.write("b.py", "new\n")
    missing = run_here(bench, "nebula", "blame", "b.py", "--rev", "HEAD")
    assert (missing.code, missing.err) == (1, "nebula: b.py: is not in HEAD.\n")


def test_people_read_columns_and_colours_only_on_a_terminal(bench: Bench) -> None:
    bench.write("a.py", "first line\n")
    node = turn(bench, "質問です", *edit("a.py", "first line", "second line"))
    ran = run_here(bench, "nebula", "blame", "a.py", NEBULA_LANG="ja")
    first, second = ran.out.splitlines()
    assert "以前から" in first and first.endswith("1 first line")
    short = second.split()[0]
    assert node.startswith(short) and "質問です" in second and second.endswith("2 second line")
    assert "\x1b" not in ran.out


def test_agent_trace_of_a_file(bench: Bench) -> None:
    bench.write("a.py", "first line\n")
    node = turn(bench, "more", *edit("a.py", "first line", "second line"))
    bench.write("a.py", "first line\nsecond line\nthird line\n")
    record = run_here(bench, "nebula", "blame", "a.py", "--format", "agent-trace").json
    (file,) = record["files"]
    kinds = {each["contributor"]["type"]: each["ranges"] for each in file["conversations"]}
    assert kinds == {
        "unknown": [{"start_line": 1, "end_line": 1}],
        "ai": [{"start_line": 2, "end_line": 2}],
        "human": [{"start_line": 3, "end_line": 3}],
    }
    assert file["path"] == "a.py" and record["version"] == "0.1.0"
    assert any(node.replace("-", "") in each.get("url", "").replace("-", "") for each in file["conversations"])
