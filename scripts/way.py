"""The way of a turn from the door to the disk: every function of ours that is at work while bytes go to a file.

    .venv/bin/python scripts/way.py [--tree]

One headless turn with one write runs against the scripted model, in a project that has had such a turn before. At each
write, flush, rename and link the stack is looked at, with the stack of whoever started the task or the thread.
"""

from __future__ import annotations

import asyncio
import io
import os
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))
from nebula.cli.nebula import main as nebula
from scripted_model import Call, ScriptedModel, Turn

TO_DISK = {"write", "pwrite", "fsync", "fdatasync", "rename", "replace", "link"}
Stack = tuple[str, ...]

ways: dict[Stack, None] = {}
started: dict[int, Stack] = {}
"""By task: the stack that it was created from."""
here = threading.local()


def stack(frame: FrameType | None) -> Stack:
    found: list[str] = []
    while frame is not None:
        module, name = frame.f_globals.get("__name__", ""), frame.f_code.co_qualname
        if module.startswith("nebula.") and "<" not in name.rpartition(".")[2]:
            found.append(f"{module.removeprefix('nebula.')}:{name}")
        frame = frame.f_back
    own = tuple(reversed(found))
    before = getattr(here, "before", None) or started.get(id(_current_task()), ())
    shared = 0
    while own[shared : shared + 1] == before[shared : shared + 1] != ():
        shared += 1
    return before + own[shared:]


def _current_task() -> Any:
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def look(frame: FrameType, event: str, called: Any) -> None:
    if event != "c_call" or called.__name__ not in TO_DISK:
        return
    owner = getattr(called, "__self__", None)
    is_file = isinstance(owner, io.IOBase) and owner not in (sys.stdout, sys.stderr)
    if (is_file or called.__module__ == "posix") and (way := stack(frame)):
        ways[way] = None


def with_creator(create: Callable[..., Any]) -> Callable[..., Any]:
    def create_task(loop: Any, *given: Any, **named: Any) -> Any:
        way, task = stack(sys._getframe(1)), create(loop, *given, **named)
        started[id(task)] = way
        return task

    return create_task


def with_caller(run: Callable[..., Any]) -> Callable[..., Any]:
    def run_in_executor(loop: Any, executor: Any, work: Callable[..., Any], *given: Any) -> Any:
        way = stack(sys._getframe(1))

        def in_thread() -> Any:
            here.before = way
            return work(*given)

        return run(loop, executor, in_thread)

    return run_in_executor


def record() -> None:
    asyncio.BaseEventLoop.create_task = with_creator(asyncio.BaseEventLoop.create_task)  # type: ignore[method-assign]
    asyncio.BaseEventLoop.run_in_executor = with_caller(asyncio.BaseEventLoop.run_in_executor)  # type: ignore[method-assign]
    script = []
    for name in ("first", "second"):
        script += [Turn("", [Call("writeFile", {"path": name, "content": "new\n"})]), Turn("Done.")]
    with tempfile.TemporaryDirectory() as folder, ScriptedModel(script) as server:
        os.environ |= server.env() | {"HOME": folder, "NEBULA_HOME": f"{folder}/home"}
        os.mkdir(f"{folder}/project")
        os.chdir(f"{folder}/project")
        nebula(["-p", "write", "--yes"])
        threading.setprofile(look)
        sys.setprofile(look)
        nebula(["-p", "write another", "--yes"])
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
        os.chdir("/")


def main() -> None:
    record()
    functions = {function for way in ways for function in way}
    if "--tree" in sys.argv:
        shown: set[Stack] = set()
        for way in ways:
            for depth in range(1, len(way) + 1):
                if way[:depth] not in shown:
                    shown.add(way[:depth])
                    print("  " * depth + way[depth - 1])
    modules = {function.partition(":")[0] for function in functions}
    print(f"{len(functions)} functions in {len(modules)} modules, at most {max(map(len, ways))} one below the other")


if __name__ == "__main__":
    main()
