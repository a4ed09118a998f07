"""What a race costs: scripted tries side by side beside the longest of them alone, and beside as many git work trees;
how soon the tries at a project of 10,000 files begin, and what each takes on disk before it writes.

race.py [--tries 8] [--files 10000] [--seconds 4]
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import threading
import time
from pathlib import Path

from harness import BIN, Place, bar, place, table
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

MOST_RATIO = 1.3
MOST_BEGIN_S = 1.0
MOST_DISK = 1 << 20


class Model:
    """Each try thinks for so long in all, in four rounds that write a file and run a command."""

    def __init__(self, seconds: float) -> None:
        self._pause = seconds / 4
        self.asked: list[float] = []
        self.used: list[int] = []
        self.folders: tuple[Path, ...] = ()

    def __call__(self, request: RecordedRequest) -> Turn:
        answered = sum(each["role"] == "tool" for each in request.json["messages"])
        if not answered:
            self.asked.append(time.monotonic())
            self.used.append(used(*self.folders))
        calls = [
            [Call("writeFile", {"path": "new.txt", "content": "new\n"})],
            [Call("runCommand", {"command": "cat new.txt"})],
            [Call("runCommand", {"command": "echo more >> new.txt"})],
            [],
        ][answered]
        return Turn("Done." if not calls else "", calls, until=_after(self._pause))


def _after(seconds: float) -> threading.Event:
    """Return an event that is set after so long: the model's time is waiting."""
    event = threading.Event()
    timer = threading.Timer(seconds, event.set)
    timer.daemon = True
    timer.start()
    return event


def fill(project: Path, files: int) -> None:
    for number in range(files):
        folder = project / f"package{number // 100}"
        folder.mkdir(exist_ok=True)
        (folder / f"module{number % 100}.py").write_text(f"value = {number}\n" * 20, encoding="utf-8")
    commit = ("-c", "user.name=b", "-c", "user.email=b@b", "-c", "gc.auto=0", "commit", "-qm", "b")
    for words in (("init", "-q"), ("add", "-A"), commit, ("repack", "-adq")):  # git would repack it meanwhile
        subprocess.run(["git", *words], cwd=project, check=True)


def used(*folders: Path) -> int:
    """Return the bytes on disk below folders."""
    found = 0
    for folder in folders:
        for here, _, files in os.walk(folder):
            found += sum(os.lstat(os.path.join(here, name)).st_blocks * 512 for name in files)
    return found


def cpu() -> float:
    """Return the seconds that the processes that have ended had of the processors."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def race(here: Place, tries: int, seconds: float) -> tuple[float, Model, list[float]]:
    model, temporary = Model(seconds), here.home.parent / "tmp"
    temporary.mkdir(exist_ok=True)
    model.folders = (here.home, here.project / ".nebula", temporary)
    with ScriptedModel(model) as server:
        before, started = used(*model.folders), time.monotonic()
        words = [str(BIN / "nebula"), "race", "go", "--tries", str(tries), "--output-format", "json"]
        env = here.env({**server.env(), "TMPDIR": str(temporary)})
        ran = subprocess.run(words, cwd=here.project, env=env, capture_output=True, check=True)
        took = time.monotonic() - started
    model.used = [each - before for each in model.used]
    model.asked = [each - started for each in model.asked]
    return took, model, [each["duration_s"] for each in json.loads(ran.stdout)["tries"]]


def alone(here: Place, seconds: float) -> float:
    """The same turn by itself, as `nebula -p` runs it."""
    with ScriptedModel(Model(seconds)) as server:
        started = time.monotonic()
        words = [str(BIN / "nebula"), "-p", "go", "--yes"]
        subprocess.run(words, cwd=here.project, env=here.env(server.env()), capture_output=True, check=True)
        took = time.monotonic() - started
    (here.project / "new.txt").unlink()
    return took


def worktrees(here: Place, tries: int) -> float:
    folders = [here.home / f"tree{number}" for number in range(tries)]
    started = time.monotonic()
    threads = [
        threading.Thread(target=subprocess.run, args=(["git", "worktree", "add", "-q", "--detach", str(each)],),
                         kwargs={"cwd": here.project, "check": True})
        for each in folders
    ]  # fmt: skip
    for thread in threads:
        thread.start()
        thread.join()  # git locks the repository: side by side they fail
    took = time.monotonic() - started
    for each in folders:
        subprocess.run(["git", "worktree", "remove", "--force", str(each)], cwd=here.project, check=True)
    return took


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tries", type=int, default=8)
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=4.0)
    options = parser.parse_args()
    with place() as here:
        fill(here.project, options.files)
        race(here, 2, 0.1)  # once for what is made on first use
        ended = cpu()
        single = alone(here, options.seconds)
        single_cpu, ended = cpu() - ended, cpu()
        took, model, durations = race(here, options.tries, options.seconds)
        race_cpu = cpu() - ended
        trees = worktrees(here, options.tries)
    begun, disk = max(model.asked), max(0, max(model.used)) / options.tries
    cores = len(os.sched_getaffinity(0))
    by_cpu = (options.seconds + race_cpu / cores) / (options.seconds + single_cpu)
    rows = [
        ("one turn alone", f"{single:.2f} s", ""),
        (f"{options.tries} tries side by side", f"{took:.2f} s", f"{took / single:.2f} × alone (at most {MOST_RATIO})"),
        ("processor time of both", f"{single_cpu:.2f} s, {race_cpu:.2f} s", f"{by_cpu:.2f} × on {cores} cores, alone"),
        ("longest try, from its own start", f"{max(durations):.2f} s", f"{took / max(durations):.2f} ×"),
        ("until the last try asks its model", f"{begun:.2f} s", f"at most {MOST_BEGIN_S:.0f} s"),
        (f"git worktree add × {options.tries}", f"{trees:.2f} s", f"{begun / trees:.2f} × of that to begin"),
        ("disk for each try before it writes", f"{disk / 1024:.0f} KiB", f"at most {MOST_DISK // 1024} KiB"),
    ]
    table(f"{options.tries} tries, {options.files:,} files", ("", "", "beside"), rows)
    print()
    holds = [
        bar("side by side, times the longest alone", took / single, MOST_RATIO),
        bar("until the last try asks its model", begun, MOST_BEGIN_S, " s"),
        bar("disk for each try before it writes", disk / 1024, MOST_DISK / 1024, " KiB"),
    ]
    return 0 if all(holds) else 1


if __name__ == "__main__":
    raise SystemExit(main())
