"""Killed at any moment of a command's turn, nebula leaves the project as it was or as it was approved."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sandbox_rig import Tree, tree
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

FILES = 80
LINE = f"for n in $(seq {FILES}); do echo new > src/$n.txt; done; mkdir made; echo x > made/x; rm gone.txt"
KILLS = 3


def seen(project: Path) -> Tree:
    return {path: what for path, what in tree(project).items() if path.split("/")[0] != ".nebula"}


def reset(bench) -> None:
    for number in range(1, FILES + 1):
        bench.write(f"src/{number}.txt", "old\n")
    bench.write("gone.txt", "there\n")
    (bench.project / "made" / "x").unlink(missing_ok=True)
    if (bench.project / "made").is_dir():
        (bench.project / "made").rmdir()


def start(bench, server: ScriptedModel) -> subprocess.Popen[bytes]:
    return bench.start("nebula", "-p", "go", "--yes", "--output-format", "stream-json", **server.env())


def until_approval(turn: subprocess.Popen[bytes]) -> None:
    assert turn.stdout is not None
    for text in turn.stdout:
        if json.loads(text)["type"] == "approval":
            return


def script() -> list[Turn]:
    return [Turn("", [Call("runCommand", {"command": LINE})]), Turn("Done.")]


@pytest.mark.usefixtures("upper_side")
@pytest.mark.parametrize(
    ("upper_side", "seed"),
    [("memory", 0), ("memory", 1), ("memory", 2), ("disk", 3), ("disk", 4)],
    indirect=["upper_side"],
)
def test_killed_while_a_set_is_applied(bench, seed: int) -> None:
    chance = random.Random(seed)
    reset(bench)
    before = seen(bench.project)
    with ScriptedModel(script()) as server:
        turn = start(bench, server)
        until_approval(turn)
        began = time.monotonic()
        turn.communicate()
        took = time.monotonic() - began
    after = seen(bench.project)
    assert after != before
    for _ in range(KILLS):
        reset(bench)
        with ScriptedModel(script()) as server:
            turn = start(bench, server)
            until_approval(turn)
            time.sleep(chance.uniform(0, took))
            turn.send_signal(signal.SIGKILL)
            turn.communicate()
        with ScriptedModel([Turn("Hello.")]) as server:
            said = bench.run("nebula", "-p", "hi", **server.env())
        assert said.code == 0, said.err
        now = seen(bench.project)
        assert now in (before, after)
        assert now == before or "taken back" not in said.err
    with ScriptedModel([Turn("", [Call("runCommand", {"command": "true"})]), Turn("Done.")]) as server:
        bench.run("nebula", "-p", "look", **server.env())  # sweeps up what the killed ones left on disk
