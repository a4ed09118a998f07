"""List and search, with both engines: what counts, in which order, and how it is capped."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from nebula.files.odd_files import find_odd_file
from nebula.workspace import LocalWorkspace, Policy
from nebula.workspace.search import walk
from nebula.workspace.search.explore import Explorer
from nebula.workspace.search.walk import Engine, LibraryWalk, Ripgrep, Walked
from rows import each_row

Open = Callable[..., LocalWorkspace]


class Chosen(LocalWorkspace):
    """A workspace with the engine under test."""

    engine: Engine

    def _explorer(self) -> Explorer:
        return Explorer(self._jail, self.engine)


@pytest.fixture(params=["ripgrep", "library"])
def explored(request: pytest.FixtureRequest, open_at: Open) -> LocalWorkspace:
    import shutil

    workspace = open_at()
    program = shutil.which("rg")
    if request.param == "ripgrep" and program is None:
        pytest.skip("ripgrep is not installed")
    chosen = Chosen(workspace._jail, workspace._judge, writing=workspace._writing)
    chosen.engine = Ripgrep(str(program)) if request.param == "ripgrep" else LibraryWalk()
    return chosen


def test_a_walk_that_takes_too_long_is_said(open_at: Open) -> None:
    class Slow:
        def files(self, *_: object, **__: object) -> Walked:
            raise TimeoutError

    workspace = open_at()
    slow = Chosen(workspace._jail, workspace._judge, writing=workspace._writing)
    slow.engine = Slow()
    for found in (slow.list_files(recursive=True), slow.search(".", "needle")):
        assert (found.files, found.truncated) == ((), True)
        assert "too long" in str(found.remark)


@pytest.fixture
def tree(root: Path) -> Path:
    files = {
        ".gitignore": "*.log\nbuild/\n",
        "README.md": "# needle\n",
        "src/app.py": "needle = 1\n",
        "src/データ.py": "# 検索キーワード needle\n",
        "src/deep/er/x.txt": "no match\n",
        "src/deep/.gitignore": "secret-*\n!keep.log\n",
        "src/deep/secret-1.txt": "needle\n",
        "src/deep/keep.log": "needle\n",
        "noise.log": "needle\n",
        "build/out.txt": "needle\n",
        ".hidden/conf.txt": "needle\n",
        ".env": "needle=1\n",
        "server.pem": "needle\n",
        ".git/needle.txt": "needle\n",
        ".nebula/log.txt": "needle\n",
        "a b/with space.txt": "needle\n",
    }
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(content, encoding="utf-8")
    (root / "image.bin").write_bytes(b"needle\0\1\2")
    (root / "utf16.txt").write_bytes("needle".encode("utf-16"))
    (root / "empty.txt").touch()
    return root


COUNTED = [
    ".env",
    ".gitignore",
    ".hidden/conf.txt",
    "README.md",
    "a b/with space.txt",
    "empty.txt",
    "server.pem",
    "src/app.py",
    "src/deep/.gitignore",
    "src/deep/er/x.txt",
    "src/deep/keep.log",
    "src/データ.py",
]


def test_tree_leaves_out_ignored_and_binary(tree: Path, explored: LocalWorkspace) -> None:
    listing = explored.list_files(recursive=True)
    assert [entry.path for entry in listing.files if not entry.is_dir] == COUNTED
    assert [entry.path for entry in listing.files if entry.is_dir] == [
        ".hidden",
        "a b",
        "src",
        "src/deep",
        "src/deep/er",
    ]
    assert (listing.truncated, listing.remark) == (False, None)
    sizes = {entry.path: entry.size for entry in listing.files}
    assert (sizes["README.md"], sizes["empty.txt"], sizes["src"]) == (9, 0, None)


def test_tree_of_a_folder(tree: Path, explored: LocalWorkspace) -> None:
    listing = explored.list_files("src/deep", recursive=True)
    assert [(entry.name, entry.path) for entry in listing.files] == [
        (".gitignore", "src/deep/.gitignore"),
        ("er", "src/deep/er"),
        ("er/x.txt", "src/deep/er/x.txt"),
        ("keep.log", "src/deep/keep.log"),
    ]


def test_search(tree: Path, explored: LocalWorkspace) -> None:
    hits = explored.search(".", "needle")
    assert hits.files == (
        ".hidden/conf.txt",
        "README.md",
        "a b/with space.txt",
        "src/app.py",
        "src/deep/keep.log",
        "src/データ.py",
    )
    assert (hits.truncated, hits.remark) == (False, None)
    assert explored.search("src", "needle").files == ("src/app.py", "src/deep/keep.log", "src/データ.py")
    assert explored.search(".", "検索キーワード").files == ("src/データ.py",)
    assert explored.search(".", "Needle").files == ()


def test_secrets_are_searched_only_when_allowed(tree: Path, explored: LocalWorkspace, open_at: Open) -> None:
    assert ".env" not in explored.search(".", "needle=").files
    assert open_at(Policy(allowed=frozenset({".env"}))).search(".", "needle=").files == (".env",)


@each_row("keyword", ["-e", "--files", "a.c", "[x", "\\d", "$(touch x)", "two\nlines", "tab\there", "'\"`", "%s"])
def test_keyword_is_taken_literally(keyword: str, root: Path, explored: LocalWorkspace) -> None:
    (root / "hit.txt").write_text(f"before {keyword} after\n")
    (root / "miss.txt").write_text("abc x two\n\nlines d\n")
    assert explored.search(".", keyword).files == ("hit.txt",)


def test_no_limit_on_lines_and_files(root: Path, explored: LocalWorkspace) -> None:
    (root / "long.txt").write_text("x" * 3_000_000 + "needle" + "y" * 100_000)
    chunk = 1 << 20
    (root / "border.txt").write_text("x" * (chunk - 3) + "needle")
    assert explored.search(".", "needle").files == ("border.txt", "long.txt")


def test_caps_are_told(root: Path, explored: LocalWorkspace) -> None:
    for number in range(12):
        (root / f"{number:02}.txt").write_text("needle")
    hits = explored.search(".", "needle", max_files=5)
    assert hits.files == tuple(f"{number:02}.txt" for number in range(5))
    assert hits.truncated
    assert "More than 5" in str(hits.remark)
    assert not explored.search(".", "needle", max_files=12).truncated
    for recursive in (False, True):
        listing = explored.list_files(recursive=recursive, max_items=5)
        assert [entry.name for entry in listing.files] == [f"{number:02}.txt" for number in range(5)]
        assert listing.truncated
        assert "more than 5" in str(listing.remark)
        assert not explored.list_files(recursive=recursive, max_items=12).truncated


def test_folder_listing_shows_what_is_there(tree: Path, explored: LocalWorkspace) -> None:
    (tree / "link").symlink_to("src")
    (tree / "out").symlink_to("/etc")
    listing = explored.list_files(".")
    assert [(entry.name, entry.is_dir) for entry in listing.files] == [
        (".env", False),
        (".gitignore", False),
        (".hidden", True),
        ("README.md", False),
        ("a b", True),
        ("build", True),
        ("empty.txt", False),
        ("image.bin", False),
        ("link", True),
        ("noise.log", False),
        ("out", False),
        ("server.pem", False),
        ("src", True),
        ("utf16.txt", False),
    ]
    assert [entry.path for entry in explored.list_files("link").files] == ["link/app.py", "link/deep", "link/データ.py"]


def test_extensions_name_files_only(tree: Path, explored: LocalWorkspace) -> None:
    for recursive, expected in ((False, ["README.md"]), (True, ["README.md", "src/app.py", "src/データ.py"])):
        for extensions in ([".py", ".md"], ["PY", "md"]):
            listing = explored.list_files(recursive=recursive, extensions=extensions)
            assert [entry.path for entry in listing.files] == expected


def test_names_that_cannot_be_used_are_counted(root: Path, explored: LocalWorkspace) -> None:
    (root / "good.txt").write_text("needle")
    for name in (b"bad-\xff.txt", b"line\nbreak.txt", b"back\\slash.txt"):
        with open(os.fsencode(root) + b"/" + name, "w", encoding="utf-8") as file:
            file.write("needle")
    for recursive in (False, True):
        listing = explored.list_files(recursive=recursive)
        assert [entry.name for entry in listing.files] == ["good.txt"]
        assert "3 entries" in str(listing.remark)
    assert explored.search(".", "needle").files == ("good.txt",)


def test_pipes_and_links_do_not_hold_or_mislead(root: Path, explored: LocalWorkspace) -> None:
    os.mkfifo(root / "pipe")
    (root / "loop").symlink_to(".")
    (root / "a.txt").write_text("needle")
    assert explored.search(".", "needle").files == ("a.txt",)
    assert [entry.name for entry in explored.list_files(recursive=True).files] == ["a.txt"]


def test_very_deep_tree(root: Path, explored: LocalWorkspace) -> None:
    here = os.open(root, os.O_RDONLY)
    for _ in range(300):
        os.mkdir("d" * 20, dir_fd=here)
        below = os.open("d" * 20, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    fd = os.open("x.txt", os.O_CREAT | os.O_WRONLY, dir_fd=here)
    os.write(fd, b"needle")
    os.close(fd)
    os.close(here)
    (root / "a.txt").write_text("needle")
    assert explored.search(".", "needle").files == ("a.txt",)
    assert explored.list_files(recursive=True).files[0].name == "a.txt"


def test_ignore_rules_above_the_root_count_within_a_repository_only(root: Path, explored: LocalWorkspace) -> None:
    (root.parent / ".gitignore").write_text("*\n")
    (root / "a.txt").write_text("needle")
    assert explored.search(".", "needle").files == ("a.txt",)
    (root.parent / ".gitignore").write_text("b.txt\n")
    (root / "b.txt").write_text("needle")
    subprocess.run(["git", "init", "-q", str(root.parent)], check=True)
    assert explored.search(".", "needle").files == ("a.txt",)


def test_files_of_other_kinds_are_not_searched(root: Path, open_at: Open) -> None:
    (root / "a.py").write_text("needle")
    (root / "a.sh").write_text("needle")
    assert open_at(Policy(extensions=(".py",))).search(".", "needle").files == ("a.py",)


def test_a_planted_ripgrep_is_not_run(root: Path, workspace: LocalWorkspace, monkeypatch: pytest.MonkeyPatch) -> None:
    planted = root / "bin"
    planted.mkdir()
    (planted / "rg").write_text("#!/bin/sh\ntouch ran\n")
    (planted / "rg").chmod(0o755)
    (root / "a.txt").write_text("needle")
    monkeypatch.chdir(root)
    monkeypatch.setenv("PATH", os.pathsep.join([str(planted), "bin", ".", os.environ["PATH"]]))
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(root / "config"))
    (root / "config").write_text("--pre=touch\n")
    assert workspace.search(".", "needle").files == ("a.txt",)
    assert not list(root.rglob("ran"))


@pytest.mark.parametrize("path", ["missing", "a.txt"])
def test_not_a_directory(path: str, root: Path, explored: LocalWorkspace) -> None:
    from nebula.workspace.errors import PathNotFound

    (root / "a.txt").write_text("x")
    for call in (explored.list_files, lambda path: explored.search(path, "x")):
        with pytest.raises(PathNotFound):
            call(path)


LARGE_RULES = {
    "one glob": "a*" * 1_500_000 + "\n",
    "many globs": "".join(f"x{number}*y\n" for number in range(150_000)),
}


def write_large_rules(root: Path, place: str, rules: str) -> None:
    (root / ".git/info").mkdir(parents=True)
    (root / "sub").mkdir()
    (root / place).write_text(LARGE_RULES[rules])
    (root / "sub/a.txt").write_text("needle\n")


@pytest.mark.slow
@pytest.mark.parametrize("rules", LARGE_RULES)
@pytest.mark.parametrize("place", [".gitignore", "sub/.gitignore", ".git/info/exclude"])
def test_ignore_rules_of_any_size_hide_nothing(rules: str, place: str, explored: LocalWorkspace, root: Path) -> None:
    write_large_rules(root, place, rules)
    listing, hits = explored.list_files(".", recursive=True), explored.search(".", "needle")
    assert "sub/a.txt" in [entry.path for entry in listing.files]
    assert hits.files == ("sub/a.txt",)
    if rules == "one glob":  # many small ones ripgrep may still manage within its limit
        assert "ignore rules" in (listing.remark or "")
        assert "ignore rules" in (hits.remark or "")


@pytest.mark.slow
@pytest.mark.parametrize("rules", LARGE_RULES)
@pytest.mark.parametrize("place", [".gitignore", "sub/.gitignore", ".git/info/exclude"])
def test_ignore_rules_of_any_size_take_little(rules: str, place: str, root: Path) -> None:
    write_large_rules(root, place, rules)
    ours, its_programs = peak_of_exploring(root)
    assert ours < 150_000
    assert its_programs < 700_000


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder"])
@pytest.mark.parametrize("place", [".gitignore", "sub/.gitignore", ".git/info/exclude"])
def test_ignore_rules_that_are_no_file_hold_nobody_up(
    kind: str, place: str, explored: LocalWorkspace, root: Path
) -> None:
    (root / ".git/info").mkdir(parents=True)
    (root / "sub").mkdir()
    (root / "sub/a.txt").write_text("needle\n")
    odd = root / place
    {"a pipe": os.mkfifo, "a device": lambda each: each.symlink_to("/dev/zero"), "a folder": Path.mkdir}[kind](odd)
    found: list[object] = []

    def explore() -> None:
        found.append([entry.path for entry in explored.list_files(".", recursive=True).files])
        found.append(explored.search(".", "needle").files)

    thread = threading.Thread(target=explore, daemon=True)
    thread.start()
    thread.join(45)
    assert len(found) == 2, "it waits"
    assert "sub/a.txt" in found[0] and found[1] == ("sub/a.txt",)  # type: ignore[operator]


@pytest.mark.slow
def test_rules_that_are_a_pipe_deep_in_a_large_tree_are_found_out_once(
    explored: LocalWorkspace, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_for = []

    def find(*where: object, **how: object) -> str | None:
        looked_for.append(where)
        return find_odd_file(*where, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(walk, "find_odd_file", find)
    (root / "a/b/c").mkdir(parents=True)
    for number in range(150):
        (root / f"a/b/{number}.txt").write_text("needle\n")
    os.mkfifo(root / "a/b/c/.gitignore")
    for _ in range(4):
        listing, hits = explored.list_files(".", recursive=True), explored.search(".", "needle")
        assert "ignore rules" in (listing.remark or "")
        assert len(hits.files) == 150
    assert len(looked_for) <= 1


def peak_of_exploring(root: Path) -> tuple[int, int]:
    """KiB that a process of its own needs for it, and the largest program it starts: a peak is of a whole life."""
    code = (
        "import resource, sys; from nebula.workspace import Policy, open_workspace\n"
        "workspace = open_workspace(sys.argv[1], Policy(), read_only=True)\n"
        "workspace.list_files('.', recursive=True); workspace.search('.', 'needle')\n"
        "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
        "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(root)], capture_output=True, text=True, check=True)
    ours, its_programs = done.stdout.split()
    return int(ours), int(its_programs)


def test_a_small_tree_with_large_rules_is_left_to_the_limited_engine(workspace: LocalWorkspace, root: Path) -> None:
    (root / ".gitignore").write_text("*.log\n" + "".join(f"x{number}\n" for number in range(20_000)))
    (root / "a.log").write_text("needle")
    (root / "a.txt").write_text("needle")
    assert workspace.search(".", "needle").files == ("a.txt",)  # large, and still used


@pytest.mark.slow
def test_a_folder_of_very_many_entries_is_quick(workspace: LocalWorkspace, root: Path) -> None:
    for number in range(30_000):
        os.close(os.open(root / f"{number:05}.txt", os.O_CREAT | os.O_WRONLY))
    tracemalloc.start()
    started = time.process_time()
    listing = workspace.list_files(".", max_items=2_000)
    seconds, (_, peak) = time.process_time() - started, tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [entry.name for entry in listing.files] == [f"{number:05}.txt" for number in range(2_000)]
    assert listing.truncated
    assert "more than 2000" in (listing.remark or "")
    assert seconds < 3
    assert peak < 10_000_000
    assert workspace.list_files(".", extensions=[".md"]).files == ()


@pytest.mark.skipif(sys.platform == "darwin", reason="its file systems have no names that are no text")
def test_a_project_in_a_folder_whose_name_is_no_text_is_listed(root: Path, open_at: Open) -> None:
    place = Path(os.fsdecode(os.fsencode(root) + b"/\xff"))
    (place / "src").mkdir(parents=True)
    (place / "src/a.txt").write_text("needle")
    (place / ".gitignore").write_text("b.txt\n")
    (place / "b.txt").write_text("needle")
    assert open_at(at=place).search(".", "needle").files == ("src/a.txt",)
