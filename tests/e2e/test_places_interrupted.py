"""Ctrl-C while copies of a project are made or worked in: a terminal sends it to all that it runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from conftest import Bench
from nebula.sandbox.remembered import ON_DISK, remember
from scripted_model import Fault, ScriptedModel, Turn

RACE = ("nebula", "race", "do it", "--tries", "2", "--output-format", "stream-json")
BATCH = ("evercontext", "batch", "tasks.jsonl", "--parallel", "2")


def start(bench: Bench, words: tuple[str, ...], **env: str) -> subprocess.Popen[bytes]:
    bench.write("tasks.jsonl", '{"task": "one"}\n{"task": "two"}\n')
    return subprocess.Popen(
        bench.argv(*words),
        cwd=bench.project,
        env=bench.env(**env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    )


def interrupt(running: subprocess.Popen[bytes]) -> tuple[float, list[str], str]:
    """Return the seconds until its end, its output line by line, and what it says beside it."""
    begun = time.monotonic()
    os.killpg(running.pid, signal.SIGINT)
    out, err = running.communicate(timeout=60)
    return time.monotonic() - begun, out.decode().splitlines(), err.decode()


def copies(bench: Bench) -> list[Path]:
    return list((bench.home / ".nebula").glob("projects/*/layers/*"))


@pytest.mark.parametrize("words", [RACE, BATCH])
def test_while_the_project_is_copied_to_disk(bench: Bench, words: tuple[str, ...]) -> None:
    remember(str(bench.home / ".nebula"), ON_DISK, 0)
    for number in range(20_000):  # the first of them are copied when the signal comes
        (bench.project / f"{number}.txt").write_text("x")
    with ScriptedModel([Turn("no")] * 9) as server:
        running = start(bench, words, **server.env())
        while not copies(bench):
            time.sleep(0.01)
        seconds, out, err = interrupt(running)
        assert server.turns == []
    assert running.returncode == 130 and "Traceback" not in err
    assert seconds < 5
    while copies(bench):  # a large copy may take longer than the command does: the test's own time limit is the bar
        time.sleep(0.02)
    if words is RACE:
        tries = json.loads(out[-1])["tries"]
        assert [each["status"] for each in tries] == ["interrupted"] * 2


@pytest.mark.parametrize("words", [RACE, BATCH])
def test_while_the_tries_wait_for_their_models(bench: Bench, words: tuple[str, ...]) -> None:
    with ScriptedModel([Turn(fault=Fault.slow(3600))] * 9) as server:
        running = start(bench, words, **server.env())
        server.wait_until(lambda: len(server.turns) == 2)
        _, out, err = interrupt(running)
    assert running.returncode == 130
    assert err == (
        "" if words is RACE else "Interrupted: what has ended is kept, the same command goes on with the rest.\n"
    )
    if words is RACE:
        assert [each["status"] for each in json.loads(out[-1])["tries"]] == ["interrupted"] * 2


def test_while_the_code_index_is_built(bench: Bench) -> None:
    for number in range(3_000):
        (bench.project / f"m{number}.py").write_text("def f():\n    return 1\n" * 50)
    running = start(bench, ("evercontext", "rag", "--port", "0"))
    while not (workers := builders_of(running.pid)):
        time.sleep(0.01)
    _, _, err = interrupt(running)
    assert (running.returncode, err) == (130, "")
    while any(map(os.path.exists, workers)):
        time.sleep(0.02)


def builders_of(parent: int) -> list[str]:
    found = []
    for each in Path(f"/proc/{parent}/task").glob("*/children"):
        found += [
            f"/proc/{pid}" for pid in each.read_text(encoding="utf-8").split() if "building.worker" in command_of(pid)
        ]
    return found


def command_of(pid: str) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8")
    except OSError:  # it has ended
        return ""
