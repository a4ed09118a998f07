"""What git in a layer does with the files that a command sees empty, and what it leaves of them in the repository."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from nebula.files.protected_names import names_secret
from nebula.sandbox.command import run
from nebula.sandbox.contract import Command, CommandResult
from nebula.sandbox.secrets import SecretFinder

pytestmark = pytest.mark.slow
USER = ("A", "a@b")
MORE = "echo more >> a.txt; "


def git(place: Path, *args: str) -> str:
    who = ["-c", "user.name=A", "-c", "user.email=a@b", "-c", "protocol.file.allow=always"]
    return subprocess.run(["git", *who, *args], cwd=place, check=True, capture_output=True, text=True).stdout


def repository(place: Path, *init: str) -> Path:
    place.mkdir(exist_ok=True)
    git(place, "init", "-q", "-b", "main", *init)
    for name, text in {".env": "KEY=one\n", "tests/key.pem": "PEM\n", "a.txt": "a\n"}.items():
        (place / name).parent.mkdir(exist_ok=True)
        (place / name).write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-qm", "first")
    return place


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return repository(tmp_path / "project")


def ran(project: Path, line: str, disk: str | None = None) -> CommandResult:
    finder = SecretFinder(names_secret)
    return run(Command(str(project), line, secrets=finder, git_user=USER, disk=disk))


def applied(project: Path, line: str, disk: str | None = None) -> CommandResult:
    """Run a line, and put into the repository what it changed there."""
    with ran(project, line, disk) as result:
        assert result.layer is not None and not result.changes.unkept
        for change in result.changes.git_files:
            place = project / change.path
            if change.after is None:
                place.unlink()
            elif change.after.kind == "folder":
                place.mkdir(exist_ok=True)
            else:
                place.write_bytes(result.layer.read(change.path))
        return result


def committed(project: Path, name: str = ".env", rev: str = "HEAD") -> str:
    return git(project, "show", f"{rev}:{name}")


def marked(project: Path) -> Iterator[str]:
    return (line for line in git(project, "ls-files", "-v").splitlines() if not line.startswith("H "))


@pytest.mark.parametrize(
    "line",
    [
        "git add -A && git commit -qm second",
        "git commit -qam second",
        "git commit -qm second .",
        "touch .env; git add -u; git commit -qm second",
        "git add --renormalize .; git commit -qam second",
        "git checkout -qb other; git commit -qam second",
        "git stash -q; git stash pop -q; git commit -qam second",
        "git reset -q; git add -A; git commit -qm second",
    ],
)
def test_a_commit_keeps_the_secret_files_that_git_tracks(project: Path, disk: str | None, line: str) -> None:
    result = applied(project, MORE + line, disk)
    assert result.exit_code == 0, result.output
    assert git(project, "log", "-1", "--format=%s") == "second\n"
    assert (committed(project), committed(project, "tests/key.pem")) == ("KEY=one\n", "PEM\n")
    assert committed(project, "a.txt") == "a\nmore\n"
    assert not list(marked(project)) and git(project, "fsck", "--no-dangling") == ""


def test_git_is_quiet_about_them_and_the_index_stays_as_it_is(project: Path) -> None:
    before = (project / ".git/index").read_bytes()
    result = applied(project, "git status --short; git diff; git stash; git add -A; git diff --cached --stat; cat .env")
    assert result.output == "No local changes to save\n"
    assert not [each for each in result.changes.git_files if each.path == ".git/index"]
    assert (project / ".git/index").read_bytes() == before


@pytest.mark.parametrize(
    "how",
    [
        ("config", "core.splitIndex", "true"),
        ("update-index", "--split-index"),
        ("update-index", "--index-version", "4"),
        ("sparse-checkout", "set", "--no-cone", "/*"),
    ],
)
def test_in_whatever_form_the_index_is(project: Path, how: tuple[str, ...]) -> None:
    git(project, *how)
    git(project, "update-index", "--refresh")
    result = applied(project, MORE + "git add -A && git commit -qm second && git status --short")
    assert (result.exit_code, result.output) == (0, "")
    assert (committed(project), committed(project, "a.txt")) == ("KEY=one\n", "a\nmore\n")
    assert not list(marked(project)) and git(project, "fsck", "--no-dangling") == ""


def test_in_a_repository_of_the_other_digest(tmp_path: Path) -> None:
    project = repository(tmp_path / "project", "--object-format=sha256")
    applied(project, MORE + "git add -A && git commit -qm second")
    assert (committed(project), committed(project, "a.txt")) == ("KEY=one\n", "a\nmore\n")


def test_what_the_user_staged_is_committed_as_staged(project: Path) -> None:
    (project / ".env").write_text("KEY=two\n")
    git(project, "add", ".env")
    (project / ".env").write_text("KEY=three\n")
    applied(project, MORE + "git add -A && git commit -qm second")
    assert (committed(project), (project / ".env").read_text()) == ("KEY=two\n", "KEY=three\n")


def test_marks_of_the_users_own_stay(project: Path) -> None:
    git(project, "update-index", "--skip-worktree", ".env")
    git(project, "update-index", "--assume-unchanged", "a.txt")
    applied(project, "echo b > b.txt; git add -A && git commit -qm second")
    assert list(marked(project)) == ["S .env", "h a.txt"]


def test_a_file_that_the_user_deleted_is_committed_as_deleted(project: Path) -> None:
    (project / "tests/key.pem").unlink()
    applied(project, MORE + "git add -A && git commit -qm second")
    assert "key.pem" not in git(project, "ls-tree", "-r", "HEAD")


def test_git_can_be_told_to_keep_one_no_longer(project: Path) -> None:
    applied(project, "git rm -q --cached --sparse .env; echo .env > .gitignore; git add -A; git commit -qm second")
    assert (git(project, "ls-files"), (project / ".env").read_text()) == (
        ".gitignore\na.txt\ntests/key.pem\n",
        "KEY=one\n",
    )


def test_one_that_git_does_not_track_is_not_added(project: Path) -> None:
    for name in ("new.env", "a [b]!.pem", "#x.key", "é.pem"):
        (project / name).write_text("KEY\n")
    result = applied(project, MORE + "git status --short; git add -A; git commit -qm second")
    assert result.output == " M a.txt\n"
    assert git(project, "show", "--format=", "--name-only") == "a.txt\n"
    assert not [each for each in result.changes.git_files if each.path.endswith("exclude")]


def test_a_rule_that_the_command_adds_is_all_that_is_added(project: Path) -> None:
    before = (project / ".git/info/exclude").read_text()
    result = applied(project, "echo mine >> .git/info/exclude")
    assert [each.name for each in result.changes.git] == [".git/info/exclude"], "it may hide files from now on"
    assert (project / ".git/info/exclude").read_text() == before + "mine\n"


def test_in_a_work_tree_a_repository_inside_and_a_submodule(project: Path, tmp_path: Path) -> None:
    git(project, "worktree", "add", "-q", "tree", "-b", "tree")
    inside = repository(project / "inside")
    git(project, "submodule", "--quiet", "add", str(repository(tmp_path / "library")), "library")
    places = [project / "tree", inside, project / "library"]
    line = "; ".join(f"(cd {place.name}; git status --short; {MORE} git commit -qam second)" for place in places)
    assert applied(project, line).output == ""
    for place in places:
        assert (committed(place), committed(place, "a.txt")) == ("KEY=one\n", "a\nmore\n")
        assert not list(marked(place))


def test_settings_of_a_bare_repository_that_git_tracks_are_committed_as_they_are(project: Path) -> None:
    (project / "bare.git").mkdir()
    (project / "bare.git/config").write_text("[core]\n\tfsmonitor = program\n")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "bare")
    applied(project, MORE + "git add -A && git commit -qm second")
    assert "fsmonitor" in committed(project, "bare.git/config")


@pytest.mark.parametrize(
    ("line", "unkept"),
    [
        ("rm .git/index; git add -A; git commit -qm bad", (".env", "tests/key.pem")),
        ("rm .git/index; git add -A", (".env", "tests/key.pem")),
        ("GIT_INDEX_FILE=/tmp/i git add -A; GIT_INDEX_FILE=/tmp/i git commit -qm bad", (".env", "tests/key.pem")),
        ("git rm -q --cached --sparse .env; git add -f .env; git commit -qm bad", (".env",)),
        ("git update-index --no-skip-worktree .env; echo K=2 >> .env; git commit -qam bad", (".env",)),
        ("git update-index --no-skip-worktree .env; git commit -qam bad; git reset -q --soft HEAD~1", (".env",)),
        ("touch .env2; git -c core.excludesFile= add -f new.env", ("new.env",)),
        ("mv .env x.env; git add -A; git commit -qm bad", ("x.env",)),
        ("cp .env copy.env; git add copy.env", ("copy.env",)),
        (
            "rm .git/index; git add -A; git commit -qm bad; git repack -adq; git read-tree HEAD~1",
            (".env", "tests/key.pem"),
        ),
        (
            "git clone -q . /tmp/c; (cd /tmp/c; echo K=2 > .env; git commit -qam bad); "
            "git -c fetch.unpackLimit=1 fetch -q /tmp/c HEAD:refs/heads/other",
            (".env",),
        ),
    ],
)
def test_what_git_would_keep_wrongly_is_named(project: Path, line: str, unkept: tuple[str, ...]) -> None:
    (project / "new.env").write_text("KEY=new\n")
    git(project, "config", "core.excludesFile", "")
    with ran(project, MORE + line) as result:
        assert set(result.changes.unkept) - {"new.env"} == set(unkept) - {"new.env"}
        assert set(unkept) <= set(result.changes.unkept)


@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_what_was_there_before_may_be_packed(tmp_path: Path, form: str) -> None:
    project = repository(tmp_path / "project", f"--object-format={form}")
    git(project, "repack", "-adq")
    (project / ".env").write_text("KEY=two\n")
    git(project, "commit", "-qam", "two")
    with ran(project, MORE + "git add -A; git commit -qm second; git repack -adq; git prune-packed") as result:
        assert result.exit_code == 0 and not result.changes.unkept
        assert [each for each in result.changes.git_files if each.path.endswith(".idx") and each.after is not None]


def test_so_is_what_a_new_repository_would_keep(tmp_path: Path) -> None:
    (tmp_path / "project").mkdir()
    (tmp_path / "project/.env").write_text("KEY=one\n")
    with ran(tmp_path / "project", "git init -q; git add -A; git commit -qm first") as result:
        assert result.changes.unkept == (".env",)


def test_a_conflict_in_one_is_not_settled_by_the_empty_file(project: Path) -> None:
    git(project, "checkout", "-qb", "other")
    (project / ".env").write_text("KEY=two\n")
    git(project, "commit", "-qam", "two")
    git(project, "checkout", "-q", "main")
    (project / ".env").write_text("KEY=three\n")
    git(project, "commit", "-qam", "three")
    with pytest.raises(subprocess.CalledProcessError):
        git(project, "merge", "other")
    with ran(project, "git add -A; git commit -qm merged") as result:
        assert result.changes.unkept == (".env",)


def test_a_repository_that_git_cannot_be_asked_about_is_left_alone(project: Path) -> None:
    (project / ".git/index").write_bytes(b"DIRC\0\0\0\2 no index at all: .env")
    with ran(project, MORE + "rm .git/index; git add a.txt") as result:
        assert result.changes.unkept == (".env", "tests/key.pem")


def test_another_commit_of_the_file_can_be_gone_to(project: Path) -> None:
    git(project, "checkout", "-qb", "other")
    (project / ".env").write_text("KEY=two\n")
    git(project, "commit", "-qam", "two")
    git(project, "checkout", "-q", "main")
    assert "would be overwritten" in applied(project, "git checkout other").output
    assert git(project, "branch", "--show-current") == "main\n"
    applied(project, "rm .env; git checkout -q other")
    assert (git(project, "show", ":.env"), (project / ".env").read_text()) == ("KEY=two\n", "KEY=one\n")


def test_it_is_found_once_while_the_index_stays_as_it_is(project: Path) -> None:
    finder = SecretFinder(names_secret)
    root = os.path.realpath(project)
    found = finder.find(root, (".nebula",))
    one = finder.repositories.find(root, found.masked, found.names)
    assert finder.repositories.find(root, found.masked, found.names)[0] is one[0]
    git(project, "rm", "-q", "--cached", ".env")
    assert ".env" not in finder.repositories.find(root, found.masked, found.names)[0].kept


@pytest.mark.parametrize("name", ["index", "sharedindex." + "0" * 40, "info/sparse-checkout"])
def test_a_pipe_in_the_repository_is_not_waited_for(project: Path, name: str) -> None:
    git(project, "update-index", "--split-index")
    place = project / ".git" / name
    for other in (project / ".git").glob("sharedindex.*" if name.startswith("shared") else name):
        other.unlink()
        place = other
    os.mkfifo(place)
    finder = SecretFinder(names_secret)
    root = os.path.realpath(project)
    found = finder.find(root, (".nebula",))
    (view,) = finder.repositories.find(root, found.masked, found.names)
    assert not view.known


def test_no_program_of_the_repository_is_run(project: Path) -> None:
    program = project / "program"
    program.write_text("#!/bin/sh\ntouch ran\n")
    program.chmod(0o755)
    (project / ".git/hooks/post-index-change").write_text(program.read_text())
    (project / ".git/hooks/post-index-change").chmod(0o755)
    (project / ".gitattributes").write_text("* filter=x\n")
    (project / ".git/evil").write_text(
        f'[filter "x"]\nclean = {program}\nrequired = true\n[core]\nfsmonitor = {program}\n'
    )
    with (project / ".git/config").open("a") as config:
        config.write(
            f'[core]\nfsmonitor = {program}\n[filter "x"]\nclean = {program}\n[includeIf "gitdir:**"]\npath = evil\n'
        )
    with ran(project, MORE + "git add a.txt") as result:
        assert result.exit_code == 0
    assert not list(project.rglob("ran"))
