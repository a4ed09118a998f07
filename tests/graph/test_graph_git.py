"""A data folder under git: seed 004 §3.3, §10."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from nebula.graph.graph import Graph


def git(folder: Path, *words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false"]
    return subprocess.run(["git", *identity, *words], cwd=folder, check=check, capture_output=True, text=True)


def commit(folder: Path, message: str) -> None:
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", message)


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    with Graph(folder) as graph:
        last = graph.create_node("root").id
        for number in range(5):
            last = graph.create_node(f"n{number}", parents=[last]).id
    git(folder, "init", "-q", "-b", "trunk")
    commit(folder, "start")
    return folder


def test_10_only_text_is_under_version_control(repository: Path) -> None:
    assert git(repository, "status", "--porcelain").stdout == ""
    tracked = git(repository, "ls-files").stdout.split()
    assert not [path for path in tracked if path.startswith(".state")]
    assert {Path(path).suffix for path in tracked} == {".xml", ".yaml", ".tsv", ""}


def test_10_looking_changes_nothing_under_version_control(repository: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repository), "clone")
    clone = tmp_path / "clone"
    with Graph(clone) as graph:
        assert len(graph.search_nodes(text="n3")) == 1
        assert len(graph.list_nodes()) == 6
        assert len(graph.get_flow().nodes) == 6
        assert graph.check() == []
    assert git(clone, "status", "--porcelain").stdout == ""


@pytest.mark.slow
def test_10_one_new_node_among_a_thousand_is_a_small_diff(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with Graph(folder) as graph:
        last = graph.create_node("root", tags=["t"]).id
        for number in range(999):
            last = graph.create_node(f"n{number}", "answer", parents=[last]).id
    git(folder, "init", "-q", "-b", "trunk")
    commit(folder, "start")
    git(tmp_path, "clone", "-q", str(folder), "clone")
    with Graph(tmp_path / "clone") as graph:
        graph.create_node("one more", parents=[last])
    git(tmp_path / "clone", "add", "-A")
    stat = git(tmp_path / "clone", "diff", "--cached", "--numstat").stdout.splitlines()
    changes = {line.split("\t")[2]: tuple(map(int, line.split("\t")[:2])) for line in stat}
    assert changes == {
        "nodes/010/000.xml": (14, 0),
        "nodes/index.tsv": (1, 0),
        "flows/000/000.yaml": (5, 1),
        "metadata/index.yaml": (5, 1),
    }


def branches(repository: Path) -> tuple[list[str], list[str]]:
    """Two branches that each add nodes behind the same one; on trunk afterwards."""
    ours, theirs = [], []
    git(repository, "checkout", "-q", "-b", "other")
    with Graph(repository) as graph:
        last = graph.get_flow().nodes[-1]
        for number in range(3):
            theirs.append(graph.create_node(f"theirs {number}", tags=["theirs"], parents=[last]).id)
            last = theirs[-1]
    commit(repository, "theirs")
    git(repository, "checkout", "-q", "trunk")
    with Graph(repository) as graph:
        last = graph.get_flow().nodes[-1]
        for number in range(2):
            ours.append(graph.create_node(f"ours {number}", parents=[last]).id)
            last = ours[-1]
        graph.create_flow("side")
        ours.append(graph.create_node("aside", flow="side").id)
    commit(repository, "ours")
    return ours, theirs


@pytest.mark.parametrize("style", ["merge", "diff3", "zdiff3"])
def test_10_two_branches_that_add_nodes_merge_with_one_repair(repository: Path, style: str) -> None:
    ours, theirs = branches(repository)
    git(repository, "config", "merge.conflictStyle", style)
    git(repository, "merge", "-q", "other", check=False)
    with Graph(repository) as graph:
        problems = graph.check(repair=True)
        assert {problem.kind for problem in problems} <= {"conflict", "index", "metadata"}
        assert all(problem.repaired for problem in problems)
        assert graph.check() == []
        assert {node.id for node in graph.list_nodes()} >= {*ours, *theirs}
        assert graph.count_nodes() == 12
        # Each branch goes on from the node it began at.
        assert [node.prompt for node in graph.get_history(ours[1])][-3:] == ["n4", "ours 0", "ours 1"]
        assert [node.prompt for node in graph.get_history(theirs[2])][-4:] == ["n4", "theirs 0", "theirs 1", "theirs 2"]
        assert graph.get_flow("side").nodes == [ours[2]]
        assert [node.id for node in graph.search_nodes(tags=["theirs"])] == theirs[::-1]
    for path in repository.rglob("*.*"):
        if path.suffix in (".xml", ".yaml", ".tsv"):
            assert "<<<<<<<" not in path.read_text("utf-8"), path
    commit(repository, "merged")
    with Graph(repository) as graph:
        assert graph.check() == []


def test_10_branches_that_each_made_their_first_node_merge_too(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk", "data")
    folder = tmp_path / "data"
    (folder / "README").write_text("empty", encoding="utf-8")
    commit(folder, "start")
    git(folder, "checkout", "-q", "-b", "other")
    with Graph(folder) as graph:
        theirs = graph.create_node("theirs").id
    commit(folder, "theirs")
    git(folder, "checkout", "-q", "trunk")
    with Graph(folder) as graph:
        ours = graph.create_node("ours").id
    commit(folder, "ours")
    git(folder, "merge", "-q", "other", check=False)
    with Graph(folder) as graph:
        graph.check(repair=True)
        assert graph.get_flow("main").nodes == [ours, theirs]
        assert graph.check() == []


def test_a_checkout_is_noticed_without_restart(repository: Path) -> None:
    with Graph(repository) as graph:
        assert graph.count_nodes() == 6
        git(repository, "checkout", "-q", "-b", "more")
        added = graph.create_node("more").id
        graph.close()
        commit(repository, "more")
        git(repository, "checkout", "-q", "trunk")
        assert graph.count_nodes() == 6
        assert added not in graph.get_flow().nodes
        assert graph.search_nodes(text="more") == []
        git(repository, "checkout", "-q", "more")
        assert graph.get_node(added).prompt == "more"
        assert added in graph.get_flow().nodes


def test_a_clone_with_the_line_ends_of_windows_is_clean(repository: Path, tmp_path: Path) -> None:
    for name, attributes in (("with our rules", ""), ("without them", "* text=auto\n")):
        if attributes:
            (repository / ".gitattributes").write_text(attributes, encoding="utf-8")
            commit(repository, "the rules of an older version")
        git(tmp_path, "clone", "-q", "-c", "core.autocrlf=true", str(repository), name)
        clone = tmp_path / name
        crlf = b"\r\n" in (clone / "nodes/index.tsv").read_bytes()
        assert crlf == bool(attributes)
        with Graph(clone) as graph:
            assert graph.check() == []
            last = graph.get_flow().nodes[-1]
            graph.create_node("one more", parents=[last], tags=["t"])
            graph.update_node(last, response="edited")
        assert graph.check() == []
        changed = ["nodes/index.tsv", "flows/000/000.yaml", "nodes/000/005.xml", "metadata/index.yaml"]
        for path in changed:
            data = (clone / path).read_bytes()
            assert data.count(b"\r\n") in (0, data.count(b"\n")), path


def test_what_a_clone_says_to_git_does_not_bring_our_state_along(repository: Path) -> None:
    (repository / ".gitignore").write_text("/.state/\n!*\n*.orig\n", encoding="utf-8")
    (repository / ".gitattributes").write_text("*.xml merge=ours\n", encoding="utf-8")
    with Graph(repository) as graph:
        graph.create_node("q")
        git(repository, "add", "-A")
    assert ".state" not in git(repository, "ls-files").stdout
    assert (repository / ".gitignore").read_text("utf-8") == "!*\n*.orig\n/.state/\n"
    assert (repository / ".gitattributes").read_text("utf-8").startswith("*.xml merge=ours\n* -text\n")
    with Graph(repository) as graph:
        graph.create_node("q")
    assert (repository / ".gitignore").read_text("utf-8") == "!*\n*.orig\n/.state/\n"


def test_a_graph_goes_on_where_git_removed_what_it_ignores(repository: Path) -> None:
    with Graph(repository) as graph, Graph(repository) as other:
        last = graph.create_node("before").id
        assert other.get_node(last).prompt == "before"
        git(repository, "clean", "-q", "-d", "-f", "-X")
        assert not (repository / ".state").exists()
        ids = [each.create_node("after", parents=[last]).id for each in (graph, other, graph)]
        assert {last, *ids} <= set(graph.get_flow().nodes) and graph.check() == []
    with Graph(repository) as fresh:
        assert fresh.check() == [] and len(fresh.list_nodes()) == 10
