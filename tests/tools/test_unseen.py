"""What lies in a home and a layer hides, as the usual installers lay it out."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from nebula.config import load_settings
from nebula.tools.commands.unseen import unseen_by


def program(path: Path, first_line: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(first_line, encoding="utf-8")
    path.chmod(0o755)
    return path


def link(path: Path, to: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.symlink_to(to)


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "home"
    (home / "project").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", os.pathsep.join([str(home / ".pyenv/shims"), "/usr/bin", "/bin"]))
    program(home / ".pyenv/shims/pyenv-tool", "#!/usr/bin/env bash\n")
    link(home / "project/.venv/bin/python", program(home / "own/python/bin/python3"))
    program(home / "own/tools/bin/check", f"#!{home}/own/python/bin/python3\n")
    return home


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("pyenv-tool --check", []),
        (".venv/bin/python -m pytest", ["~/own/python"]),
        ("cd src && CI=1 ../own/tools/bin/check .", ["~/own/python", "~/own/tools"]),
        ("../own/tools/bin/check .", ["~/own/python", "~/own/tools"]),
        ("sh -c true", []),
        ("no-such-program", []),
        ("", []),
    ],
)  # fmt: skip
def test_the_folders_that_a_program_needs(home: Path, command: str, folders: list[str]) -> None:
    found = unseen_by(command, load_settings(str(home / "project"), {}))
    assert list(found.folders if found else []) == folders


def test_what_is_shown_already_stays_in_the_line(home: Path) -> None:
    config = home / ".nebula" / "config.json"
    config.parent.mkdir()
    config.write_text(json.dumps({"sandbox_read": ["~/.gitconfig"]}), encoding="utf-8")
    settings = load_settings(str(home / "project"), {"HOME": str(home)})
    found = unseen_by(".venv/bin/python", settings)
    assert found is not None and found.file == "~/.nebula/config.json"
    assert found.line == '"sandbox_read": ["~/.gitconfig", "~/own/python"]'
    assert json.loads(f"{{{found.line}}}")
    config.write_text(json.dumps({"sandbox_read": ["~/own"]}), encoding="utf-8")
    assert unseen_by(".venv/bin/python", load_settings(str(home / "project"), {"HOME": str(home)})) is None
