"""Killed at any moment, the index is right at the next start without being built anew."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import threading
import time

import pytest

from index.project import Project, contents, function

_WORK = """
import sys
from nebula.index.index import Index
with Index.open(sys.argv[1], home=sys.argv[2], url=sys.argv[3]) as index:
    print("open", flush=True)
    index.sync()
    print("done", flush=True)
"""
MOMENTS = 15


def start(project: Project) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", _WORK, str(project.root), str(project.home), project.url]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline() == b"open\n"
    return process


def finish(process: subprocess.Popen[bytes]) -> None:
    process.wait()
    assert process.stdout is not None
    process.stdout.close()


@pytest.mark.slow
def test_killed_at_random_moments_the_index_is_right(project: Project) -> None:
    chance = random.Random(7)
    names = [f"pkg{i % 7}/module{i}.py" for i in range(120)]
    for name in names:
        project.write(name, function("start", name.replace("/", "_")[:-3]) * 8)
    started = time.monotonic()
    finish(start(project))
    whole = time.monotonic() - started
    for moment in range(MOMENTS):
        for name in chance.sample(names, 12):
            project.write(name, function(f"step{moment}", "word") * chance.randrange(1, 12))
        old, new = chance.sample(names, 2)
        os.replace(project.root / old, project.root / new)
        process = start(project)
        killer = threading.Timer(chance.uniform(0, whole), process.kill)  # nothing where it has ended
        killer.start()
        finish(process)
        killer.cancel()
        project.write(old, function("again"))
    with project.index() as index, project.fresh() as fresh:
        segments = set(index.store.shape().segments)
        index.sync()
        fresh.sync()
        assert segments & set(index.store.shape().segments), "it was built anew"
        assert contents(index) == contents(fresh)
