"""An empty repository as git makes it, written down by us: hundreds of tests begin with one, and a process each adds up."""

from __future__ import annotations

import os
import subprocess
import tempfile
from functools import cache
from pathlib import Path


def make_repository(folder: Path, user: str = "") -> None:
    """Do what `git init -b main` does, and name the user, where one is given, in the repository's own settings."""
    for name, content in _parts():
        path = folder / ".git" / name
        if content is None:
            path.mkdir()
        else:
            path.write_bytes(content)
    if user:
        with (folder / ".git/config").open("a") as file:
            file.write(f"[user]\n\temail = {user.lower()}@example.org\n\tname = {user}\n")


@cache
def _parts() -> tuple[tuple[str, bytes | None], ...]:
    """Return the files of a new repository with their content, and its folders; those above come first."""
    env = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    with tempfile.TemporaryDirectory() as place:
        subprocess.run(["git", "init", "-q", "-b", "main", place], check=True, env=env)
        made = Path(place, ".git")
        found = sorted([made, *made.rglob("*")])
        return tuple((str(each.relative_to(made)), None if each.is_dir() else each.read_bytes()) for each in found)
