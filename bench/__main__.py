"""All measurements by one command: a dated table with the facts of the machine, beside the last one.

    python -m bench                    every script that needs nothing set up
    python -m bench start overhead     these
    python -m bench --list             what there is, and how long each took the last time
    python -m bench --minutes 30       no more than that in all; what does not come to its turn is named

Each result is a Markdown file in bench/results, named by its date: first a table, then every number that is more than a
fifth away from the last result of its script, then what each script printed. It is written anew after each of them, so
nothing that was measured is lost to one that fails or to Ctrl-C. Machines are noisy: look at a ratio before you
believe a time.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
NOT_ALONE = {"__main__", "__init__", "harness", "page_browser", "page_peers", "retrieval"}
"""Parts of others, and what has to be told where its data are."""
NOTABLE = 0.2
LIMIT_S = 900.0
"""Of one script; then it is stopped, and counts as failed."""
MINUTES = 90.0
STOPPED = -1
INTERRUPTED = 130
_TO_END_S = 10.0
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\w\d)")
_TOOK = re.compile(r"^(\d+) s, (?:exit code (-?\d+)|stopped)$")
_BAR = re.compile(r"^(PASS|FAIL)  ", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """What one script came to."""

    name: str
    seconds: float
    code: int
    said: str

    def __str__(self) -> str:
        how = "stopped" if self.code == STOPPED else f"exit code {self.code}"
        return f"## {self.name}\n\n{self.seconds:.0f} s, {how}\n\n```\n{self.said}\n```\n"


def main(argv: Sequence[str] | None = None) -> int:
    scripts = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_ALONE}
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and compare with the last time.")
    parser.add_argument("names", nargs="*", choices=[*scripts, []], metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name the scripts, with their last times, and end")
    parser.add_argument("--minutes", type=float, default=MINUTES, metavar="N", help="at most so long in all (90)")
    options = parser.parse_args(argv)
    if options.list:
        last = earlier_parts(RESULTS)
        print("\n".join(f"{name:16}{_took(last.get(name))}".rstrip() for name in scripts))
        return 0
    path, code = measure([scripts[name] for name in options.names or scripts], RESULTS, options.minutes * 60)
    print(path.read_text(encoding="utf-8"))
    return code


def measure(scripts: Sequence[Path], folder: Path, limit_s: float = MINUTES * 60) -> tuple[Path, int]:
    """Run the scripts one after another, write the result of today into the folder, and return it with an exit code."""
    folder.mkdir(exist_ok=True)
    last, machine, now = earlier_parts(folder), facts(), datetime.now(UTC)
    path = folder / f"{now:%Y-%m-%d-%H%M%S}.md"
    known = [last[script.stem][1] for script in scripts if script.stem in last]
    _tell(f"{len(scripts)} measurements, {limit_s / 60:g} minutes at most; {len(known)} of them took ", end="")
    _tell(f"{sum(_seconds_of(each) for each in known) / 60:.0f} minutes the last time.")
    parts: list[Part] = []
    left = list(scripts)
    end = time.monotonic() + limit_s
    code = 0
    while left and time.monotonic() < end:
        script = left.pop(0)
        _tell(f"[{len(parts) + 1}/{len(scripts)}] {script.stem}{_took(last.get(script.stem), ' (', ')')} … ", end="")
        try:
            part = run(script, min(LIMIT_S, end - time.monotonic()))
        except KeyboardInterrupt:
            left, code = [script, *left], INTERRUPTED
            break
        _tell(f"{part.seconds:.0f} s, {_outcome(part)}")
        parts.append(part)
        path.write_text(report(now, machine, parts, left, last), encoding="utf-8")
    path.write_text(report(now, machine, parts, left, last), encoding="utf-8")
    return path, code or int(bool(left) or any(part.code for part in parts))


def run(script: Path, limit_s: float) -> Part:
    """Run one script. Past its time it is stopped with all that it started; what it printed until then is kept."""
    began = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, str(script)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
        start_new_session=True,
    )
    try:
        said, complained = process.communicate(timeout=limit_s)
        code = process.returncode
    except subprocess.TimeoutExpired:
        said, complained = _stop(process)
        code = STOPPED
    except KeyboardInterrupt:
        _stop(process)
        raise
    return Part(script.stem, time.monotonic() - began, code, (said + (complained if code else "")).rstrip())


def _stop(process: subprocess.Popen[str]) -> tuple[str, str]:
    os.killpg(process.pid, signal.SIGTERM)
    try:
        return process.communicate(timeout=_TO_END_S)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return process.communicate()


def report(
    now: datetime, machine: str, parts: Sequence[Part], left: Sequence[Path], last: dict[str, tuple[str, str]]
) -> str:
    """Return the whole text: the table, what is notably another number than the last time, and all that was printed."""
    rows = ["| measurement | seconds | the last time | bars that hold | end |", "|---|---|---|---|---|"]
    notable = []
    for part in parts:
        before = last.get(part.name)
        bars = _BAR.findall(part.said)
        held = f"{bars.count('PASS')} of {len(bars)}" if bars else ""
        when = f"{_seconds_of(before[1]):.0f} ({before[0]})" if before else "none"
        rows.append(f"| {part.name} | {part.seconds:.0f} | {when} | {held} | {_outcome(part)} |")
        notable += [f"- {line}" for line in compare(before[1], str(part))] if before else []
    rows += [f"| {script.stem} | | | | not run |" for script in left]
    changed = "\n".join(notable) or "- nothing"
    head = f"# {now:%Y-%m-%d %H:%M} UTC\n\n{machine}\n\n" + "\n".join(rows)
    return f"{head}\n\nMore than a fifth away from the last time:\n\n{changed}\n\n" + "\n".join(map(str, parts))


def earlier_parts(folder: Path) -> dict[str, tuple[str, str]]:
    """Return by name the date and the text of the last result of each script; one that was stopped says nothing."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(folder.glob("*.md")):
        for text in re.split(r"^(?=## \w+\n\n\d+ s, )", path.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]:
            head = text.splitlines()
            if (took := _TOOK.match(head[2])) and took[2] is not None:
                found[head[0].removeprefix("## ")] = path.stem, text
    return found


def _seconds_of(text: str) -> float:
    took = _TOOK.match(text.splitlines()[2])
    return float(took[1]) if took else 0.0


def _took(before: tuple[str, str] | None, left: str = "", right: str = "") -> str:
    return f"{left}{_seconds_of(before[1]):.0f} s the last time{right}" if before else ""


def _outcome(part: Part) -> str:
    return "stopped" if part.code == STOPPED else "ok" if part.code == 0 else f"exit code {part.code}"


def _tell(words: str, end: str = "\n") -> None:
    print(words, end=end, file=sys.stderr, flush=True)


def facts() -> str:
    """Return what a reader has to know of the machine."""
    system = f"{platform.system()} {platform.release()} {platform.machine()}"
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    rows = {
        "system": system,
        "processor": f"{_processor()}, {os.cpu_count()} cores",
        "memory": f"{memory:.0f} GiB",
        "load before (1, 5, 15 minutes)": load,
        "Python": platform.python_version(),
        "commit": _commit(),
    }
    return "\n".join(["| machine | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows.items())])


def compare(before: str, after: str) -> list[str]:
    """Return a line for each number that is notably another one in the same line of the same script."""
    old = dict(_numbers(before))
    found = []
    for key, value in _numbers(after):
        known = old.get(key)
        if known and abs(value - known) / known > NOTABLE:
            script, line, place = key
            found.append(f"{script}: {line} (number {place + 1}): {known:g} → {value:g} ({value / known - 1:+.0%})")
    return found


def _numbers(text: str) -> Iterator[tuple[tuple[str, str, int], float]]:
    script, inside = "", False
    for line in text.splitlines():
        if line.startswith("```"):
            inside = not inside
        elif inside:
            label = " ".join(_NUMBER.sub("…", line).split())
            for place, number in enumerate(_NUMBER.findall(line)):
                yield (script, label, place), float(number.replace(",", ""))
        elif line.startswith("## "):
            script = line[3:]


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next((line.partition(":")[2].strip() for line in file if line.startswith("model name")), "?")
    except OSError:
        return platform.processor() or "?"


def _commit() -> str:
    done = subprocess.run(
        ["git", "log", "-1", "--format=%h %cs"], cwd=HERE, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or "?"


if __name__ == "__main__":
    sys.exit(main())
