"""Which files there are to index: what git tracks or would track, and without git what lies in the folder."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from index.project import Project
from nebula.git import find_commit, git_folders
from nebula.index.in_step import worktree
from nebula.index.in_step.worktree import FileListing, committed_blobs, git_marks, list_files, list_some
from nebula.index.reading import object_format


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path)


@pytest.fixture
def folder(tmp_path: Path) -> Project:
    """Without git, with everything that is none of ours."""
    made = Project(tmp_path, with_git=False)
    for path in ("a.py", "pkg/b.py", "pkg/deep/c.py", "pkg/.hg/d.py", "node_modules/e.py", ".nebula/f.py"):
        made.write(path, "x = 1\n")
    (made.root / "linked").symlink_to("pkg")
    (made.root / "pkg/link.py").symlink_to("../a.py")
    return made


def test_without_git_the_files_of_a_folder_are_listed_but_no_links_and_nothing_that_tools_fill(folder: Project) -> None:
    root = str(folder.root)
    assert list_files(root) == FileListing(("a.py", "pkg/b.py", "pkg/deep/c.py"))
    assert (find_commit(root), git_marks(root), committed_blobs(root, "")) == ("", (), {})


def test_without_git_some_files_are_listed_as_they_were_named_and_folders_with_all_below(folder: Project) -> None:
    root = str(folder.root)
    assert list_some(root, ["a.py", "pkg"]) == ["a.py", "pkg/b.py", "pkg/deep/c.py"]
    assert list_some(root, ["pkg", "a.py", "pkg/deep"]) == ["a.py", "pkg/b.py", "pkg/deep/c.py"]
    assert list_some(root, [""]) == ["a.py", "pkg/b.py", "pkg/deep/c.py"]
    assert list_some(root, ["gone.py", "linked"]) == ["gone.py", "linked"], "whoever reads them finds out"
    assert list_some(root, [".nebula/f.py", "pkg/.hg", "b\udce9.py"]) == []
    assert list_some(root, []) == []


def test_files_whose_names_cannot_be_written_down_are_told_apart(folder: Project) -> None:
    folder.write("b\udce9.py", "x = 1\n")
    listed = list_files(str(folder.root))
    assert (len(listed.paths), listed.unnameable) == (3, ("b\\xe9.py",))


def test_what_is_checked_out_has_a_commit_once_there_is_one(project: Project) -> None:
    root = str(project.root)
    assert find_commit(root) == list_files(root).commit == ""
    project.write("a\tb.py", "x = 1\n")
    project.commit()
    commit = project.git("rev-parse", "HEAD").strip()
    assert find_commit(root) == list_files(root).commit == commit
    assert committed_blobs(root, commit) == {"a\tb.py": project.git("rev-parse", "HEAD:a\tb.py").strip()}


def test_a_git_that_cannot_read_the_repository_leaves_what_lies_in_the_folder(project: Project) -> None:
    project.write("a.py", "x = 1\n")
    project.commit()
    (project.root / ".git/index").write_bytes(b"no index")
    root = str(project.root)
    assert list_files(root) == FileListing(("a.py",))
    assert list_some(root, ["a.py"]) == []
    (project.root / ".git/HEAD").write_bytes(b"no head")
    assert find_commit(root) == ""


def test_repositories_inside_are_listed_by_their_own_git(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    root = str(project.root)
    for inner in ("inner", "inner/deep"):
        project.write(f"{inner}/.gitignore", "ignored.py\n")
        project.write(f"{inner}/a.py", "x = 1\n")
        project.write(f"{inner}/ignored.py", "x = 1\n")
        project.git("init", "-q", cwd=project.root / inner)
    project.write("aa/.nebula/x.py", "x = 1\n")
    project.write("z.py", "x = 1\n")
    every = ("inner/.gitignore", "inner/a.py", "inner/deep/.gitignore", "inner/deep/a.py", "z.py")
    assert list_files(root).paths == every
    assert list_some(root, ["inner"]) == list(every[:4])
    assert list_some(root, ["inner/deep/a.py", "inner/deep/ignored.py", "z.py"]) == ["inner/deep/a.py", "z.py"]
    monkeypatch.setattr(worktree, "MAX_NESTED_REPOSITORIES", 1)
    assert list_files(root).paths == (*every[:2], "z.py"), "one inside another, and none inside that"
    assert list_some(root, ["inner"]) == list(every[:4]), "which was asked for"


def test_a_submodule_that_is_not_there_has_no_files(project: Project) -> None:
    project.write("a.py", "x = 1\n")
    project.commit()
    commit = project.git("rev-parse", "HEAD").strip()
    project.git("update-index", "--add", "--cacheinfo", f"160000,{commit},sub")
    os.mkdir(project.root / "sub")
    project.write("z.py", "x = 1\n")
    assert list_files(str(project.root)).paths == ("a.py", "z.py")


@pytest.mark.parametrize(
    ("line", "hash_name"),
    [
        ("objectformat = sha256", "sha256"),
        ('\tobjectFormat="SHA256"\r', "sha256"),
        ("objectformat = sha1", "sha1"),
        ("# objectformat = sha256", "sha1"),
        ("objectformat = sha2567", "sha1"),
        ("", "sha1"),
    ],
)
def test_a_repository_says_by_which_hash_it_names_contents(tmp_path: Path, line: str, hash_name: str) -> None:
    """A linked work tree says so by the repository it belongs to."""
    (tmp_path / "main/.git/worktrees/side").mkdir(parents=True)
    (tmp_path / "main/.git/config").write_text(f"[extensions]\n{line}\n")
    (tmp_path / "main/.git/HEAD").write_text("ref: refs/heads/main\n")
    (tmp_path / "main/.git/worktrees/side/commondir").write_text("../..\n")
    (tmp_path / "main/.git/worktrees/side/HEAD").write_text("ref: refs/heads/side\n")
    (tmp_path / "side").mkdir()
    (tmp_path / "side/.git").write_text("gitdir: ../main/.git/worktrees/side\n")
    for name in ("main", "side"):
        assert object_format(str(tmp_path / name)) == hash_name


def test_a_work_tree_finds_its_repository_by_what_its_file_names(tmp_path: Path) -> None:
    root, file = str(tmp_path), tmp_path / ".git"
    assert git_folders(root, str(file)) == (str(file), str(file)), "it is not there"
    for text in ("", "something else", "gitdir:", "gitdir: \n"):
        file.write_text(text)
        assert git_folders(root, str(file)) == (str(file), str(file))
    for text, named in (("gitdir: ../a b\n", "../a b"), ("gitdir:x\n", "x"), ("gitdir: gitdir:x", "gitdir:x")):
        file.write_text(text)
        assert git_folders(root, str(file))[0] == os.path.join(root, named)
    file.write_text("gitdir: /elsewhere/.git\n")
    assert git_folders(root, str(file))[0] == "/elsewhere/.git"
