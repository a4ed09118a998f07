"""Many tasks at a time on one machine: memory and throughput of `evercontext batch`, beside the same tasks one by one.

Each task plans one step and writes one file against a scripted model that answers at once; a copy of a small project
is made for each. What is measured is ours: isolation, planning, the loop, the guard, the records. A second run with a
model that takes two seconds for each answer shows what doing them side by side is for.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path

from harness import BIN, bar, place, table, timed
from scripted_model import Fault, RecordedRequest, ScriptedModel, Turn
from scripted_model.batch import batch_model

TASKS = 100
REPLIES = 3
"""Model calls of a task: the plan, a reply that writes, a last word."""
SLOW_S = 2.0
FILES = {f"app/module_{number}.py": f"def f{number}():\n    return {number}\n" for number in range(20)}


def slow(request: RecordedRequest) -> Turn | Fault:
    return replace(batch_model(request), fault=Fault.slow(SLOW_S))


def run(parallel: int, tasks: int = TASKS, *, is_slow: bool = False) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds, peak MiB."""
    with place({f"project/{name}": text for name, text in FILES.items()}) as here:
        lines = [json.dumps({"task": f"write made_{number}.py", "root": "project"}) for number in range(tasks)]
        file = here.project / "tasks.jsonl"
        file.write_text("\n".join(lines), encoding="utf-8")
        with ScriptedModel(slow if is_slow else batch_model) as model:
            command = [str(BIN / "evercontext"), "batch", str(file), "--parallel", str(parallel)]
            done = timed(command, here.project, here.env(model.env()))
        if done.code:
            raise SystemExit(f"a task failed; see {here.project}")
        kept = [each for each in Path(here.project, "tasks.results").iterdir() if each.is_dir()]
        if len(kept) != tasks:
            raise SystemExit(f"{len(kept)} results of {tasks}")
        return done.seconds, done.cpu_s, done.peak_mib


def main() -> int:
    rows = []
    figures = {}
    for name, parallel, tasks, is_slow in (
        ("one task", 1, 1, False),
        ("100 tasks, one by one", 1, TASKS, False),
        ("100 tasks, 100 at a time", TASKS, TASKS, False),
        (f"100 tasks, 100 at a time, {SLOW_S:g} s a reply", TASKS, TASKS, True),
    ):
        seconds, cpu, memory = figures[name] = run(parallel, tasks, is_slow=is_slow)
        speed, each = f"{tasks / seconds:.1f}", f"{1000 * cpu / tasks:.0f}"
        rows.append((name, f"{seconds:.2f}", speed, each, f"{memory:.0f}"))
    table("evercontext batch", ("run", "seconds", "tasks a second", "CPU ms a task", "peak MiB"), rows)
    one, together, waiting = figures["one task"], figures["100 tasks, 100 at a time"], list(figures.values())[-1]
    print(f"\n{(together[2] - one[2]) / (TASKS - 1):.2f} MiB for each further task at work")
    in_a_row = TASKS * REPLIES * SLOW_S
    holds = [
        bar("memory of 100 tasks at a time", together[2], 256, " MiB"),
        bar("100 slow tasks side by side, beside one after the other", in_a_row / waiting[0], 20, "x", at_least=True),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    sys.exit(main())
