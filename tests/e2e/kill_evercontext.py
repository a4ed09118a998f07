"""A program: runs `evercontext run` again and again in a child of its own and kills it at random moments.

    kill_evercontext.py KILLS SEED -- ARGUMENTS…

`{round}` in the arguments is a number that grows with every fifth kill. Prints one line for each child: how long it
lived, and how it ended. Everything is imported before the first child is made, so that a moment chosen at random falls
into the work and not into the start.
"""

import os
import random
import signal
import sys
import time

from nebula.agent.orchestrator import run as _run  # noqa: F401 - loaded for the children
from nebula.cli import evercontext
from nebula.graph import graph as _graph  # noqa: F401
from nebula.llm import ollama as _ollama  # noqa: F401
from nebula.llm.dialect import json_dialect as _dialect  # noqa: F401


def main(kills: int, seed: int, argv: list[str]) -> None:
    chance = random.Random(seed)
    whole, _ = one(for_round(argv, "-"), None)
    killed = 0
    while killed < kills:
        lived, end = one(for_round(argv, killed // 5), chance.random() * whole)
        killed += end == -signal.SIGKILL
        if end == 0:  # it was quicker than the one before
            whole = min(whole, lived)


def for_round(argv: list[str], number: object) -> list[str]:
    return [word.replace("{round}", str(number)) for word in argv]


def one(argv: list[str], live_s: float | None) -> tuple[float, int]:
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os._exit(evercontext.main(argv))
    if live_s is not None:
        time.sleep(live_s)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    lived = time.monotonic() - started
    end = os.waitstatus_to_exitcode(status)
    print(f"{lived:.3f} {end}", flush=True)
    sys.stdin.readline()  # whoever reads this looks at the files now, and says when it is done
    return lived, end


main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[4:])
