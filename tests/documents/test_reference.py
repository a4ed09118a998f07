"""The pages that follow from the code are current, in both languages."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

pytestmark = pytest.mark.slow


def test_the_generated_pages_are_current() -> None:
    command = [sys.executable, str(ROOT / "scripts/reference"), "--check"]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
