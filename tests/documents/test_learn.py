"""Every chapter of docs/learn shows its script as it is, in both languages, and the script prints what the page says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

LEARN = Path(__file__).parents[2] / "docs" / "learn"
CHAPTERS = [page for page in sorted(LEARN.glob("*.md")) if not page.name.startswith("README")]


def script_of(page: Path) -> Path:
    [name] = re.findall(r"^    \$ \.venv/bin/python docs/learn/(\w+\.py)$", page.read_text("utf-8"), re.MULTILINE)
    return LEARN / name


def test_there_are_six_chapters_and_every_script_has_one() -> None:
    assert len(CHAPTERS) == 6 * 2
    assert {script_of(page) for page in CHAPTERS} == set(LEARN.glob("*.py"))


@pytest.mark.parametrize("script", sorted(LEARN.glob("*.py")), ids=lambda script: script.stem)
def test_a_script_prints_what_its_page_says(script: Path, tmp_path: Path) -> None:
    ran = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stderr) == (0, "")
    pages = [page for page in CHAPTERS if script_of(page) == script]
    assert len(pages) == 2
    for page in pages:
        text = page.read_text("utf-8")
        [code] = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
        assert code == script.read_text("utf-8")
        shown = text.partition(f"docs/learn/{script.name}\n")[2].partition("\n\n")[0]
        assert [line.removeprefix("    ") for line in shown.splitlines()] == ran.stdout.splitlines()
