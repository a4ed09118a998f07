"""What a command changed in control files and in the repository: asked about by name in a session."""

from __future__ import annotations

import subprocess
from collections.abc import Callable

import pytest

from conftest import Bench
from in_process import Ran, run_here, sit_down_here
from new_repository import make_repository
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person

ASK = "Go ahead? (y/N):"
COMMIT = "echo hi > new.txt; git add -A && git commit -qm second"


@pytest.fixture
def repository(bench: Bench) -> Bench:
    bench.write("a.txt", "one\n")
    make_repository(bench.project, "Hana")
    for line in ("git add a.txt", "git commit -qm first"):
        subprocess.run(line.split(), cwd=bench.project, check=True)
    return bench


def ran(bench: Bench, line: str, answers: str, *options: str) -> tuple[Ran, str]:
    """What is printed, and what the model is told at last."""
    with ScriptedModel([Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]) as server:
        printed = run_here(bench, "nebula", *options, stdin=f"do what I said\n{answers}exit\n", **server.env())
        return printed, str(server.turns[-1].json["messages"][-1])


def subjects(bench: Bench) -> list[str]:
    log = subprocess.run(["git", "log", "--format=%s"], cwd=bench.project, check=True, capture_output=True, text=True)
    return log.stdout.split()


@pytest.mark.parametrize(("answer", "log"), [("y", ["second", "first"]), ("n", ["first"])])
def test_a_commit_is_asked_about_by_what_it_does(repository: Bench, answer: str, log: list[str]) -> None:
    printed, _ = ran(repository, COMMIT, f"a\n{answer}\ny\n")
    assert "It changes the repository itself, not restorable by undo: commit on main (second), 1 file." in printed.out
    assert f"  $ {COMMIT}\n" in printed.out
    assert "a is not an answer to this question." in printed.out, "no yes for longer"
    assert subjects(repository) == log and (repository.project / "new.txt").exists()
    state = subprocess.run(["git", "fsck"], cwd=repository.project, check=True, capture_output=True, text=True)
    assert "missing" not in state.stdout + state.stderr


def meanwhile(bench: Bench, act: Callable[[], None], lang: str = "en") -> tuple[str, str]:
    """What the screen shows, and what the model is told, where something happens while a commit is asked about."""

    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("do it")
        screen.wait("second")
        screen.wait("(y/N)")
        act()
        screen.send("y")
        screen.wait("Done.")
        screen.line("/exit")

    line = "git commit -qam second"
    with ScriptedModel([Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]) as server:
        _, screen = sit_down_here(bench, person, NEBULA_LANG=lang, **server.env())
        return screen.text, str(server.turns[-1].json["messages"][-1])


def test_a_status_in_another_window_does_not_keep_a_commit_from_being_made(repository: Bench) -> None:
    index = repository.project / ".git/index"
    repository.write("a.txt", "two\n")

    def look() -> None:
        before = index.stat().st_mtime_ns
        repository.write("b.txt", "")
        subprocess.run(["git", "status"], cwd=repository.project, check=True, capture_output=True)
        subprocess.run(["git", "update-index", "--force-write-index"], cwd=repository.project, check=True)
        assert index.stat().st_mtime_ns != before

    shown, told = meanwhile(repository, look)
    assert subjects(repository) == ["second", "first"]
    assert "Left out" not in told and "left out" not in shown


@pytest.mark.parametrize(("lang", "said"), [("en", "because it changed meanwhile: commit on main"), ("ja", "その間に")])
def test_a_commit_that_no_longer_fits_is_said_to_be_left_out(repository: Bench, lang: str, said: str) -> None:
    repository.write("a.txt", "two\n")
    repository.write("b.txt", "new\n")

    def stage() -> None:
        subprocess.run(["git", "add", "b.txt"], cwd=repository.project, check=True)

    shown, told = meanwhile(repository, stage, lang)
    assert subjects(repository) == ["first"] and said in shown
    assert "Left out, because the repository changed meanwhile: commit on main (second)" in told


def test_a_stash_is_not_said_to_change_no_file(repository: Bench) -> None:
    repository.write("a.txt", "two\n")
    printed, _ = ran(repository, "git stash -q", "y\ny\n")
    assert "A command wants to do more than change files:" in printed.out and "changes no file" not in printed.out
    assert "A command wants to change 1 file:" in printed.out and repository.read("a.txt") == "one\n"
    assert "not restorable by undo: stash. A yes" in printed.out


@pytest.mark.parametrize(
    ("line", "english", "japanese"),
    [
        ("git switch -qc work", "branch work; switch to work.", "ブランチ work、work への切り替え。"),
        ("git checkout -q --detach", "switch to the commit {head}, on no branch.", "コミット {head} への切り替え"),
        ("echo 2 > a.txt && git add a.txt", "what is staged.", "ステージ内容。"),
        ("git tag v1", "tag v1.", "タグ v1。"),
        ("git tag -d old", "tag old deleted.", "タグ old の削除。"),
        ("git config a.b c", "git's settings (.git/config).", "git の設定（.git/config）。"),
        (
            f"git switch -qc work && {COMMIT}",
            "branch work; commit on work (second), 1 file; switch to work.",
            "ブランチ work、work へのコミット（second）1 ファイル、work への切り替え。",
        ),
    ],
)
def test_a_change_of_the_repository_is_called_by_its_name(
    repository: Bench, line: str, english: str, japanese: str
) -> None:
    def git(*words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=repository.project, check=True, capture_output=True, text=True
        ).stdout

    git("tag", "old")
    commit = git("rev-parse", "HEAD")[:12]
    for lang, wanted in (("en", english), ("ja", japanese)):
        script = [Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]
        with ScriptedModel(script) as server:
            printed = run_here(repository, "nebula", stdin="do it\nn\nn\nexit\n", NEBULA_LANG=lang, **server.env())
        assert wanted.format(head=commit) in printed.out


def test_the_question_counts_the_files_of_a_commit(repository: Bench) -> None:
    """Also where git has packed what went before; files that are as they were do not count."""
    made = "mkdir -p a/b c same && for each in a/b/x a/y c/z top same/1 same/2; do echo 1 > $each; done; git add -A"
    printed, _ = ran(repository, f"{made} && git commit -qm many", "y\ny\n")
    assert "commit on main (many), 6 files" in printed.out
    subprocess.run(["git", "gc", "-q"], cwd=repository.project, check=True)
    line = "echo 2 > a/b/x && git rm -rq c && chmod +x top && git add -A && git commit -qm fewer"
    printed, _ = ran(repository, line, "y\ny\n")
    assert "commit on main (fewer), 3 files" in printed.out
    subprocess.run(["git", "gc", "-q"], cwd=repository.project, check=True)
    back = "git checkout -q HEAD~1 -- . && echo 3 > top && git add -A && git commit -qm back"
    printed, _ = ran(repository, back, "y\ny\n")
    assert "commit on main (back), 3 files" in printed.out


def test_a_yes_to_all_writes_is_none_to_the_repository(repository: Bench) -> None:
    printed, told = ran(repository, COMMIT, "n\n", "--yes")
    assert printed.out.count(ASK) == 1 and subjects(repository) == ["first"]
    assert (repository.project / "new.txt").exists() and "Left out, because it changes the repository" in told


def test_a_hook_is_named_for_what_it_is(repository: Bench) -> None:
    line = "printf '#!/bin/sh\\n' > .git/hooks/pre-commit"
    printed, _ = ran(repository, line, "n\n")
    assert "These make git run programs: .git/hooks/pre-commit." in printed.out
    assert not (repository.project / ".git/hooks/pre-commit").exists()
    printed, _ = ran(repository, line, "y\n")
    assert printed.out.count(ASK) == 1 and (repository.project / ".git/hooks/pre-commit").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rm -rf .git/objects/??", "objects removed: 3"),
        (
            "echo /elsewhere > .git/objects/info/alternates",
            "objects of another repository: .git/objects/info/alternates",
        ),
    ],
)
def test_what_is_done_to_the_objects_is_said(repository: Bench, line: str, said: str) -> None:
    printed, _ = ran(repository, line, "n\n")
    assert said in printed.out and subjects(repository) == ["first"]
    printed, _ = ran(repository, line, "n\n", "--allow", ".git")
    assert said in printed.out


def test_control_files_are_asked_about_one_by_one_and_the_rest_as_ever(bench: Bench) -> None:
    line = "mkdir -p .github/workflows; echo on: > .github/workflows/ci.yml; echo Obey > AGENTS.md; echo one > a.txt"
    printed, told = ran(bench, line, "y\nn\ny\n")
    first, second, rest, *_ = printed.out.split(ASK)
    assert ".github/workflows/ci.yml may hold secrets or decides" in first and "in this session" not in first
    assert "AGENTS.md may hold secrets or decides" in second and "in this session" not in second
    assert "A command wants to change 2 files:" in rest and "AGENTS.md" in rest
    there = [(bench.project / path).exists() for path in (".github/workflows/ci.yml", "AGENTS.md", "a.txt")]
    assert there == [True, False, True]
    assert "Left out, because secret and control files need a permission by name" in told


CONTROL = "Left out, because secret and control files need a permission by name (--allow): AGENTS.md."


@pytest.mark.parametrize("output_format", ["text", "json", "stream-json"])
def test_where_nobody_is_asked_what_was_left_out_is_said_to_the_person_too(bench: Bench, output_format: str) -> None:
    call = Call("runCommand", {"command": "echo Obey > AGENTS.md; echo one > a.txt; mkfifo pipe"})
    with ScriptedModel([Turn("", [call]), Turn("Done.")]) as server:
        said = run_here(bench, "nebula", "-p", "go", "--yes", "--output-format", output_format, **server.env())
    assert bench.read("a.txt") == "one\n" and not (bench.project / "AGENTS.md").exists()
    kind = "Left out, because it is neither a file, a link nor a folder: pipe."
    first = said.err.splitlines()[0]
    assert first.startswith("nebula: ") and CONTROL in first and kind in first
    if output_format != "text":
        assert said.err == f"nebula: {said.events[-1]['remark']}\n"


@pytest.mark.parametrize("line", ["mv a.txt AGENTS.md; echo b > b.txt", "mv src .codex; echo b > b.txt"])
def test_of_a_rename_whose_new_name_is_left_out_the_old_one_stays(bench: Bench, line: str) -> None:
    bench.write("a.txt", "one\n")
    bench.write("src/deep/m.py", "x = 1\n")
    with ScriptedModel([Turn("", [Call("runCommand", {"command": line})]), Turn("Done.")]) as server:
        said = run_here(bench, "nebula", "-p", "go", "--yes", **server.env())
    assert (bench.read("a.txt"), bench.read("src/deep/m.py"), bench.read("b.txt")) == ("one\n", "x = 1\n", "b\n")
    assert "Left out, because its new name is: " in said.err and said.code == 0


def test_what_was_left_out_beside_a_commit_is_said_in_the_language_of_the_user(repository: Bench) -> None:
    call = Call("runCommand", {"command": f"{COMMIT}; echo Obey > AGENTS.md"})
    with ScriptedModel([Turn("", [call]), Turn("Done.")]) as server:
        said = run_here(repository, "nebula", "-p", "go", "--yes", NEBULA_LANG="ja", **server.env())
    assert said.code == 2 and ".git 内の変更は除かれました" in said.err and "--allow .git" in said.err
    assert "AGENTS.md" in said.err and "Left out" not in said.err


def test_where_only_control_files_changed_one_question_is_enough(bench: Bench) -> None:
    printed, _ = ran(bench, "echo Obey > AGENTS.md", "y\n")
    assert printed.out.count(ASK) == 1 and bench.read("AGENTS.md") == "Obey\n"


def test_a_secret_file_that_the_command_saw_empty_is_never_replaced(bench: Bench) -> None:
    bench.write(".env", "PASSWORD=hunter2\n")
    printed, _ = ran(bench, "echo DEBUG=1 >> .env", "y\ny\n")
    assert bench.read(".env") == "PASSWORD=hunter2\n" and ASK not in printed.out


def test_without_anybody_to_ask_they_are_left_out(repository: Bench) -> None:
    turns = [Turn("", [Call("runCommand", {"command": f"{COMMIT}; echo Obey > AGENTS.md"})]), Turn("Done.")]
    with ScriptedModel(turns) as server:
        run_here(repository, "nebula", "-p", "go", "--yes", **server.env())
    assert subjects(repository) == ["first"] and not (repository.project / "AGENTS.md").exists()
