"""A virtual environment in a project, as its user would have it: its interpreter is a link to where Python lies."""

from __future__ import annotations

import importlib.metadata
import shutil
import subprocess
import sys
from pathlib import Path

PACKAGES = ("pytest", "iniconfig", "packaging", "pluggy", "pygments")


def make_environment(project: Path) -> None:
    """Make a `.venv` as its user would have it, its packages copied from here: nothing is fetched."""
    python = Path(sys.base_prefix) / "bin" / "python3"
    subprocess.run([python, "-m", "venv", "--without-pip", ".venv"], cwd=project, check=True)
    (packages,) = project.glob(".venv/lib/python3*/site-packages")
    for name in PACKAGES:
        for file in importlib.metadata.files(name) or []:
            if file.parts[0] not in ("..", "/") and "__pycache__" not in file.parts:
                (packages / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(str(file.locate()), packages / file)
