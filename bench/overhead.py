"""50 tool turns: our own time between the end of one response and the next request; growth; peak memory.

overhead.py [--turns 50] [--runs 5]
"""

from __future__ import annotations

import argparse
import sys
from itertools import pairwise

from harness import BIN, bar, median, place, table, timed
from scripted_model import Call, ScriptedModel, Turn

FILES = {f"src/module_{n}.py": f"def function_{n}():\n    return {n}\n" * 20 for n in range(50)}


def gaps(turns: int) -> tuple[list[float], float, int]:
    """Milliseconds between response and next request for each turn, peak MiB, and bytes of the last request."""
    script = [Turn("", [Call("readFile", {"path": f"src/module_{n % 50}.py"})]) for n in range(turns)]
    with place(FILES) as here, ScriptedModel([*script, Turn("Done.")]) as server:
        run = timed([str(BIN / "nebula"), "-p", "read them all"], here.project, here.env(server.env()))
        if run.code != 0:
            raise SystemExit(f"nebula ended with exit code {run.code}")
        sent = server.turns
        return (
            [(later.arrived - (sooner.answered or 0)) * 1000 for sooner, later in pairwise(sent)],
            run.peak_mib,
            len(sent[-1].body),
        )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args()
    runs = [gaps(options.turns) for _ in range(options.runs)]
    everything = sorted(gap for run, _, _ in runs for gap in run)
    first = median([median(run[:10]) for run, _, _ in runs])
    last = median([median(run[-10:]) for run, _, _ in runs])
    rows = [
        ["median turn, ms", f"{median(everything):.2f}"],
        ["p95 turn, ms", f"{everything[int(len(everything) * 0.95)]:.2f}"],
        ["first ten, ms", f"{first:.2f}"],
        ["last ten, ms", f"{last:.2f}"],
        ["peak memory, MiB", f"{median([peak for _, peak, _ in runs]):.0f}"],
        ["last request, KiB", f"{runs[0][2] / 1024:.0f}"],
    ]
    table(f"{options.turns} tool turns, {options.runs} runs", ["what", "value"], rows)
    print()
    holds = bar("median turn", median(everything), 5, " ms")
    holds &= bar("last ten / first ten", last / first, 1.2, "×")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
