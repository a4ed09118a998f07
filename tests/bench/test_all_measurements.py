"""`python -m bench`: what is measured is dated, told with the machine's facts, and compared with the last time."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BENCH = runpy.run_path(str(ROOT / "bench/__main__.py"))


def test_a_result_is_compared_with_the_last_one(tmp_path: Path) -> None:
    script, results = tmp_path / "start.py", tmp_path / "results"
    script.write_text("print('first request  120.0 ms  1.50 x\\nsteady  10 ms')")
    first, code = BENCH["measure"]([script], results)
    told = first.read_text(encoding="utf-8")
    assert code == 0 and "The first result here." in told and "| Python | 3." in told and "120.0 ms" in told
    first = first.rename(results / "2001-01-01-000000.md")
    script.write_text("print('first request  240.0 ms  1.60 x\\nsteady  10 ms')\nraise SystemExit(3)")
    second, code = BENCH["measure"]([script], results)
    told = second.read_text(encoding="utf-8")
    assert code == 3 and "Since 2001-01-01-000000:" in told
    assert "- start: first request … ms … x (number 1): 120 → 240 (+100%)" in told
    assert "number 2" not in told and "steady" not in told.split("## start")[0]


def test_every_script_is_named() -> None:
    ran = subprocess.run([sys.executable, "-m", "bench", "--list"], cwd=ROOT, capture_output=True, text=True)
    assert {"start", "graph", "installed_size"} <= set(ran.stdout.split()) and "harness" not in ran.stdout
