"""What git ignores is judged by the rules from before the command, and never hides what was there or is tracked."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from nebula.sandbox.contract import Entry, LayerChange
from nebula.sandbox.layer import Layer
from nebula.tools.commands.ignored import SplitChanges, split_ignored

TRACKED = ("src/main.py", "src/util.py", "tracked.log", "gone/kept.py", "lib/__pycache__/kept.pyc")
OLD = ("src/wip.py", "notes/own.txt", "build/out.o", "old.log")
"""Not tracked; the last two are ignored."""
NEW = ("src/new.py", "made/new.py", "made/deep/x.log", "a.log", "build/b.o", "gone/kept.py", "pkg/__pycache__/a.pyc")
FOLDERS = ("", "src/", "notes/", "build/", "made/", "made/deep/", "gone/")
RULES = ("*\n", "# by a tool\n*\n", "# ignore * temporary things\n", "*.py\n", "*\n!x\n", " *\n", "")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("project")
    for path in (*TRACKED, *OLD):
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text("before\n")
    (root / ".gitignore").write_text("*.log\n/build/\n")
    for line in (["init", "-q"], ["add", "-f", ".gitignore", *TRACKED]):
        subprocess.run(["git", *line], cwd=root, check=True)
    (root / "gone/kept.py").unlink()
    (root / "gone").rmdir()  # by the user, who has not committed that yet
    return root


@pytest.fixture(scope="module")
def layer(tmp_path_factory: pytest.TempPathFactory, project: Path) -> Iterator[Layer]:
    upper = tmp_path_factory.mktemp("upper")
    found = Layer(os.open(project, os.O_RDONLY))
    found.descriptors = [os.open(upper, os.O_RDONLY), os.open(upper, os.O_RDONLY)]
    yield found
    found.close()


FILE = Entry("file", 0o644, 7)
FOLDER = Entry("folder", 0o755)


def split(project: Path, layer: Layer, old: dict[str, str], new: set[str], rules: dict[str, str]) -> SplitChanges:
    """Split what a command did: `old` path → kind of change, files that are new, and each folder's new `.gitignore`."""
    changes = [LayerChange(path, kind, FILE, None if kind == "deleted" else FILE) for path, kind in old.items()]
    written = {f"{folder}.gitignore": rule for folder, rule in rules.items()}
    made: set[str] = set()
    for path in new | written.keys():
        before = FILE if (project / path).exists() else None
        changes.append(LayerChange(path, "changed" if before else "created", before, FILE))
        parts = path.split("/")[:-1]
        made |= {"/".join(parts[: depth + 1]) for depth in range(len(parts))}
    changes += [LayerChange(path, "created", None, FOLDER) for path in made if not (project / path).is_dir()]
    for path, rule in written.items():
        place = Path(f"/proc/self/fd/{layer.upper}", path)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(rule.encode())
    return split_ignored(str(project), sorted(changes, key=lambda change: change.path), layer)


@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    old=st.dictionaries(st.sampled_from((*TRACKED[:3], *OLD)), st.sampled_from(["changed", "deleted"])),
    new=st.sets(st.sampled_from(NEW)),
    rules=st.dictionaries(st.sampled_from(FOLDERS), st.sampled_from(RULES)),
)
@example(
    old={"src/main.py": "changed", "src/util.py": "deleted", "src/wip.py": "deleted"}, new=set(), rules={"src/": "*\n"}
)
@example(old={"src/main.py": "changed"}, new=set(), rules={"src/": "# ignore * temporary things\n"})
@example(old={}, new={"made/new.py"}, rules={"made/": "# ignore * temporary things\n"})
@example(old={}, new={"gone/kept.py"}, rules={"gone/": "*\n"})
@example(old={"build/out.o": "changed", "old.log": "deleted"}, new={"build/b.o", "a.log"}, rules={})
def test_no_rule_of_a_command_hides_what_was_there_or_is_tracked(project, layer, old, new, rules) -> None:
    found = split(project, layer, old, new, rules)
    proposed, ignored = ({change.path for change in part} for part in (found.proposed, found.ignored))
    assert old.keys() <= proposed
    assert not (proposed | ignored) & {"pkg/__pycache__/a.pyc"}
    hiding = {folder for folder in ("made/", "made/deep/") if rules.get(folder, "").splitlines()[-1:] == ["*"]}
    for path in new - {"pkg/__pycache__/a.pyc"}:
        by_rules = path.endswith(".log") or path.startswith("build/")
        may_be_ignored = path not in TRACKED and (by_rules or any(path.startswith(each) for each in hiding))
        assert (path in ignored) == may_be_ignored, (path, found)
        assert (path in proposed) != may_be_ignored, (path, found)


def test_a_cache_that_git_tracks_is_proposed(project: Path, layer: Layer) -> None:
    changed = LayerChange("lib/__pycache__/kept.pyc", "changed", FILE, FILE)
    other = LayerChange("lib/__pycache__/other.pyc", "created", None, FILE)
    assert split_ignored(str(project), [changed, other], layer) == SplitChanges((changed,))


def test_installed_packages_are_counted_even_where_some_were_there(project: Path, layer: Layer) -> None:
    (project / ".git/info/exclude").write_text("node_modules/\n")
    gone = LayerChange("node_modules/left/index.js", "deleted", FILE, None)
    assert split_ignored(str(project), [gone], layer) == SplitChanges((), (gone,))


@pytest.mark.parametrize(
    ("script", "is_counted"), [("build.gradle", True), ("build.gradle.kts", True), ("Makefile", False)]
)
def test_what_gradle_made_before_is_counted_and_other_builds_are_named(
    project: Path, layer: Layer, script: str, is_counted: bool
) -> None:
    (project / script).touch()
    report = LayerChange("build/reports/index.html", "changed", FILE, FILE)
    found = split_ignored(str(project), [report], layer)
    (project / script).unlink()  # the other tests know nothing of it
    assert found == (SplitChanges((), (report,)) if is_counted else SplitChanges((report,)))
