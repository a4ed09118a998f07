"""50 tool turns: our own time between the end of one response and the next request; growth; peak memory.

overhead.py [--turns 50] [--runs 5] [--beside DIR]

Beside it a bare client sends the same requests and does nothing but what no recording agent can leave out: each
message as a row of SQLite that is on the disk before the next request leaves. `--beside` names the `bin` folder of
another install of nebula, which then takes turns with this one.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from harness import BIN, bar, median, place, table, timed
from scripted_model import Call, ScriptedModel, Turn

CONTENT = "def function():\n    return 1\n" * 20
FILES = {f"src/module_{n}.py": CONTENT for n in range(50)}
BARE = f"""
import http.client, json, os, sqlite3, urllib.parse
url = urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"])
rows = sqlite3.connect("rows.db", isolation_level=None)
rows.execute("PRAGMA journal_mode=WAL")
rows.execute("PRAGMA synchronous=FULL")
rows.execute("CREATE TABLE messages (content TEXT)")
server = http.client.HTTPConnection(url.hostname, url.port)
messages = [{{"role": "user", "content": "read them all"}}]
answer = b""
while b"Done." not in answer:
    body = {{"model": "gpt-4.1-nano", "stream": True, "messages": messages}}
    server.request("POST", url.path + "/chat/completions", json.dumps(body), {{"content-type": "application/json"}})
    answer = server.getresponse().read()
    call = {{"id": f"c{{len(messages)}}", "type": "function", "function": {{"name": "readFile", "arguments": "{{}}"}}}}
    said = [
        {{"role": "assistant", "content": "", "tool_calls": [call]}},
        {{"role": "tool", "tool_call_id": call["id"], "content": {CONTENT!r}}},
    ]
    for message in said:
        rows.execute("INSERT INTO messages VALUES (?)", (json.dumps(message),))
    messages += said
"""


@dataclass
class Measured:
    """What several runs of one program came to."""

    gaps: list[list[float]] = field(default_factory=list)
    """Milliseconds between response and next request, for each turn of each run."""
    peaks: list[float] = field(default_factory=list)
    last_request: int = 0

    def run(self, argv: Sequence[str], turns: int) -> None:
        script = [Turn("", [Call("readFile", {"path": f"src/module_{n % 50}.py"})]) for n in range(turns)]
        with place(FILES) as here, ScriptedModel([*script, Turn("Done.")]) as server:
            run = timed(argv, here.project, here.env(server.env()))
            if run.code != 0:
                raise SystemExit(f"{argv[0]} ended with exit code {run.code}")
            sent = server.turns
            self.gaps.append([(later.arrived - (sooner.answered or 0)) * 1000 for sooner, later in pairwise(sent)])
            self.peaks.append(run.peak_mib)
            self.last_request = len(sent[-1].body)

    def all(self) -> list[float]:
        return sorted(gap for run in self.gaps for gap in run)

    def part(self, turns: slice) -> float:
        return median([median(run[turns]) for run in self.gaps])

    def row(self, name: str) -> list[str]:
        gaps = self.all()
        figures = (median(gaps), gaps[int(len(gaps) * 0.95)], self.part(slice(10)), self.part(slice(-10, None)))
        return [
            name,
            *(f"{each:.2f}" for each in figures),
            f"{median(self.peaks):.0f}",
            f"{self.last_request / 1024:.0f}",
        ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=50)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--beside", type=Path)
    options = parser.parse_args()
    programs = {"nebula": [str(BIN / "nebula"), "-p", "read them all"], "bare client": [sys.executable, "-c", BARE]}
    if options.beside:
        programs["beside"] = [str(options.beside / "nebula"), "-p", "read them all"]
    measured = {name: Measured() for name in programs}
    for _ in range(options.runs):
        for name, argv in programs.items():
            measured[name].run(argv, options.turns)
    head = ["program", "median turn, ms", "p95, ms", "first ten, ms", "last ten, ms", "peak, MiB", "last request, KiB"]
    rows = [each.row(name) for name, each in measured.items()]
    table(f"{options.turns} tool turns, {options.runs} runs", head, rows)
    print()
    ours = measured["nebula"]
    holds = bar(
        "median turn beside the bare client", median(ours.all()) / median(measured["bare client"].all()), 3, "×"
    )
    holds &= bar("last ten / first ten", ours.part(slice(-10, None)) / ours.part(slice(10)), 1.2, "×")
    if options.beside:
        holds &= bar("median turn beside the other", median(ours.all()) / median(measured["beside"].all()), 1.1, "×")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
