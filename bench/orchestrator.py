"""What the orchestrator itself costs: a task and a step, with a model that answers at once; 100 tasks in parallel.

orchestrator.py [--steps 20] [--runs 5] [--tasks 100]

A step asks twice (a file is written, an answer is given). Its time is what passes between the model's answers and our
next requests, so the model's own is not in it. Beside it a bare client sends the same requests and does what nobody can
leave out: the file on the disk, and one line of record, before the next request leaves. Of each step the best of the
runs counts, for both: other programs on the machine are not what is measured.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from itertools import pairwise

from harness import BIN, bar, median, place, table, timed
from scripted_model import RecordedRequest, ScriptedModel, Turn
from scripted_model.planned import HERMES, plan, say, step, write

CONTENT = "def function():\n    return 1\n" * 20
BARE = f"""
import http.client, json, os, sys, urllib.parse
url = urllib.parse.urlsplit(os.environ["OLLAMA_HOST"])
server = http.client.HTTPConnection(url.hostname, url.port)
log = open("log.jsonl", "a")

def ask(*messages):
    body = json.dumps({{"model": "hermes3:8b", "messages": messages}})
    server.request("POST", "/api/chat", body, {{"content-type": "application/json"}})
    answer = server.getresponse().read().decode()
    log.write(json.dumps(answer) + "\\n")
    log.flush()
    return answer

ask({{"role": "system", "content": "You are the planner"}}, {{"role": "user", "content": "x"}})
for number in range(int(sys.argv[1])):
    goal = {{"role": "user", "content": f"Write file{{number}}.py"}}
    said = ask({{"role": "system", "content": "x"}}, goal)
    with open(f"file{{number}}.py", "w") as file:
        file.write({CONTENT!r})
        file.flush()
        os.fsync(file.fileno())
    ask({{"role": "system", "content": "x"}}, goal, {{"role": "assistant", "content": said}})
"""
PARALLEL = """
import asyncio, sys
from nebula.agent.orchestrator.run import run_task
from nebula.agent.orchestrator.task import TaskRequest
from nebula.config import load_settings

async def main():
    done = await asyncio.gather(*(run_task(load_settings(root), TaskRequest("write")) for root in sys.argv[1:]))
    sys.exit(any(each.final.exit_code for each in done))

asyncio.run(main())
"""


def answers(steps: int):
    def answer(request: RecordedRequest) -> Turn:
        messages = request.json["messages"]
        if messages[0]["content"].startswith("You are the planner"):
            return plan(*(step(str(number), f"Write file{number}.py") for number in range(steps)))
        if any(message["role"] == "assistant" for message in messages):
            return say("Written.")
        return write(messages[-1]["content"].removeprefix("Write "), CONTENT)

    return answer


@dataclass
class Measured:
    best_ms: dict[int, float] = field(default_factory=dict)
    """The best time of each step."""
    task_ms: list[float] = field(default_factory=list)
    peak_mib: list[float] = field(default_factory=list)

    def run(self, argv: list[str], steps: int) -> None:
        with place() as here, ScriptedModel(answers(steps), **HERMES) as server:
            run = timed(argv, here.project, here.env(server.env("ollama")))
            if run.code != 0:
                raise SystemExit(f"{argv} ended with exit code {run.code}")
            turns = server.turns
        for number in range(steps):
            ours = [turns[2 * number], *turns[1 + 2 * number : 3 + 2 * number]]
            gaps = [later.arrived - (sooner.answered or 0) for sooner, later in pairwise(ours)]
            self.best_ms[number] = min(1000 * sum(gaps), self.best_ms.get(number, float("inf")))
        models = sum((turn.answered or 0) - turn.complete for turn in turns)
        self.task_ms.append(1000 * (run.seconds - models))
        self.peak_mib.append(run.peak_mib)

    @property
    def step_ms(self) -> float:
        return median(list(self.best_ms.values()))

    def row(self, name: str) -> list[str]:
        p95 = sorted(self.best_ms.values())[int(len(self.best_ms) * 0.95)]
        figures = (self.step_ms, p95, min(self.task_ms), median(self.peak_mib))
        return [name, *(f"{figure:.1f}" for figure in figures)]


def together(tasks: int) -> tuple[float, float]:
    """Seconds, and the peak of memory in MiB, of so many tasks of three steps at once in one process."""
    with place() as here, ScriptedModel(answers(3), **HERMES) as server:
        roots = [here.project / str(number) for number in range(tasks)]
        for root in roots:
            root.mkdir()
        env = here.env(server.env("ollama"))
        run = timed([sys.executable, "-c", PARALLEL, *map(str, roots)], here.project, env)
        if run.code != 0:
            raise SystemExit(f"{tasks} tasks ended with exit code {run.code}")
        written = sum((root / "file2.py").exists() for root in roots)
    if written != tasks:
        raise SystemExit(f"only {written} of {tasks} tasks did their work")
    return run.seconds, run.peak_mib


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--tasks", type=int, default=100)
    options = parser.parse_args()
    programs = {
        "evercontext run": [str(BIN / "evercontext"), "run", "--task", "write", "--json"],
        "bare client": [sys.executable, "-c", BARE, str(options.steps)],
    }
    measured = {name: Measured() for name in programs}
    for _ in range(options.runs):
        for name, argv in programs.items():
            measured[name].run(argv, options.steps)
    head = ["program", "median step, ms", "p95, ms", "task without the model, ms", "peak, MiB"]
    title = f"one task of {options.steps} steps, two requests each, {options.runs} runs"
    table(title, head, [each.row(name) for name, each in measured.items()])
    one, many = together(1), together(options.tasks)
    rows = [[count, f"{seconds:.2f}", f"{count / seconds:.1f}", f"{peak:.0f}"] for count, (seconds, peak) in
            ((1, one), (options.tasks, many))]  # fmt: skip
    table("tasks of three steps at once", ["tasks", "seconds", "tasks a second", "peak, MiB"], rows)
    print()
    ours, bare = (measured[name].step_ms for name in programs)
    print(f"a step beside the bare client: {ours / bare:.1f}×")
    return 0 if bar("median step", ours, 15, " ms") else 1


if __name__ == "__main__":
    sys.exit(main())
