"""What the benches share: a scripted model, a fresh home and project, and timed runs of a command."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests"))
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Place:
    project: Path
    home: Path

    def env(self, more: Mapping[str, str] = {}) -> dict[str, str]:
        return {"PATH": os.environ["PATH"], "HOME": str(self.home), "LANG": "C.UTF-8", **more}


@contextmanager
def place(files: Mapping[str, str] = {}) -> Iterator[Place]:
    with tempfile.TemporaryDirectory(prefix="nebula-bench-") as folder:
        here = Place(Path(folder, "project"), Path(folder, "home"))
        here.project.mkdir()
        here.home.mkdir()
        for name, text in files.items():
            (here.project / name).parent.mkdir(parents=True, exist_ok=True)
            (here.project / name).write_text(text, encoding="utf-8")
        yield here


@contextmanager
def doing(what: str) -> Iterator[None]:
    """Tell what goes on and, at its end, how long it took; beside the results, so that they can be kept alone."""
    print(f"  {what} … ", end="", file=sys.stderr, flush=True)
    began = time.monotonic()
    done = "broke off"
    try:
        yield
        done = "done"
    finally:
        print(f"{done} after {time.monotonic() - began:.1f} s", file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Run:
    started: float
    """On the monotonic clock, the same in every process of the machine."""
    seconds: float
    peak_mib: float
    cpu_s: float
    code: int


def timed(argv: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Run:
    started = time.monotonic()
    process = subprocess.Popen(
        argv, cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - started
    return Run(started, seconds, usage.ru_maxrss / 1024, usage.ru_utime + usage.ru_stime, process.returncode)


def median(values: Sequence[float]) -> float:
    return statistics.median(values)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    print(f"\n## {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")


def bar(name: str, value: float, limit: float, unit: str = "", at_least: bool = False) -> bool:
    holds = value >= limit if at_least else value <= limit
    sign = "≥" if at_least else "≤"
    print(f"{'PASS' if holds else 'FAIL'}  {name}: {value:.3g}{unit} ({sign} {limit:.3g}{unit})")
    return holds
