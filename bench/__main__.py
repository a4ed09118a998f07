"""All measurements by one command: a dated table with the facts of the machine, beside the last one.

    python -m bench                    every script that needs nothing set up
    python -m bench start overhead     these
    python -m bench --list             what there is, and how long each took the last time
    python -m bench --minutes 30       no more than that in all; what does not come to its turn is named
    python -m bench --quick            very little of everything, in some minutes: whether each script still works

Each result is a Markdown file in bench/results, named by its date: first a table, then every number that is more than a
fifth away from the last result of its script, then what each script printed. It is written anew after each of them, so
nothing that was measured is lost to one that fails or to Ctrl-C. What a script prints is shown as it comes, and once a
minute how long it has been at work; after a quarter of an hour (`--limit`) it is stopped, and the table says so.
Machines are noisy: look at a ratio before you believe a time. A quick run is compared with quick ones alone, and its
bars mean nothing.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import threading
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
QUICK = {
    "agent": ["--turns", "24", "--runs", "1", "--messages", "300", "--long", "40"],
    "batch": ["--tasks", "4"],
    "blame": ["--lines", "400", "--turns", "30", "--others", "20"],
    "dialect": ["--megabytes", "0.05", "--rounds", "2"],
    "gateway": ["--rounds", "2", "--requests", "40"],
    "graph": ["300"],
    "index": ["--tree", str(HERE.parent / "src")],
    "installed_size": ["--peers", ""],
    "orchestrator": ["--steps", "4", "--runs", "1", "--tasks", "6"],
    "overhead": ["--turns", "12", "--runs", "1"],
    "page": ["--clients", "4", "--events", "8", "--nodes", "300"],
    "race": ["--tries", "2", "--files", "200", "--seconds", "0.5"],
    "sandbox": ["--runs", "3", "--files", "1200"],
    "start": ["--runs", "3"],
}
"""What `--quick` says to each script."""
_QUICK_FILE = "-quick.md"
LIMIT_S = 900.0
"""Of one script; then it is stopped, and counts as failed."""
_SIGN_OF_LIFE_S = 60.0
MINUTES = 90.0
STOPPED = -1
INTERRUPTED = 130
_TO_END_S = 10.0
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?:e[+-]\d+)?(?![\w.]*\w\d)")
_TOOK = re.compile(r"^(\d+) s, (?:exit code (-?\d+)|stopped)$")
_BAR = re.compile(r"^(PASS|FAIL)  ", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """What one script came to."""

    name: str
    seconds: float
    code: int
    said: str

    @property
    def bars(self) -> list[str]:
        return _BAR.findall(self.said)

    def __str__(self) -> str:
        how = "stopped" if self.code == STOPPED else f"exit code {self.code}"
        return f"## {self.name}\n\n{self.seconds:.0f} s, {how}\n\n```\n{self.said}\n```\n"


def main(argv: Sequence[str] | None = None) -> int:
    scripts = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_ALONE}
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and compare with the last time.")
    parser.add_argument("names", nargs="*", choices=[*scripts, []], metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name the scripts, with their last times, and end")
    parser.add_argument("--minutes", type=float, default=MINUTES, metavar="N", help="at most so long in all (90)")
    parser.add_argument("--limit", type=float, default=LIMIT_S, metavar="S", help="at most so long for each (900)")
    parser.add_argument("--quick", action="store_true", help="very little of everything: whether each still works")
    options = parser.parse_args(argv)
    if options.list:
        last = earlier_parts(RESULTS, quick=options.quick)
        print("\n".join(f"{name:16}{_took(last.get(name))}".rstrip() for name in scripts))
        return 0
    chosen = [scripts[name] for name in options.names or scripts]
    path, code = measure(chosen, RESULTS, options.minutes * 60, options.limit, quick=options.quick)
    print(path.read_text(encoding="utf-8"))
    return code


def measure(
    scripts: Sequence[Path],
    folder: Path,
    limit_s: float = MINUTES * 60,
    each_s: float = LIMIT_S,
    *,
    quick: bool = False,
) -> tuple[Path, int]:
    """Run the scripts one after another, write the result of today into the folder, and return it with an exit code.

    Of a quick run the code says whether all came to their ends; so little work can miss any bar."""
    folder.mkdir(exist_ok=True)
    last, machine, now = earlier_parts(folder, quick=quick), facts(), datetime.now(UTC)
    path = folder / f"{now:%Y-%m-%d-%H%M%S}{_QUICK_FILE if quick else '.md'}"
    known = [last[script.stem][1] for script in scripts if script.stem in last]
    _tell(f"{len(scripts)} measurements, {limit_s / 60:g} minutes at most; {len(known)} of them took ", end="")
    _tell(f"{sum(_seconds_of(each) for each in known) / 60:.0f} minutes the last time.")
    parts: list[Part] = []
    left = list(scripts)
    end = time.monotonic() + limit_s
    code = 0
    while left and time.monotonic() < end:
        script = left.pop(0)
        _tell(f"[{len(parts) + 1}/{len(scripts)}] {script.stem}{_took(last.get(script.stem), ' (', ')')} …")
        try:
            part = run(script, min(each_s, end - time.monotonic()), QUICK.get(script.stem, ()) if quick else ())
        except KeyboardInterrupt:
            left, code = [script, *left], INTERRUPTED
            break
        _tell(f"[{len(parts) + 1}/{len(scripts)}] {script.stem}: {part.seconds:.0f} s, {_outcome(part)}")
        parts.append(part)
        path.write_text(report(now, machine, parts, left, last), encoding="utf-8")
    path.write_text(report(now, machine, parts, left, last), encoding="utf-8")
    return path, code or int(bool(left) or any(part.code and not (quick and _missed_bars(part)) for part in parts))


def run(script: Path, limit_s: float, words: Sequence[str] = ()) -> Part:
    """Run one script. Past its time it is stopped with all that it started; what it printed until then is kept."""
    began = time.monotonic()
    said: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as complaints:
        process = subprocess.Popen(
            [sys.executable, "-u", str(script), *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=complaints,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        reader = threading.Thread(target=_read, args=(process, said), daemon=True)
        reader.start()
        try:
            code = _wait(process, began + limit_s)
        finally:
            _end_group(process)
        reader.join(_TO_END_S)  # not for ever: what left its group may hold the pipe
        complaints.seek(0)
        told = "".join(said) + (complaints.read() if code else "")
    return Part(script.stem, time.monotonic() - began, code, told.rstrip())


def _read(process: subprocess.Popen[str], said: list[str]) -> None:
    assert process.stdout is not None
    with process.stdout:
        for line in process.stdout:
            said.append(line)
            _tell(f"    {line.rstrip()}")


def _wait(process: subprocess.Popen[str], end: float) -> int:
    """Return the exit code, or STOPPED where the time is up before there is one."""
    began = time.monotonic()
    while (left := end - time.monotonic()) > 0:
        try:
            return process.wait(min(left, _SIGN_OF_LIFE_S))
        except subprocess.TimeoutExpired:
            _tell(f"    … {time.monotonic() - began:.0f} s")
    return STOPPED


def _end_group(process: subprocess.Popen[str]) -> None:
    """End whatever a script left at work, and the script itself where it still is."""
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, sign)
        except ProcessLookupError:
            return
        deadline = time.monotonic() + _TO_END_S
        while time.monotonic() < deadline and _lives(process):
            time.sleep(0.05)


def _lives(process: subprocess.Popen[str]) -> bool:
    process.poll()  # one that ended and was not waited for would count
    try:
        os.killpg(process.pid, 0)
    except ProcessLookupError:
        return False
    return True


def report(
    now: datetime, machine: str, parts: Sequence[Part], left: Sequence[Path], last: dict[str, tuple[str, str]]
) -> str:
    """Return the whole text: the table, what is notably another number than the last time, and all that was printed."""
    rows = ["| measurement | seconds | the last time | bars that hold | end |", "|---|---|---|---|---|"]
    notable = []
    for part in parts:
        before = last.get(part.name)
        held = f"{part.bars.count('PASS')} of {len(part.bars)}" if part.bars else ""
        when = f"{_seconds_of(before[1]):.0f} ({before[0]})" if before else "none"
        rows.append(f"| {part.name} | {part.seconds:.0f} | {when} | {held} | {_outcome(part)} |")
        notable += [f"- {line}" for line in compare(before[1], str(part))] if before else []
    rows += [f"| {script.stem} | | | | not run |" for script in left]
    changed = "\n".join(notable) or "- nothing"
    head = f"# {now:%Y-%m-%d %H:%M} UTC\n\n{machine}\n\n" + "\n".join(rows)
    return f"{head}\n\nMore than a fifth away from the last time:\n\n{changed}\n\n" + "\n".join(map(str, parts))


def earlier_parts(folder: Path, *, quick: bool = False) -> dict[str, tuple[str, str]]:
    """Return by name the date and the text of the last result of each script; one that was stopped says nothing."""
    found: dict[str, tuple[str, str]] = {}
    for path in sorted(each for each in folder.glob("*.md") if each.name.endswith(_QUICK_FILE) == quick):
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
    if part.code == STOPPED:
        return f"stopped after {part.seconds:.0f} s"
    return "ok" if part.code == 0 else "a bar is missed" if _missed_bars(part) else f"exit code {part.code}"


def _missed_bars(part: Part) -> bool:
    return part.code == 1 and "FAIL" in part.bars


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
