"""`python -m bench`: what is measured is dated, told with the machine's facts, and compared with the last time."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BENCH = runpy.run_path(str(ROOT / "bench/__main__.py"))


def script(folder: Path, name: str, text: str) -> Path:
    path = folder / f"{name}.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_result_is_compared_with_the_last_one_of_its_script(tmp_path: Path) -> None:
    results = tmp_path / "results"
    start = script(tmp_path, "start", "print('first request  120.0 ms  1.50 x\\nsteady  10 ms\\nfast  9.9e+02 MB/s')")
    first, code = BENCH["measure"]([start], results)
    told = first.read_text(encoding="utf-8")
    assert code == 0 and "| start | 0 | none |  | ok |" in told
    assert "| Python | 3." in told and "120.0 ms" in told
    first.rename(results / "2001-01-01-000000.md")
    other, _ = BENCH["measure"]([script(tmp_path, "other", "print('other 5 ms')")], results)
    other.rename(results / "2002-01-01-000000.md")  # has nothing of the first, and hides nothing of it
    start.write_text(
        "print('first request  240.0 ms  1.60 x\\nsteady  10 ms\\nfast  1.1e+03 MB/s')\nraise SystemExit(3)"
    )
    second, code = BENCH["measure"]([start], results)
    told = second.read_text(encoding="utf-8")
    assert code == 1 and "(2001-01-01-000000) |  | exit code 3 |" in told
    assert "- start: first request … ms … x (number 1): 120 → 240 (+100%)" in told
    assert "number 2" not in told and not re.search("steady|fast", told.split("## start")[0])


@pytest.mark.slow  # it waits for a limit that scripts on a busy machine have to get something done in
def test_one_that_fails_or_hangs_costs_nothing_but_itself(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hanging = "import time; print('began'); print('PASS  speed: 1'); print('FAIL  size: 2')"
    scripts = [
        script(tmp_path, "broken", "raise ValueError('no such thing')"),
        script(tmp_path, "good", "print('PASS  speed: 3')"),
        script(tmp_path, "hanging", f"{hanging}; time.sleep(600)"),
        script(tmp_path, "last", "print('never seen')"),
    ]
    path, code = BENCH["measure"](scripts, tmp_path / "results", 3.0)
    told = path.read_text(encoding="utf-8")
    assert code == 1 and "ValueError: no such thing" in told
    assert "| 1 of 1 | ok |" in told and "| 1 of 2 | stopped after " in told and "| last | | | | not run |" in told
    assert "began" in told and "never seen" not in told
    said = capfd.readouterr().err
    assert said.startswith("4 measurements, 0.05 minutes at most;")
    assert "[1/4] broken …\n[1/4] broken: 0 s, exit code 1" in said and "[3/4] hanging …\n    began\n" in said
    known = BENCH["earlier_parts"](tmp_path / "results")
    assert set(known) == {"broken", "good"}  # what was stopped is nothing to compare with


@pytest.mark.slow  # as above
def test_each_has_a_limit_of_its_own(tmp_path: Path) -> None:
    scripts = [
        script(tmp_path, "hanging", "import time; time.sleep(600)"),
        script(tmp_path, "leaving", "import subprocess; subprocess.Popen(['sleep', '600']); print('left')"),
        script(tmp_path, "last", "print('FAIL  speed: 3'); raise SystemExit(1)"),
    ]
    path, code = BENCH["measure"](scripts, tmp_path / "results", 600.0, 2.0)
    told = path.read_text(encoding="utf-8")
    assert code == 1 and re.search(r"\| hanging \| \d+ \| none \|  \| stopped after \d+ s \|", told)
    assert "|  | ok |" in told and "| 0 of 1 | a bar is missed |" in told


def test_a_quick_run_is_compared_with_quick_ones_alone(tmp_path: Path) -> None:
    results = tmp_path / "results"
    start = script(
        tmp_path, "start", "import sys; print(f'words {len(sys.argv)}'); print('FAIL  speed: 3'); sys.exit(1)"
    )
    path, code = BENCH["measure"]([start], results)
    assert code == 1 and "words 1" in path.read_text(encoding="utf-8")
    quick, code = BENCH["measure"]([start], results, quick=True)
    told = quick.read_text(encoding="utf-8")
    assert code == 0 and "words 3" in told, "it was told to do little, and misses what that little cannot hold"
    assert "| none | 0 of 1 | a bar is missed |" in told
    assert set(BENCH["earlier_parts"](results)) == {"start"}
    script(tmp_path, "start", "raise ValueError")
    assert BENCH["measure"]([start], tmp_path / "other", quick=True)[1] == 1


def test_every_script_has_a_quick_mode() -> None:
    scripts = {path.stem for path in (ROOT / "bench").glob("*.py")} - BENCH["NOT_ALONE"]
    assert scripts == set(BENCH["QUICK"])


@pytest.mark.slow  # as above
def test_what_a_stopped_script_started_ends_with_it(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    text = (
        f"import subprocess; child = subprocess.Popen(['sleep', '600']); open({str(pid)!r}, 'w').write(str(child.pid))"
    )
    BENCH["run"](script(tmp_path, "parent", f"{text}\nchild.wait()"), 1.5)
    deadline = time.monotonic() + 10
    while _is_alive(int(pid.read_text())) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_alive(int(pid.read_text()))


def _is_alive(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(done.stdout.strip()) and not done.stdout.startswith("Z")


def test_every_script_is_named() -> None:
    ran = subprocess.run([sys.executable, "-m", "bench", "--list"], cwd=ROOT, capture_output=True, text=True)
    named = {line.split()[0] for line in ran.stdout.splitlines()}
    assert {"start", "graph", "installed_size"} <= named and named.isdisjoint({"harness", "retrieval"})


def test_replies_are_read_and_refused_as_their_names_say() -> None:
    """The quickest of the scripts, in small: what it measures is still there."""
    command = [sys.executable, "bench/dialect.py", "--megabytes", "0.01", "--rounds", "1"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert ran.returncode in (0, 1) and ran.stderr == "", ran.stderr  # 1: a bar that so little work cannot hold
    rungs = [line.split("|")[2].strip() for line in ran.stdout.splitlines() if line.startswith("| ")][1:]
    assert set(rungs) == {"json", "stripped", "tags", "fence", "scan", "repair", "refused"}
