"""What a layer costs: `true` in a layer beside plain `sh -c true` (and bubblewrap, where it is installed), over a
small and a large project; reading back what a command changed. In memory, and on disk as on kernels before 6.6.

sandbox.py [--runs 40] [--files 7000]
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

from harness import bar, median, place, table
from nebula.sandbox.command import run
from nebula.sandbox.contract import Command
from nebula.sandbox.launcher import Launchers
from nebula.sandbox.secrets import SecretFinder

CHANGED = 1000


def is_secret(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.startswith(".env") or name.endswith((".pem", ".key"))


def seconds(action: Callable[[], object]) -> tuple[float, float]:
    """On the clock, and on the processors: a busy machine adds little to the second."""
    started, before = time.perf_counter(), processor_seconds()
    action()
    return time.perf_counter() - started, processor_seconds() - before


def processor_seconds() -> float:
    both = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in both)


def fill(project: Path, files: int) -> None:
    for number in range(files):
        folder = project / f"package{number // 100}" / f"part{number % 100 // 10}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"module{number % 10}.py").write_text(f"value = {number}\n" * 20, encoding="utf-8")
    (project / ".env").write_text("KEY=secret\n", encoding="utf-8")


def in_layer(project: Path, finder: SecretFinder, launchers: Launchers | None = None, disk: Path | None = None) -> None:
    run(Command(str(project), "true", secrets=finder, disk=disk and str(disk)), launchers=launchers).close()


def bubblewrap(project: Path) -> list[str]:
    program = shutil.which("bwrap")
    if program is None:
        return []
    system = [word for name in ("bin", "sbin", "lib", "lib64") for word in ("--symlink", f"usr/{name}", f"/{name}")]
    words = [
        program,
        "--unshare-all",
        "--die-with-parent",
        "--ro-bind",
        "/usr",
        "/usr",
        *system,
        "--ro-bind",
        "/etc",
        "/etc",
    ]
    return [
        *words,
        "--proc",
        "/proc",
        "--dev",
        "/dev",
        "--tmpfs",
        "/tmp",
        "--bind",
        str(project),
        str(project),
        "sh",
        "-c",
        "true",
    ]


def starts(small: Path, large: Path, home: Path, runs: int) -> dict[str, list[tuple[float, float]]]:
    """Interleaved, so that what else the machine does falls on all alike."""
    finder = SecretFinder(is_secret)
    outside = bubblewrap(small)
    found = defaultdict(list)
    launchers = Launchers()
    for number in range(runs + 1):
        rounds = {
            "sh -c true": lambda: subprocess.run(["sh", "-c", "true"], check=True),
            "python -I -S -c 'import ctypes'": lambda: subprocess.run(
                [sys.executable, "-I", "-S", "-c", "import ctypes"], check=True
            ),
            "layer, first command": lambda: in_layer(small, finder),
            "layer, small project": lambda: in_layer(small, finder, launchers),
            "layer, large project": lambda: in_layer(large, finder, launchers),
            "layer, large project, first look for secrets": lambda: in_layer(large, SecretFinder(is_secret)),
            "layer on disk, small project": lambda: in_layer(small, finder, launchers, home),
            "layer on disk, large project": lambda: in_layer(large, finder, launchers, home),
        }
        if outside:
            rounds["bwrap, no overlay"] = lambda: subprocess.run(outside, check=True)
        for name, action in rounds.items():
            time.sleep(0.05)  # as between the commands of a model: the next launcher gets ready
            taken = seconds(action)
            if number:  # the first round only warms the caches
                found[name].append(taken)
    launchers.close()
    return found


def reading_back(large: Path, home: Path | None, runs: int) -> list[float]:
    """The whole run less the command itself, which is timed inside; on disk, the removal is part of it."""
    line = f"for f in $(find . -name '*.py' | head -{CHANGED}); do echo '# more' >> $f; done"
    found = []
    for _ in range(runs):
        began = time.perf_counter()
        with run(Command(str(large), line, disk=home and str(home))) as done:
            if len(done.changes.changes) != CHANGED:
                raise SystemExit(f"{len(done.changes.changes)} changes were found, not {CHANGED}")
        found.append(time.perf_counter() - began - done.duration_s)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--files", type=int, default=7000)
    options = parser.parse_args()
    with place() as first, place() as second:
        fill(first.project, 10)
        fill(second.project, options.files)
        measured = starts(first.project, second.project, first.home, options.runs)
        back = reading_back(second.project, None, 5)
        back_from_disk = reading_back(second.project, first.home, 5)
    found = {name: [taken for taken, _ in values] for name, values in measured.items()}
    best = {name: min(values) for name, values in found.items()}
    work = {name: median([each for _, each in values]) for name, values in measured.items()}
    rows = [
        [name, *(f"{value * 1000:.1f}" for value in (median(found[name]), best[name], work[name]))] for name in found
    ]
    head = ["what", "median ms", "best ms", "processor ms"]
    table(f"Start, {options.runs} runs, interleaved", head, rows)
    what = f"read back {CHANGED} changed files of {options.files}"
    both = ((what, back), (f"{what}, on disk", back_from_disk))
    table(
        "Reading back",
        head[:3],
        [[name, f"{median(each) * 1000:.0f}", f"{min(each) * 1000:.0f}"] for name, each in both],
    )
    print()
    holds = True
    for name in ("layer, first command", "layer, small project"):
        more = (best[name] - best["sh -c true"]) * 1000
        holds &= bar(f"{name}: more than sh -c true (best of all runs)", more, 30, " ms")
    ratio = work["layer, large project"] / work["layer, small project"]
    holds &= bar(f"{options.files} untouched files / 10 (processor time)", ratio, 1.25, "×")
    holds &= bar(what, median(back), 0.5, " s")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
