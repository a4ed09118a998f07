"""Many tasks at a time on one machine: memory and throughput of `evercontext batch`, beside the same tasks one by one.

Each task plans one step and writes one file against a scripted model that answers at once, in a process and a place of
its own over a small project. What is measured is ours: isolation, planning, the loop, the guard, the records. A second
run with a model that takes two seconds for each answer shows what doing them side by side is for.

batch.py [--tasks 100]
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import threading
from dataclasses import replace
from pathlib import Path

from harness import BIN, bar, place, table, timed
from scripted_model import Fault, RecordedRequest, ScriptedModel, Turn
from scripted_model.batch import batch_model

REPLIES = 3
"""Model calls of a task: the plan, a reply that writes, a last word."""
SLOW_S = 2.0
LOOK_S = 0.2
FILES = {f"app/module_{number}.py": f"def f{number}():\n    return {number}\n" for number in range(20)}


def slow(request: RecordedRequest) -> Turn | Fault:
    return replace(batch_model(request), fault=Fault.slow(SLOW_S))


class MemoryOfChildren(threading.Thread):
    """Looks now and then at the memory of all processes that this one has started, shared pages counted once."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.peak_mib = 0.0
        self._ended = threading.Event()

    def __enter__(self) -> MemoryOfChildren:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self.join()

    def run(self) -> None:
        while not self._ended.wait(LOOK_S):
            self.peak_mib = max(self.peak_mib, sum(map(_memory, _below(os.getpid()))) / 1024)


def _below(process: int) -> list[int]:
    try:
        lists = [each.read_text("ascii") for each in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:  # it has ended
        return []
    children = [int(each) for text in lists for each in text.split()]
    return [*children, *(below for each in children for below in _below(each))]


def _memory(process: int) -> int:
    """KiB of a process, what it shares with others in parts."""
    try:
        with open(f"/proc/{process}/smaps_rollup", encoding="ascii") as lines:
            return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


def run(parallel: int, tasks: int, *, is_slow: bool = False) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, peak MiB."""
    with place({f"project/{name}": text for name, text in FILES.items()}) as here:
        lines = [json.dumps({"task": f"write made_{number}.py", "root": "project"}) for number in range(tasks)]
        file = here.project / "tasks.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        with ScriptedModel(slow if is_slow else batch_model) as model, MemoryOfChildren() as memory:
            command = [str(BIN / "evercontext"), "batch", str(file), "--parallel", str(parallel)]
            done = timed(command, here.project, here.env(model.env()))
        if done.code:
            raise SystemExit(f"a task failed; see {here.project}")
        kept = [each for each in Path(here.project, "tasks.results").iterdir() if each.is_dir()]
        if len(kept) != tasks:
            raise SystemExit(f"{len(kept)} results of {tasks}")
        return done.seconds, done.cpu_s, memory.peak_mib


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=100)
    wanted = parser.parse_args().tasks
    rows = []
    figures = {}
    for name, parallel, tasks, is_slow in (
        ("one task", 1, 1, False),
        (f"{wanted} tasks, one by one", 1, wanted, False),
        (f"{wanted} tasks, {wanted} at a time", wanted, wanted, False),
        (f"{wanted} tasks, {wanted} at a time, {SLOW_S:g} s a reply", wanted, wanted, True),
    ):
        seconds, cpu, memory = figures[name] = run(parallel, tasks, is_slow=is_slow)
        speed, each = f"{tasks / seconds:.1f}", f"{1000 * cpu / tasks:.0f}"
        rows.append((name, f"{seconds:.2f}", speed, each, f"{memory:.0f}"))
    table("evercontext batch", ("run", "seconds", "tasks a second", "CPU ms a task", "peak MiB"), rows)
    one, waiting = figures["one task"], list(figures.values())[-1]
    in_a_row = wanted * REPLIES * SLOW_S
    holds = [
        bar("memory for each further task at work", (waiting[2] - one[2]) / (wanted - 1), 24, " MiB"),
        bar(
            f"{wanted} slow tasks side by side, beside one after the other",
            in_a_row / waiting[0],
            20,
            "x",
            at_least=True,
        ),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
