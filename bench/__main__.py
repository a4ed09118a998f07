"""All measurements by one command: a dated table with the facts of the machine, beside the last one.

    python -m bench                    every script that needs nothing set up
    python -m bench start overhead     these
    python -m bench --list

Each result is a Markdown file in bench/results, named by its date, with what every script printed. Whatever is more
than a fifth away from the last result is listed first; machines are noisy, so look at a ratio before you believe a
time.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

HERE = Path(__file__).parent
RESULTS = HERE / "results"
NOT_ALONE = {"__main__", "__init__", "harness", "page_browser", "page_peers"}
"""Parts of others."""
NOTABLE = 0.2
_NUMBER = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+)?(?![\w.]*\w\d)")
_LIMIT_S = 1800


def main(argv: Sequence[str] | None = None) -> int:
    scripts = {path.stem: path for path in sorted(HERE.glob("*.py")) if path.stem not in NOT_ALONE}
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure, and compare with the last time.")
    parser.add_argument("names", nargs="*", choices=[*scripts, []], metavar="NAME")
    parser.add_argument("--list", action="store_true", help="name the scripts and end")
    options = parser.parse_args(argv)
    if options.list:
        print("\n".join(scripts))
        return 0
    path, code = measure([scripts[name] for name in options.names or scripts], RESULTS)
    print(path.read_text(encoding="utf-8"))
    return code


def measure(scripts: Sequence[Path], folder: Path) -> tuple[Path, int]:
    """Run the scripts one after another, write the result of today into the folder, and return it with an exit code."""
    folder.mkdir(exist_ok=True)
    earlier = max(folder.glob("*.md"), default=None, key=lambda path: path.name)
    parts, code = [], 0
    for script in scripts:
        began = time.monotonic()
        done = subprocess.run(
            [sys.executable, str(script)], capture_output=True, text=True, timeout=_LIMIT_S, check=False
        )
        code = code or done.returncode
        said = (done.stdout + (done.stderr if done.returncode else "")).rstrip()
        parts.append(
            f"## {script.stem}\n\n{time.monotonic() - began:.0f} s, exit code {done.returncode}\n\n```\n{said}\n```\n"
        )
    now = datetime.now(UTC)
    body = "\n".join(parts)
    compared = compare(earlier.read_text(encoding="utf-8"), body) if earlier else []
    since = f"Since {earlier.stem}:" if earlier else "The first result here."
    listed = "\n".join(f"- {line}" for line in compared) or ("- nothing notable" if earlier else "")
    head = f"# {now:%Y-%m-%d %H:%M} UTC\n\n{facts()}\n\n{since}\n\n{listed}\n"
    path = folder / f"{now:%Y-%m-%d-%H%M%S}.md"
    path.write_text(f"{head}\n{body}", encoding="utf-8")
    return path, code


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
        if line.startswith("## "):
            script = line[3:]
        elif line.startswith("```"):
            inside = not inside
        elif inside:
            label = " ".join(_NUMBER.sub("…", line).split())
            for place, number in enumerate(_NUMBER.findall(line)):
                yield (script, label, place), float(number.replace(",", ""))


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
