"""What commands of a session do not see, and the command that shows it."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from nebula.config import load_settings
from nebula.sandbox.launcher import Launchers
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


def test_commands_of_two_threads_share_what_starts_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Launchers] = []

    class Slow(Launchers):
        def __init__(self) -> None:
            time.sleep(0.1)  # as long as the other thread needs to come here
            super().__init__()
            made.append(self)

    monkeypatch.setattr("nebula.sandbox.launcher.Launchers", Slow)
    layers = CommandLayers(load_settings(str(tmp_path), {"HOME": str(tmp_path / "home")}))
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda line: asyncio.run(layers.run(line)), ["echo one", "echo two"]))
    layers.close()
    assert sorted(each.output for each in done) == ["one\n", "two\n"]
    for each in done:
        each.close()
    assert len(made) == 1, "the second would be left behind with a process that nobody ends"


@pytest.mark.parametrize("folder", [b"", b"plain", b"back\\slash", b"two\nlines", b"no text \xff", "全角".encode()])
def test_a_secret_file_is_empty_in_whatever_folder_it_lies(tmp_path: Path, folder: bytes) -> None:
    """Also where no tool could name the file: a command can."""
    project = tmp_path / "project"
    place = os.path.join(os.fsencode(project), folder)
    os.makedirs(place)
    for name in (b".env", b"ordinary.txt"):
        Path(os.fsdecode(os.path.join(place, name))).write_text(f"content of {name.decode()}\n", "utf-8")
    layers = CommandLayers(load_settings(str(project), {"HOME": str(tmp_path / "home")}))
    done = asyncio.run(layers.run("find . -type f -exec cat {} +"))
    layers.close()
    done.close()
    assert done.output == "content of ordinary.txt\n"
