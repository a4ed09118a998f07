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
    folders = [".pyenv/shims", ".local/bin", ".nvm/versions/node/v20/bin", ".cargo/bin", "envs/own/bin"]
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("PATH", os.pathsep.join([*(str(home / each) for each in folders), "/usr/bin", "/bin"]))
    program(home / ".pyenv/shims/pyenv-tool", "#!/usr/bin/env bash\n")
    uv = home / ".local/share/uv"
    python = program(uv / "python/cpython-3.12/bin/python3.12")
    link(uv / "tools/ruff/bin/python", python)
    link(home / ".local/bin/ruff", program(uv / "tools/ruff/bin/ruff", f"#!{uv}/tools/ruff/bin/python\n"))
    node = home / ".nvm/versions/node/v20"
    link(node / "bin/npm", program(node / "lib/node_modules/npm/bin/npm-cli.js", "#!/usr/bin/env node\n"))
    program(node / "bin/node")
    link(home / ".cargo/bin/cargo", program(home / ".cargo/bin/rustup"))
    for each in (".cargo/registry", ".rustup"):
        (home / each).mkdir()
    link(home / "envs/own/bin/python", Path("/usr/bin/env"))
    link(home / "project/.venv/bin/python", python)
    return home


@pytest.mark.parametrize(
    ("command", "folders"),
    [
        ("pyenv-tool --check", ["~/.pyenv"]),
        ("cd src && CI=1 ruff check .", ["~/.local/bin", "~/.local/share/uv/python/cpython-3.12", "~/.local/share/uv/tools/ruff"]),
        ("npm test --silent", ["~/.nvm/versions/node/v20"]),
        ("cargo test --quiet", ["~/.cargo/bin", "~/.cargo/registry", "~/.rustup"]),
        ("python -m pytest -q", ["~/envs/own"]),
        (".venv/bin/python -m pytest", ["~/.local/share/uv/python/cpython-3.12"]),
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
    config.write_text(json.dumps({"sandbox_read": ["~/.gitconfig", "~/.nvm"]}), encoding="utf-8")
    settings = load_settings(str(home / "project"), {"HOME": str(home)})
    assert unseen_by("npm test", settings) is None
    found = unseen_by("pyenv-tool", settings)
    assert found is not None and found.file == "~/.nebula/config.json"
    assert found.line == '"sandbox_read": ["~/.gitconfig", "~/.nvm", "~/.pyenv"]'
    assert json.loads(f"{{{found.line}}}")
