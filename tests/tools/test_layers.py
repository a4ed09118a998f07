"""What commands of a session do not see, and the command that shows it."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from nebula.config import load_settings
from nebula.tools.commands.layers import CommandLayers


def unseen(home: Path, *sandbox_read: str) -> str:
    config = home / ".nebula" / "config.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"sandbox_read": sandbox_read}), encoding="utf-8")
    return str(CommandLayers(load_settings(str(home / "project"), {"HOME": str(home)})).unseen or "")


def test_the_interpreter_of_the_project_is_shown_by_the_command_that_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    python = tmp_path / "own/python/bin/python3"
    environment = tmp_path / "project/.venv/bin"
    for folder in (python.parent, environment):
        folder.mkdir(parents=True)
    python.touch(0o755)
    (environment / "python").symlink_to(python)
    said = unseen(tmp_path, "~/.gitconfig")
    assert "Commands do not see ~/own/python" in said
    *command, wanted = shlex.split(said.partition("This shows it: ")[2])
    assert command == ["nebula", "config", "set", "sandbox_read"]
    assert json.loads(wanted) == ["~/.gitconfig", "~/own/python"]
    assert unseen(tmp_path, *json.loads(wanted)) == ""
    assert unseen(tmp_path, "~/own") == ""
