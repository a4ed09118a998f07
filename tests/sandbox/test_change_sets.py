"""The change set is exactly the difference between the project and what the command left."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import sandbox_rig
from nebula.sandbox.command import run
from nebula.sandbox.contract import Command, CommandResult, Entry, LayerChange
from nebula.sandbox.secrets import SecretFinder
from sandbox_rig import apply, tree

OPERATIONS = Path(sandbox_rig.__file__).parent / "do_operations.py"
PLACES = ["a", "b", "a/x", "a/y", "a/x/deep", "d", "d/e", "d/e/f", "d/e/g", "été\n", "bytes-\udcff", "-rf"]
CONTENTS = ["", "one\n", "two\n", "x" * 5000]

places = st.sampled_from(PLACES)
modes = st.sampled_from([0o600, 0o644, 0o755, 0o444, 0o000, 0o4755])
operation = st.one_of(
    st.tuples(st.just("write"), places, st.sampled_from(CONTENTS)),
    st.tuples(st.just("append"), places, st.sampled_from(CONTENTS)),
    st.tuples(st.just("touch"), places),
    st.tuples(st.just("folder"), places),
    st.tuples(st.just("remove"), places),
    st.tuples(st.just("move"), places, places),
    st.tuples(st.just("copy"), places, places),
    st.tuples(st.just("mode"), places, modes),
    st.tuples(st.just("link"), places, st.sampled_from(["a", "/etc/passwd", "../..", "nowhere"])),
    st.tuples(st.just("hard link"), places, places),
)


def do(operations: list[tuple[object, ...]], folder: Path) -> None:
    program = ["/usr/bin/python3", str(OPERATIONS), json.dumps(operations)]
    subprocess.run(program, cwd=folder, check=True)


@pytest.mark.slow
@given(before=st.lists(operation, max_size=12), inside=st.lists(operation, min_size=1, max_size=12))
@example(before=[("folder", "d"), ("write", "d/e", "one\n")], inside=[("remove", "d"), ("folder", "d")])
@example(before=[("write", "d/e/f", "one\n")], inside=[("remove", "d"), ("folder", "d/e"), ("write", "d/e/g", "")])
@example(before=[("write", "d/e", "")], inside=[("remove", "d"), ("write", "d", "")])
@example(before=[("write", "d", "")], inside=[("remove", "d"), ("write", "d/e", "")])
@example(before=[("write", "a", "one\n")], inside=[("touch", "a"), ("mode", "a", 0o644)])
@example(before=[("write", "d/e/f", "one\n")], inside=[("mode", "d/e/f", 0), ("mode", "d/e", 0), ("mode", "d", 0)])
def test_a_change_set_applied_to_a_copy_gives_what_the_command_left(
    disk: str | None, before: list[tuple[object, ...]], inside: list[tuple[object, ...]]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(os.path.realpath(name))
        project, copy = folder / "project", folder / "copy"
        project.mkdir()
        shutil.copy(OPERATIONS, folder / "program.py")
        do(before, project)
        was = tree(project)
        shutil.copytree(project, copy, symlinks=True)
        assert tree(copy) == was
        line = f"/usr/bin/python3 {folder}/program.py '{json.dumps(inside)}'"
        with run(Command(str(project), line, read_only=(str(folder / "program.py"),), disk=disk)) as done:
            assert (done.exit_code, done.output) == (0, "")
            left = tree(f"/proc/self/fd/{done.layer.view}")  # type: ignore[union-attr]
            apply(done.changes, done.layer, copy)  # type: ignore[arg-type]
            proposed = tree(copy)
            assert proposed == without_special_bits(left, was)
            assert done.changes.paths == () or proposed != was
            assert tree(project) == was
            assert done.layer.conflicts(done.changes.changes) == []  # type: ignore[union-attr]


def without_special_bits(
    left: dict[str, tuple[object, ...]], was: dict[str, tuple[object, ...]]
) -> dict[str, tuple[object, ...]]:
    """Set-user-ID bits are never proposed; one that was there before stays."""
    plain = {}
    for path, (kind, *rest) in left.items():
        if kind != "link" and isinstance(rest[0], int):
            old = was.get(path, (None,))
            kept = old[1] if old[0] == kind and isinstance(old[1], int) else 0
            rest[0] &= 0o777 | kept
        plain[path] = (kind, *rest)
    return plain


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    files = {
        "src/app.py": "def main():\n    print( 'hello' )\n",
        "src/util.py": "x=1\n",
        "README.md": "# project\n",
        ".gitignore": "node_modules/\n*.log\n",
    }
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(content)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "first")
    return folder


IDENTITY = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@a", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@a"}


def git(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": "/nowhere", "GIT_CONFIG_NOSYSTEM": "1", **IDENTITY}
    subprocess.run(["git", *words], cwd=folder, check=True, env=env)


After = Callable[[str], CommandResult]


@pytest.fixture
def after(project: Path, disk: str | None) -> After:
    """What a command left, and the project as it was."""

    def ran(line: str) -> CommandResult:
        was = tree(project)
        done = run(Command(str(project), line, git_user=("a", "a@a"), disk=disk))
        assert tree(project) == was
        return done

    return ran


def kinds(done: CommandResult) -> dict[str, str]:
    return {change.path: change.kind for change in done.changes.changes}


def test_nothing_changed(after: After) -> None:
    with after("touch src/app.py; chmod 644 README.md; mkdir t; rmdir t; : >> src/util.py") as done:
        assert (done.changes.changes, done.changes.git) == ((), ())


def test_a_status_refreshes_the_index_and_that_is_no_change(project: Path, after: After) -> None:
    os.utime(project / "README.md", (1, 1))
    with after("git status --short; stat -c %s .git/index") as done:
        assert done.exit_code == 0
        assert (done.changes.git, done.changes.git_files) == ((), ())


def test_a_status_is_no_change_in_a_repository_of_sha256_either(project: Path, after: After) -> None:
    shutil.rmtree(project / ".git")
    git(project, "init", "-q", "-b", "main", "--object-format=sha256")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "first")
    os.utime(project / "README.md", (1, 1))
    with after("git status --short") as done:
        assert (done.exit_code, done.changes.git, done.changes.git_files) == (0, (), ())


def test_git_reset_hard(project: Path, after: After) -> None:
    (project / "README.md").write_text("# edited by the user\n")
    (project / "src/util.py").unlink()
    with after("git reset --hard -q") as done:
        assert kinds(done) == {"README.md": "changed", "src/util.py": "created"}
        assert done.layer is not None and done.layer.read("README.md") == b"# project\n"
        assert [each.kind for each in done.changes.git] == []


def test_git_clean(project: Path, after: After) -> None:
    (project / "notes.txt").write_text("mine\n")
    (project / "debug.log").write_text("log\n")
    (project / "node_modules/left").mkdir(parents=True)
    (project / "node_modules/left/index.js").write_text("js\n")
    with after("git clean -fdxq") as done:
        gone = ("debug.log", "node_modules", "node_modules/left", "node_modules/left/index.js", "notes.txt")
        assert kinds(done) == dict.fromkeys(gone, "deleted")


def test_everything_deleted(after: After) -> None:
    with after("rm -rf ./* .git .gitignore") as done:
        expected = {".gitignore", "README.md", "src", "src/app.py", "src/util.py"}
        assert kinds(done) == dict.fromkeys(expected, "deleted")
        assert [(each.kind, each.name, each.after) for each in done.changes.git] == [("repository", ".git", None)]
    with after('rm -rf "$PWD"; ls -A') as done:
        assert kinds(done) == dict.fromkeys(expected, "deleted")


def test_a_formatter(after: After) -> None:
    line = "for f in src/*.py; do sed 's/( /(/; s/ )/)/; s/=/ = /' $f > t && cat t > $f; done; rm t"
    with after(line) as done:
        assert kinds(done) == {"src/app.py": "changed", "src/util.py": "changed"}
        (app, _) = done.changes.changes
        assert app.before is not None and app.after is not None
        assert app.before.digest != app.after.digest


def test_a_rename_refactoring(after: After) -> None:
    with after("mkdir lib; git mv src/app.py lib/app.py; git mv src/util.py lib/helpers.py") as done:
        renames = {change.path: change.renamed_from for change in done.changes.changes if change.renamed_from}
        assert renames == {"lib/app.py": "src/app.py", "lib/helpers.py": "src/util.py"}
        assert kinds(done) | {"src/app.py": "deleted", "src/util.py": "deleted"} == kinds(done)
        assert [each.kind for each in done.changes.git] == ["index"]


def test_moving_a_folder(after: After) -> None:
    with after("mv src source && ls source") as done:
        assert done.output == "app.py\nutil.py\n"
        assert {change.path: change.renamed_from for change in done.changes.changes if change.renamed_from} == {
            "source/app.py": "src/app.py",
            "source/util.py": "src/util.py",
        }


@pytest.mark.slow
def test_ten_thousand_files_are_read_back(after: After) -> None:
    line = "mkdir node_modules && cd node_modules && for i in $(seq 100); do mkdir p$i; cd p$i; touch f{1..99}; echo hi > x; cd ..; done"
    with after(line) as done:
        made = [change.after for change in done.changes.changes if change.after is not None]
        assert (len(made), sum(each.size for each in made)) == (10101, 300)


def test_a_commit(after: After) -> None:
    with after("echo more >> README.md && git commit -qam 'Say more' && git rev-parse HEAD HEAD~1") as done:
        new, old = done.output.split()
        index, *rest = sorted(done.changes.git, key=lambda each: each.kind != "index")
        (commit,) = rest
        assert (index.kind, commit.kind, commit.name, commit.subject) == ("index", "commit", "main", "Say more")
        assert (commit.before, commit.after) == (old, new)


@pytest.mark.parametrize(
    ("line", "meaning"),
    [
        ("git branch other", [("branch", "other")]),
        ("git switch -qc other", [("branch", "other"), ("head", "HEAD")]),
        (
            "git switch -qc other; echo 1 > new; git add new; git commit -qm one; git commit -q --allow-empty -m two",
            [("branch", "other"), ("commit", "other"), ("head", "HEAD"), ("index", ".git/index")],
        ),
        ("git commit -q --allow-empty -m x; git commit -q --allow-empty -m y", [("commit", "main")]),
        ("git commit -q --amend -m x", [("branch", "main")]),
        (
            "git switch -q --orphan new; git commit -q --allow-empty -m x",
            [("commit", "new"), ("head", "HEAD"), ("index", ".git/index")],
        ),
        ("git tag v1", [("tag", "v1")]),
        ("echo x >> README.md; git stash -q", [("stash", "stash")]),
        ("git config core.fsmonitor /bin/false", [("config", ".git/config")]),
        ("echo '#!/bin/sh' > .git/hooks/pre-commit", [("hook", ".git/hooks/pre-commit")]),
        ("git add -A; git write-tree", []),
        ("git pack-refs --all", []),
        ("git branch -m trunk; git gc -q", [("branch", "main"), ("branch", "trunk"), ("head", "HEAD")]),
        ("git init -q sub", [("repository", "sub/.git")]),
        ("echo x > new; git add new", [("index", ".git/index")]),
        ("git update-index --assume-unchanged README.md", [("index", ".git/index")]),
        (
            "rm -rf .git; git init -q -b main",
            [("branch", "main"), ("index", ".git/index")],
        ),
    ],
)
def test_what_changes_of_git_mean(after: After, line: str, meaning: list[tuple[str, str]]) -> None:
    with after(line) as done:
        assert done.exit_code == 0, done.output
        found = [(each.kind, each.name) for each in done.changes.git]
        assert found == meaning


def test_binary_files_have_size_and_digest(after: After) -> None:
    with after("head -c 100000 /dev/zero > image") as done:
        (change,) = done.changes.changes
        digest = "dc1c39cb50ec93a01b6f8dbb8d4a3e2d2bd2b2f8f6bf5d1ef1d3b1f33d7bcd35"
        assert change.after is not None
        assert (change.after.size, len(change.after.digest or "")) == (100000, len(digest))


def test_links_and_odd_things(after: After) -> None:
    line = "ln -s /etc/passwd l; ln -sf nowhere README.md; mkfifo f; python3 -c \"import socket; socket.socket(socket.AF_UNIX).bind('s')\"; cp src/app.py tool; chmod 4755 tool"
    with after(line) as done:
        assert kinds(done) == {"README.md": "link", "l": "created", "tool": "created"}
        assert {each.path: each.what for each in done.changes.refused} == {
            "f": "fifo",
            "s": "socket",
            "tool": "set-user-ID",
        }
        by_path = {change.path: change for change in done.changes.changes}
        assert by_path["l"] == LayerChange("l", "created", None, Entry("link", 0o777, 11, target="/etc/passwd"))
        assert by_path["tool"].after is not None and by_path["tool"].after.mode == 0o755


def test_an_edit_by_the_user_meanwhile_is_a_conflict(project: Path, disk: str | None) -> None:
    def edit(chunk: bytes) -> None:
        (project / "README.md").write_text("# the user was here\n")
        (project / "both.txt").write_text("user\n")

    line = "echo command > README.md; echo command > both.txt; echo command > mine.txt; echo go; sleep 0.2"
    with run(Command(str(project), line, disk=disk), on_output=edit) as done:
        assert {change.path: change.conflict for change in done.changes.changes} == {
            "README.md": True,
            "both.txt": True,
            "mine.txt": False,
        }
        (project / "mine.txt").write_text("and later, too\n")
        assert done.layer is not None
        assert done.layer.conflicts(done.changes.changes) == ["README.md", "both.txt", "mine.txt"]
    assert (project / "README.md").read_text("utf-8") == "# the user was here\n"


@pytest.mark.parametrize("early", [True, False])
def test_what_the_user_removes_or_renames_meanwhile_is_a_conflict(project: Path, disk: str | None, early: bool) -> None:
    (project / "lib").mkdir()
    (project / "lib/a.py").write_text("a\n")
    (project / "kept.txt").write_text("kept\n")

    def remove(chunk: bytes) -> None:
        (project / "README.md").unlink(missing_ok=True)
        if (project / "lib").exists():
            (project / "lib").rename(project / "renamed")
            (project / "src/util.py").rename(project / "src/tools.py")

    work = "echo 2 > README.md; echo 2 > lib/a.py; echo 2 > t; mv t src/util.py; echo 2 > src/new.py; rm kept.txt; mkdir kept.txt"
    line = f"{work}; echo go; sleep 0.3" if early else f"echo go; sleep 0.3; {work}"
    with run(Command(str(project), line, disk=disk), on_output=remove) as done:
        conflicts = {change.path for change in done.changes.changes if change.conflict}
        others = {change.path for change in done.changes.changes} - conflicts
    assert {"README.md", "src/util.py"} <= conflicts <= {"README.md", "src/util.py", "lib", "lib/a.py"}
    assert others == {"src/new.py", "kept.txt"}
    assert ("lib/a.py" in conflicts) or not early  # after the rename, the command found no such folder


def test_secrets_read_as_empty_and_deleting_one_is_known(project: Path, disk: str | None) -> None:
    (project / ".env").write_text("KEY=canary\n")
    (project / "deploy").mkdir()
    (project / "deploy/prod.pem").write_text("canary\n")
    (project / "keys").mkdir()
    (project / "keys/one").write_text("canary\n")
    (project / ".nebula").mkdir()
    (project / ".nebula/log.txt").write_text("canary\n")
    finder = SecretFinder(lambda path: path.endswith((".env", ".pem")) or path == "keys")

    def outcome(line: str) -> CommandResult:
        return run(Command(str(project), line, secrets=finder, disk=disk))

    with outcome("grep -r canary . ; cat .env deploy/prod.pem; ls -A keys .nebula; ls -A") as done:
        assert "canary" not in done.output and ".env" in done.output and ".nebula\n" not in done.output
        assert done.changes.changes == ()
    with outcome(
        "rm -rf .env deploy; sed -i s/a/b/ keys/* 2>/dev/null; mkdir .nebula; echo x > .nebula/config.json"
    ) as done:
        secret = {change.path: change.secret for change in done.changes.changes}
        assert secret == {".env": True, "deploy": False, "deploy/prod.pem": True}
        assert [(each.path, each.what) for each in done.changes.refused] == [(".nebula", "hidden")]
    with outcome("echo NEW=1 > .env; echo two > keys/two; echo three > keys/one") as done:
        assert {change.path: (change.kind, change.secret) for change in done.changes.changes} == {
            ".env": ("changed", True),
            "keys/one": ("changed", True),
            "keys/two": ("created", True),
        }


def test_passwords_in_the_repository_settings_are_not_shown(project: Path, after: After) -> None:
    git(project, "remote", "add", "origin", "https://user:canary@example.com/x.git")
    git(project, "config", "http.https://example.com/.extraheader", "AUTHORIZATION: basic canary")
    with after("cat .git/config; git remote -v; git status --short") as done:
        assert "canary" not in done.output and "https://example.com/x.git" in done.output
        assert done.changes.git == () and done.changes.git_files == ()


PLANTED_PROGRAMS = {
    "fsmonitor": "[core]\n\tfsmonitor = {}\n",
    "on the line of its section": "[core] FsMonitor = {}\n",
    "over two lines": "[core]\n\tfsmonitor = \\\n{}\n",
    "hooks": "[core]\n\thooksPath = planted\n",
    "another file": "[include]\n\tpath = ../more.cfg\n",
    "a text converter": '[diff "trap"]\n\ttextconv = {}\n',
    "a diff program": "[diff]\n\texternal = {}\n",
    "a filter": '[filter "trap"]\n\tclean = {}\n\tprocess = {}\n',
    "an alias": "[alias]\n\tst = !{}\n",
}


@pytest.mark.parametrize("kind", PLANTED_PROGRAMS)
def test_a_program_in_the_repository_settings_is_not_run(project: Path, after: After, kind: str) -> None:
    """Somebody packed up the repository with its settings; the traps spring for git outside."""
    program = project / "planted" / "post-index-change"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\ntouch {project}/sprung\ncat\n")
    program.chmod(0o755)
    (project / "more.cfg").write_text(f"[core]\n\tfsmonitor = {program}\n")
    (project / ".gitattributes").write_text("* diff=trap filter=trap\n")
    git(project, "add", "-A")
    git(project, "-c", "user.name=x", "-c", "user.email=x", "commit", "-qm", "all")
    config = project / ".git" / "config"
    config.write_text(config.read_text() + PLANTED_PROGRAMS[kind].replace("{}", str(program)))
    (project / "more.cfg").write_text("changed\n" if kind != "another file" else (project / "more.cfg").read_text())
    line = "touch *; git status; git diff; git log -p -1; git st; git add -A"
    with after(line) as done:
        assert not (project / "sprung").exists()
        assert "sprung" not in [change.path for change in done.changes.changes], done.output
    subprocess.run(["bash", "-c", line], cwd=project, capture_output=True, check=False)
    assert (project / "sprung").exists(), "the trap is none"


def test_settings_of_submodules_and_work_trees_are_cleaned_too(project: Path, after: After) -> None:
    for path in (".git/modules/a/b/config", ".git/worktrees/w/config.worktree", ".git/config.worktree"):
        file = project / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text('[remote "origin"]\n\turl = ssh://u:canary@example.com/x\n[http] extraheader = canary\n')
    with after("cat .git/config.worktree; find .git -name 'config*' | xargs grep -c example") as done:
        assert "canary" not in done.output
    with after("grep -r canary .git") as done:
        assert done.output == ""


def test_a_file_made_secret_after_the_first_look_is_found(project: Path) -> None:
    finder = SecretFinder(lambda path: path.endswith(".env"))
    for name in ("a", "b"):
        (project / name).mkdir()
    time.sleep(0.06)  # only what has not changed lately is remembered
    assert finder.find(str(project), ()).masked == ()
    (project / "b" / ".env").write_text("KEY=canary\n")
    assert finder.find(str(project), ()).masked == ("b/.env",)
    assert finder.find(str(project), ()).masked == ("b/.env",)
    (project / "b" / ".env").rename(project / "a" / ".env")
    assert finder.find(str(project), ()).masked == ("a/.env",)


@pytest.mark.slow
def test_a_tree_too_deep_to_be_meant(after: After) -> None:
    line = "for i in $(seq 300); do mkdir d && cd d || exit 1; done"
    with after(line) as done:
        assert done.exit_code == 0
        assert [each.what for each in done.changes.refused] == ["too deep"]


def test_what_is_read_from_a_changed_file_is_what_the_command_wrote(after: After) -> None:
    with after("seq 300000 > big") as done:
        assert done.layer is not None
        assert done.layer.read("big") == "".join(f"{n}\n" for n in range(1, 300001)).encode()
        assert done.layer.read("big", 4) == b"1\n2\n"
