"""Two names that are one file, as on macOS: here by a link to the folder."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

from nebula.files.digest import digest
from nebula.workspace import LocalWorkspace
from nebula.workspace.errors import Stale
from nebula.workspace.guard.paths import normal_path

NAMES = [("README.md", "readme.md"), *(("é.txt", unicodedata.normalize("NFD", "é.txt")), ("Straße", "STRASSE"))]


@pytest.mark.parametrize(("one", "other"), NAMES)
def test_writers_by_two_spellings_wait_for_each_other(one: str, other: str) -> None:
    assert one != other
    assert normal_path(f"a/{one}").lock_key == normal_path(f"A/{other}").lock_key


def test_a_change_by_the_other_name_is_noticed(workspace: LocalWorkspace, root: Path) -> None:
    (root / "src").mkdir()
    (root / "SRC").symlink_to("src")
    (root / "src/a.txt").write_text("old\n")
    workspace.write_file("src/a.txt", "new\n", "overwrite", expected=digest(b"old\n"))
    (root / "SRC/a.txt").write_text("by the other name\n")
    with pytest.raises(Stale):
        workspace.write_file("src/a.txt", "late\n", "overwrite", expected=digest(b"new\n"))
    assert (root / "src/a.txt").read_text() == "by the other name\n"
