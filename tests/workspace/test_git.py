"""Looking at a hostile repository runs none of its programs."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from nebula.git import READING, GitFailed, OddRepository, find_repository, git_setting, git_user, safe_git
from nebula.git.writing import check_out
from new_repository import make_repository


def git(root: Path, *args: str) -> None:
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull}
    identity = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *identity, *args], cwd=root, check=True, env=env, capture_output=True)


@pytest.fixture
def repository(root: Path) -> Path:
    make_repository(root)
    (root / "a.txt").write_text("one\n")
    (root / "b.bin").write_text("two\n")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def planted(repository: Path) -> Path:
    """A program that leaves a mark, to be wired to everything git can run."""
    program = repository.parent / "evil.sh"
    program.write_text(f"#!/bin/sh\ntouch {repository.parent}/RAN\ncat\n")
    program.chmod(0o755)
    return program


def config(repository: Path, *pairs: str) -> None:
    for key, value in zip(pairs[::2], pairs[1::2], strict=True):
        git(repository, "config", key, value)


def add_to_config(repository: Path, text: str) -> None:
    """What `git config` itself would not write."""
    with open(repository / ".git/config", "a", encoding="utf-8") as file:
        file.write(text)


def attributes(repository: Path, text: str, *, hidden: bool = False) -> None:
    place = ".git/info/attributes" if hidden else ".gitattributes"
    (repository / place).parent.mkdir(exist_ok=True)
    (repository / place).write_text(text)


def plant_fsmonitor(repository: Path, evil: str) -> None:
    config(repository, "core.fsmonitor", evil)


def plant_hooks(repository: Path, evil: str) -> None:
    config(repository, "core.hooksPath", str(repository / "hooks"))
    for folder in (repository / "hooks", repository / ".git/hooks"):
        folder.mkdir(exist_ok=True)
        for hook in ("pre-commit", "post-index-change", "post-checkout", "fsmonitor-watchman", "reference-transaction"):
            (folder / hook).write_text(f"#!/bin/sh\n{evil}\n")
            (folder / hook).chmod(0o755)


def plant_external_diff(repository: Path, evil: str) -> None:
    config(repository, "diff.external", evil)


def plant_diff_driver(repository: Path, evil: str) -> None:
    attributes(repository, "* diff=evil\n")
    config(repository, "diff.evil.command", evil)


def plant_textconv(repository: Path, evil: str) -> None:
    attributes(repository, "* diff=evil\n", hidden=True)
    config(repository, "diff.evil.textconv", evil)


def plant_filter(repository: Path, evil: str) -> None:
    attributes(repository, "* filter=evil\n")
    config(repository, "filter.evil.clean", evil, "filter.evil.smudge", evil, "filter.evil.required", "true")


def plant_filter_with_odd_name(repository: Path, evil: str) -> None:
    attributes(repository, "* filter=e=v.i\n", hidden=True)
    config(repository, "filter.e=v.i.clean", evil)


def plant_filter_without_a_name(repository: Path, evil: str) -> None:
    attributes(repository, "* filter=\n")
    add_to_config(repository, f'[filter ""]\n\tclean = {evil}\n\tsmudge = {evil}\n')


def plant_filter_process(repository: Path, evil: str) -> None:
    attributes(repository, "* filter=evil\n")
    config(repository, "filter.evil.process", evil)


def plant_included_filter(repository: Path, evil: str) -> None:
    attributes(repository, "* filter=evil\n")
    (repository / "more.config").write_text(f'[filter "evil"]\n\tclean = {evil}\n')
    config(repository, "include.path", "../more.config")


def plant_pager(repository: Path, evil: str) -> None:
    config(repository, "core.pager", evil, "pager.diff", evil, "pager.log", evil, "pager.status", evil)
    config(repository, "core.editor", evil, "sequence.editor", evil)


def plant_signature_program(repository: Path, evil: str) -> None:
    config(repository, "gpg.program", evil, "log.showSignature", "true")
    head = subprocess.run(["git", "cat-file", "commit", "HEAD"], cwd=repository, capture_output=True, check=True).stdout
    top, _, message = head.partition(b"\n\n")
    signed = top + b"\ngpgsig -----BEGIN PGP SIGNATURE-----\n x\n -----END PGP SIGNATURE-----\n\n" + message
    name = subprocess.run(
        ["git", "hash-object", "-t", "commit", "-w", "--stdin"],
        input=signed,
        cwd=repository,
        capture_output=True,
        check=True,
    ).stdout
    git(repository, "update-ref", "refs/heads/main", name.decode().strip())


def plant_aliases(repository: Path, evil: str) -> None:
    config(repository, "alias.status", f"!{evil}", "alias.st", f"!{evil}")


def plant_lazy_fetch(repository: Path, evil: str) -> None:
    config(repository, "core.repositoryFormatVersion", "1", "extensions.partialClone", "origin")
    config(repository, "remote.origin.url", f"ext::{evil}", "remote.origin.promisor", "true")
    config(repository, "protocol.ext.allow", "always", "core.sshCommand", evil)
    blob = subprocess.run(
        ["git", "rev-parse", "HEAD:a.txt"], cwd=repository, capture_output=True, text=True, check=True
    )
    name = blob.stdout.strip()
    (repository / f".git/objects/{name[:2]}/{name[2:]}").unlink()


def plant_submodule(repository: Path, evil: str) -> None:
    inner = repository / "sub"
    inner.mkdir()
    git(inner, "init", "-q")
    (inner / "x.txt").write_text("x")
    git(inner, "add", ".")
    git(inner, "commit", "-q", "-m", "inner")
    git(repository, "add", "sub")
    git(repository, "commit", "-q", "-m", "with sub")
    config(inner, "core.fsmonitor", evil, "filter.evil.clean", evil)
    attributes(inner, "* filter=evil\n", hidden=True)
    (inner / "x.txt").write_text("y")  # the size is the same, so git must look inside


def plant_program_in_the_path(repository: Path, evil: str) -> None:
    for name in ("git", "cat", "false", "ssh"):
        (repository / name).write_text(f"#!/bin/sh\n{evil}\n")
        (repository / name).chmod(0o755)


def plant_worktree_config(repository: Path, evil: str) -> None:
    config(repository, "core.repositoryFormatVersion", "1", "extensions.worktreeConfig", "true")
    attributes(repository, "* filter=evil\n")
    (repository / ".git/config.worktree").write_text(
        f'[core]\n\tfsmonitor = {evil}\n[filter "evil"]\n\tclean = {evil}\n'
    )


def plant_filter_of_work_trees(repository: Path, evil: str) -> None:
    """In force only in the git directory of an added work tree, by an include inside an include."""
    attributes(repository, "* filter=evil\n", hidden=True)
    deeper = repository / ".git/deeper.inc"
    deeper.write_text(f'[filter "evil"]\n\tsmudge = {evil}\n\tclean = {evil}\n\trequired = true\n')
    (repository / ".git/outer.inc").write_text('[includeIf "gitdir:**/worktrees/**"]\n\tpath = deeper.inc\n')
    config(repository, "includeIf.gitdir:**/worktrees/**.path", "outer.inc")


def plant_filter_of_a_state(repository: Path, evil: str) -> None:
    """In force only in a copy that has a certain name."""
    attributes(repository, "* filter=evil\n")
    git(repository, "add", ".gitattributes")
    git(repository, "commit", "-q", "-m", "attributes")
    (repository / ".git/detached.inc").write_text(f'[filter "evil"]\n\tprocess = {evil}\n\tsmudge = {evil}\n')
    config(repository, "includeIf.gitdir:**/task/.git.path", "detached.inc")


def plant_hooks_of_work_trees(repository: Path, evil: str) -> None:
    plant_hooks(repository, evil)
    (repository / ".git/hooks.inc").write_text(f"[core]\n\thooksPath = {repository / 'hooks'}\n\tfsmonitor = {evil}\n")
    config(repository, "includeIf.gitdir:**/worktrees/**.path", "hooks.inc")


PLANTS: list[Callable[[Path, str], None]] = [
    value for name, value in sorted(globals().items()) if name.startswith("plant_")
]

COMMANDS = [
    ("status", "--porcelain=v1", "-z", "--branch"),
    ("ls-files", "-z", "-m", "-o", "--exclude-standard"),
    ("ls-tree", "-r", "HEAD"),
    ("rev-parse", "--abbrev-ref", "HEAD"),
    ("check-ignore", "a.txt"),
    ("rev-list", "--no-merges", "--max-count=5", "HEAD", "--"),
    ("diff-tree", "-r", "-z", "-M100%", "--root", "--name-status", "--format=%H%x02%s", "HEAD"),
]


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.removeprefix("plant_"))
def test_nothing_planted_runs(
    plant: Callable[[Path, str], None], repository: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(repository, str(planted))
    (repository / "a.txt").write_text("one\nchanged\n")
    (repository / "b.bin").touch()
    mark = repository.parent / "RAN"
    mark.unlink(missing_ok=True)
    monkeypatch.setenv("PATH", os.pathsep.join([str(repository), ".", os.environ["PATH"]]))
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(planted))
    monkeypatch.setenv("GIT_PAGER", str(planted))
    for command in COMMANDS:
        safe_git(str(repository), *command)
        assert not mark.exists(), command


@pytest.mark.parametrize("plant", PLANTS, ids=lambda plant: plant.__name__.removeprefix("plant_"))
def test_nothing_planted_runs_when_a_copy_gets_a_commit(
    plant: Callable[[Path, str], None], repository: Path, planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plant(repository, str(planted))
    mark, task = repository.parent / "RAN", repository.parent / "task"
    monkeypatch.setenv("PATH", os.pathsep.join([str(task), ".", os.environ["PATH"]]))
    shutil.copytree(repository, task, symlinks=True)
    (task / "a.txt").write_text("one\nchanged\n")
    mark.unlink(missing_ok=True)
    with contextlib.suppress(GitFailed):  # a blob that is missing
        check_out(str(task), "HEAD")
        assert (task / "a.txt").read_text() == "one\n"
    assert not mark.exists(), "checked out"
    (task / "a.txt").write_text("one\nchanged\n")
    safe_git(str(task), "status", "--porcelain")
    assert not mark.exists(), "looked at"


@pytest.mark.parametrize("plant", [plant_filter_of_a_state, plant_filter_process, plant_hooks])
def test_plain_git_would_have_run_them_in_a_copy(
    plant: Callable[[Path, str], None], repository: Path, planted: Path
) -> None:
    plant(repository, str(planted))
    mark, task = repository.parent / "RAN", repository.parent / "task"
    shutil.copytree(repository, task, symlinks=True)
    (task / "a.txt").unlink()
    mark.unlink(missing_ok=True)
    with contextlib.suppress(subprocess.CalledProcessError):
        git(task, "checkout", "--force", "--detach", "HEAD")
    assert mark.exists()


def later(repository: Path) -> None:
    """Go on from the first commit: one file changed, one moved, one new; and something that is not committed."""
    git(repository, "tag", "first")
    (repository / "a.txt").write_text("later\n")
    (repository / "deep/er").mkdir(parents=True)
    (repository / "b.bin").rename(repository / "deep/er/b.bin")
    (repository / ".gitignore").write_text("ignored/\n")
    git(repository, "add", "-A")
    git(repository, "commit", "-q", "-m", "second")
    (repository / "untracked/x").mkdir(parents=True)
    (repository / "untracked/x/y.txt").write_text("y\n")
    (repository / "staged.txt").write_text("s\n")
    git(repository, "add", "staged.txt")
    (repository / "ignored").mkdir()
    (repository / "ignored/tool").write_text("tool\n")


def names(folder: Path) -> list[str]:
    return sorted(str(each.relative_to(folder)) for each in folder.rglob("*") if ".git" not in each.parts)


def test_a_copy_gets_the_files_of_a_commit_and_keeps_what_git_ignores(repository: Path) -> None:
    later(repository)
    check_out(str(repository), "first")
    assert names(repository) == ["a.txt", "b.bin", "ignored", "ignored/tool"]
    assert (repository / "a.txt").read_text() == "one\n"
    told = safe_git(str(repository), "status", "--porcelain").stdout.decode()
    assert told.split("\n") == ["?? ignored/", ""]  # the rules of that commit
    assert (
        safe_git(str(repository), "rev-parse", "HEAD").stdout == safe_git(str(repository), "rev-parse", "first").stdout
    )
    with pytest.raises(GitFailed, match="no commit"):
        check_out(str(repository), "nothing")


def test_of_an_added_work_tree_no_record_is_touched(repository: Path) -> None:
    tree = repository.parent / "tree"
    git(repository, "worktree", "add", "-q", "-b", "other", str(tree))
    later(tree)
    before = {each: each.read_bytes() for each in (repository / ".git").rglob("*") if each.is_file()}
    copy = repository.parent / "copy"
    shutil.copytree(tree, copy, symlinks=True)
    check_out(str(copy), "first")
    assert names(copy) == ["a.txt", "b.bin", "ignored", "ignored/tool"]
    assert {each: each.read_bytes() for each in (repository / ".git").rglob("*") if each.is_file()} == before


def test_nothing_behind_a_link_is_touched_when_a_copy_gets_a_commit(repository: Path) -> None:
    later(repository)
    outside = repository.parent / "outside"
    (outside / "er").mkdir(parents=True)
    (outside / "er/b.bin").write_text("precious\n")
    shutil.rmtree(repository / "deep")
    (repository / "deep").symlink_to(outside)
    (repository / ".git/info").mkdir(exist_ok=True)
    (repository / ".git/info/exclude").write_text("/deep\n")
    (repository / ".git/index").rename(outside / "index")
    (repository / ".git/index").symlink_to(outside / "index")
    before = {each: each.read_bytes() for each in outside.rglob("*") if each.is_file()}
    for ref in ("first", "main"):
        check_out(str(repository), ref)
        assert {each: each.read_bytes() for each in outside.rglob("*") if each.is_file()} == before
    assert (repository / "deep/er/b.bin").read_text() == "two\n" and not (repository / "deep").is_symlink()


def test_settings_too_long_to_be_overridden_are_a_failure_of_git(repository: Path) -> None:
    add_to_config(repository, f'[filter "{"x" * 200_000}"]\n\tclean = cat\n')
    with pytest.raises(GitFailed, match="git failed"):
        safe_git(str(repository), "status")


def test_plain_git_would_have_run_them(repository: Path, planted: Path) -> None:
    """The traps are real: without the wrapper they spring."""
    mark = repository.parent / "RAN"
    for plant in (plant_fsmonitor, plant_external_diff, plant_filter, plant_filter_without_a_name):
        plant(repository, str(planted))
        (repository / "a.txt").write_text("one\nchanged\n")
        mark.unlink(missing_ok=True)
        subprocess.run("git status; git diff", shell=True, cwd=repository, capture_output=True)
        assert mark.exists(), plant
        git(repository, "config", "--remove-section", "diff") if plant is plant_external_diff else None
        git(repository, "config", "core.fsmonitor", "false")


def test_answers_are_git_s(repository: Path) -> None:
    (repository / "日本.txt").write_text("new")
    root = str(repository)
    assert safe_git(root, "rev-parse", "--abbrev-ref", "HEAD").stdout == b"main\n"
    assert safe_git(root, "status", "--porcelain", "-z").stdout == "?? 日本.txt\0".encode()
    assert safe_git(root, "ls-tree", "-r", "--name-only", "HEAD").stdout == b"a.txt\nb.bin\n"
    assert (
        safe_git(root, "check-ignore", "--stdin", "--verbose", "--non-matching", feed=b"a.txt\n").stdout
        == b"::\ta.txt\n"
    )
    assert not safe_git(root, "rev-parse", "no-such-ref").ok


def test_from_a_folder_and_a_worktree(repository: Path) -> None:
    (repository / "sub").mkdir()
    assert safe_git(str(repository / "sub"), "rev-parse", "--show-prefix").stdout == b"sub/\n"
    other = repository.parent / "other"
    git(repository, "worktree", "add", "-q", "-b", "side", str(other))
    assert safe_git(str(other), "rev-parse", "--abbrev-ref", "HEAD").stdout == b"side\n"


def test_only_reading(repository: Path) -> None:
    for command in (
        (),
        ("commit", "-m", "x"),
        ("add", "."),
        ("checkout", "."),
        ("gc",),
        ("-c", "core.pager=x", "log"),
        ("config", "core.pager", "x"),
        ("diff",),
        ("hash-object", "-w", "a.txt"),
        ("symbolic-ref", "HEAD", "refs/heads/x"),
    ):
        with pytest.raises(ValueError, match="git"):
            safe_git(str(repository), *command)
    assert "status" in READING


def test_no_repository_is_said(root: Path) -> None:
    with pytest.raises(GitFailed, match="not in a git repository"):
        safe_git(str(root), "status")
    bare = root / "bare"
    subprocess.run(["git", "init", "-q", "--bare", str(bare)], check=True)
    assert find_repository(str(bare)) is None


def test_time_limit(repository: Path) -> None:
    with pytest.raises(GitFailed, match="took longer"):
        safe_git(str(repository), "status", timeout=0)


def test_looking_writes_nothing(repository: Path) -> None:
    os.utime(repository / "a.txt", (1_000_000_000, 1_000_000_000))  # git would note the new time of the same content
    before = {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")}
    for command in COMMANDS:
        safe_git(str(repository), *command)
    assert {path: path.stat().st_mtime_ns for path in (repository / ".git").rglob("*")} == before


def test_setting_as_the_user_has_it(repository: Path) -> None:
    config(repository, "core.hooksPath", "my-hooks")
    assert git_setting(str(repository), "core.hooksPath") == "my-hooks"
    assert git_setting(str(repository), "no.such") is None


def test_who_commits_here(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = repository.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    assert git_user(str(repository)) == ("", "")
    (home / ".gitconfig").write_text("[user]\n\tname = Ann\n\temail = ann@example.org\n")
    assert git_user(str(repository)) == ("Ann", "ann@example.org")
    add_to_config(repository, '[User]\n\tNAME = "Ann\\nof here"\n')
    assert git_user(str(repository)) == ("Ann\nof here", "ann@example.org"), "the repository's own is nearer"
    monkeypatch.setenv("GIT_AUTHOR_EMAIL", "ann@work.example")
    assert git_user(str(repository)) == ("Ann\nof here", "ann@work.example"), "what the environment says goes first"


@pytest.mark.slow
@pytest.mark.parametrize(
    "setting",
    ["[include]\n\tpath = {pipe}", "[include]\n\tpath = further", "[core]\n\texcludesFile = {pipe}"],
    ids=["included", "included by what is included", "rules"],
)
def test_a_pipe_that_the_settings_name_is_not_waited_for(repository: Path, setting: str) -> None:
    pipe = repository.parent / "pipe"
    os.mkfifo(pipe)
    (repository / ".git/further").write_text(f"[include]\n\tpath = {pipe}\n")
    add_to_config(repository, setting.format(pipe=pipe) + "\n")
    started = time.monotonic()
    for _ in range(5):
        with contextlib.suppress(GitFailed):
            safe_git(str(repository), "status", "--porcelain=v1", timeout=60)
    assert time.monotonic() - started < 40, "it waits for what never comes"


@pytest.mark.slow
@pytest.mark.parametrize("setting", ["[blame]\n\tignoreRevsFile = {file}", "[mailmap]\n\tfile = {file}"])
@pytest.mark.parametrize("file", ["/dev/zero", "pipe", "a terabyte"])
def test_no_file_that_the_settings_name_holds_up_who_wrote_a_line(repository: Path, setting: str, file: str) -> None:
    if file == "pipe":
        os.mkfifo(repository.parent / file)
        file = str(repository.parent / file)
    elif file == "a terabyte":
        file = str(repository.parent / "large")
        with open(file, "wb") as large:
            large.truncate(1 << 40)
    add_to_config(repository, setting.format(file=file) + "\n")
    name = safe_git(str(repository), "ls-tree", "--name-only", "-r", "HEAD").stdout.decode().splitlines()[0]
    started = time.monotonic()
    with contextlib.suppress(GitFailed):
        assert safe_git(str(repository), "blame", "--porcelain", "HEAD", "--", name, timeout=60).ok
    assert time.monotonic() - started < 40, "it waits for what never comes"


@pytest.mark.slow
@pytest.mark.parametrize("place", [".gitignore", "deep/.gitignore", ".git/info/exclude", ".git/commondir"])
def test_a_file_of_rules_without_end_costs_a_second_once(repository: Path, place: str) -> None:
    (repository / place).parent.mkdir(exist_ok=True)
    with open(repository / place, "ab") as large:
        large.truncate(1 << 34)
    started = time.monotonic()
    for _ in range(5):
        with pytest.raises(OddRepository, match=f"{place} is no plain file, or too large"):
            safe_git(str(repository), "status", "--porcelain=v1", timeout=60)
    assert time.monotonic() - started < 20, "it is read again each time"


@pytest.mark.slow
@pytest.mark.parametrize(
    "place", [".git/config", ".git/index", ".git/packed-refs", ".gitignore", "deep/.gitattributes", ".git/HEAD"]
)
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, place: str) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/a.txt").write_text("a")
    subprocess.run(["git", "-C", str(tmp_path), "add", "-A"], check=True)
    (tmp_path / place).unlink(missing_ok=True)
    os.mkfifo(tmp_path / place)
    started = time.monotonic()
    for _ in range(5):
        with contextlib.suppress(GitFailed):
            safe_git(str(tmp_path), "status", "--porcelain=v1", timeout=60)
        with contextlib.suppress(GitFailed):
            git_setting(str(tmp_path), "user.name")
    assert time.monotonic() - started < 40, "it waits for what never comes"
    (tmp_path / place).unlink()
    if place != ".git/HEAD":
        assert safe_git(str(tmp_path), "status", "--porcelain=v1").ok, "and it is used again once that is gone"
