"""Where the upper side lies: each test that asks for it runs with one in memory and one on disk."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(params=["memory", pytest.param("disk", marks=pytest.mark.slow)])
def disk(request: pytest.FixtureRequest, tmp_path: Path) -> str | None:
    """For `Command.disk`."""
    return str(tmp_path / "nebula-home") if request.param == "disk" else None
