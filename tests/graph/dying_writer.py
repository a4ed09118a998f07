"""A process that dies at its n-th call that changes something on the disk, in the middle of adding a node.

python dying_writer.py DATA_DIR N PARENT LENGTH
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from nebula.graph.graph import Graph

CALLS = ("write", "pwrite", "fsync", "fdatasync", "rename", "mkdir", "unlink")


def main() -> None:
    data_dir, at, parent, length = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    count = itertools.count(1)

    def wrap(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            if next(count) == at:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*arguments, **named)

        return call

    graph = Graph(data_dir)
    graph.get_node(parent)
    for name in CALLS:
        setattr(os, name, wrap(getattr(os, name)))
    graph.create_node("from the dying", "x" * length, parents=[parent])
    os._exit(0)


if __name__ == "__main__":
    main()
