"""A small project, and where the upper side lies: a test that asks for that runs with one in memory and one on disk."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "hello.txt").write_text("hello\n")
    return folder


@pytest.fixture(params=["memory", pytest.param("disk", marks=pytest.mark.slow)])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """For `Command.disk`."""
    return str(tmp_path / "nebula-home") if request.param == "disk" else None
