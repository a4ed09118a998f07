"""Work in a thread that nobody waits for any more."""

from __future__ import annotations

import asyncio
import os
import select
import threading
from pathlib import Path

import pytest

from nebula.programs import run
from nebula.tools.contract import in_thread
from slow_git import wait_for


async def test_a_program_that_nobody_waits_for_is_ended_and_none_is_started_after_it(tmp_path: Path) -> None:
    """Somebody who presses Ctrl-C while the context is built would wait for git until its time is up, again and again."""
    began, over = tmp_path / "began", threading.Event()

    def ask() -> None:
        try:
            for _ in range(3):
                try:
                    run(["sh", "-c", f"echo >> {began}; sleep 60"], cwd="/", env=dict(os.environ), timeout=60)
                except Exception:  # noqa: BLE001 - as code does that goes on without git
                    continue
        finally:
            over.set()

    work = asyncio.create_task(in_thread(ask))
    await asyncio.to_thread(wait_for, began)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert await asyncio.to_thread(over.wait, 10)
    assert began.read_text() == "\n"


async def test_what_nobody_gave_up_is_as_ever() -> None:
    said = await in_thread(run, ["echo", "hi"], cwd="/", env={"PATH": os.environ["PATH"]}, timeout=10)
    assert said.stdout == b"hi\n"


def test_what_a_program_left_running_ends_with_its_time(tmp_path: Path) -> None:
    """Its own process has ended; a child of it holds the output, and a pipe that is at its end once that has ended."""
    os.mkfifo(tmp_path / "pipe")
    reading = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    with pytest.raises(TimeoutError):
        run(["sh", "-c", f"sleep 20 9> {tmp_path}/pipe &"], cwd="/", env=dict(os.environ), timeout=0.2)
    assert select.select([reading], [], [], 10)[0] and os.read(reading, 1) == b""
    os.close(reading)
