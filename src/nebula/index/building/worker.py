"""A process that makes segments: `python -m nebula.index.building.worker ROOT`.

It reads batches from its standard input and writes what it built to its standard output, both as pickles between two
processes of one program. Its end of input is its end.
"""

from __future__ import annotations

import gc
import os
import pickle
import sys

from nebula.index.building.batches import build
from nebula.index.reading import Root


def main() -> None:
    gc.disable()  # segments hold no cycles, and looking for some in a million small lists takes time
    root = Root(sys.argv[1])
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    while True:
        try:
            batch = pickle.load(requests)  # noqa: S301 - from the process that started this one
        except EOFError:
            return
        try:
            pickle.dump(build(root, batch), answers, protocol=5)  # no name keeps it: the next batch needs its memory
            answers.flush()
        except BrokenPipeError:  # who asked is gone; what is still on its way there would fail once more at exit
            os._exit(1)


if __name__ == "__main__":
    main()
