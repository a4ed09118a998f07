"""The tries of a race as they go: one line each, those at work redrawn, and the keys that end them."""

from __future__ import annotations

import asyncio
import os
import re
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from math import ceil

from nebula.agent.race.race import Race
from nebula.cli.race.view import short_name
from nebula.cli.terminal.output.live_line import LiveLine
from nebula.cli.terminal.output.screen import Screen
from nebula.cli.turn_lines import asked_again
from nebula.events import Final, Message, Retry, Stamped, Step, Task, ToolResult
from nebula.language import explain, translate, translate_count
from nebula.llm.catalog import cost
from nebula.stage import one_line
from nebula.value import record

ESCAPE = b"\x1b"
_DELETE = (b"\x7f", b"\x08")


@record
class TryLine:
    """What is shown of one try."""

    number: int
    model: str = ""
    provider: str = ""
    doing: str = ""
    rounds: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    """In US dollars; None where a price is not known."""
    started: float = 0.0
    retry: Retry | None = None
    again_at: float = 0.0
    """When the model is asked again."""
    ended: str = ""
    ended_at: float | None = None

    def read(self, stamped: Stamped) -> None:
        event = stamped.event
        if isinstance(event, Task):
            self.model, self.provider = event.model, event.provider
        elif isinstance(event, Step):
            self.doing = " ".join((event.name, str(event.args.get("path") or event.args.get("command") or "")))
        elif isinstance(event, ToolResult):
            self.doing = ""
        elif isinstance(event, Retry):
            self.retry, self.again_at = event, time.monotonic() + event.delay_s
        elif isinstance(event, Message):
            self.rounds += 1
            self.tokens += event.usage.input_tokens + event.usage.output_tokens
            price = cost(self.provider, self.model, event.usage)
            self.cost = None if price is None or self.cost is None else self.cost + price
        elif isinstance(event, Final):
            self.ended = event.status if event.remark is None else f"{event.status}: {explain(event.remark)}"
            self.ended_at = time.monotonic()

    @property
    def shown(self) -> str:
        figures = translate_count(
            self.rounds, "1 round · {tokens} tokens", "{count} rounds · {tokens} tokens", tokens=f"{self.tokens:,}"
        )
        price = "" if self.cost is None else f" · ${self.cost:.4f}"
        seconds = (time.monotonic() if self.ended_at is None else self.ended_at) - self.started
        took = translate("{seconds} s", seconds=f"{seconds:.0f}")
        return one_line(f"{self.number} {short_name(self.model)}: {self.state} · {figures}{price} · {took}")

    @property
    def state(self) -> str:
        left = ceil(self.again_at - time.monotonic())
        waits = asked_again(self.retry, left) if self.retry is not None and left > 0 else ""
        return self.ended or waits or self.doing or translate("asking the model")


class RaceLines:
    """Prints a line for each try that ends, and draws one for each that is at work; `typed` is what was typed so far,
    `ways` what can be typed."""

    def __init__(self, screen: Screen, typed: Callable[[], str], ways: str) -> None:
        self._screen = screen
        self._tries: dict[int, TryLine] = {}
        self._live = LiveLine(screen, typed, ways, self._lines_at_work)

    @contextmanager
    def shown(self) -> Iterator[None]:
        self._live.raise_()
        try:
            yield
        finally:
            self._live.lower()

    def hear(self, number: int, stamped: Stamped) -> None:
        line = self._tries.setdefault(number, TryLine(number, started=time.monotonic()))
        line.read(stamped)
        if line.ended:
            self._screen.line(line.shown, "dim")
        all_in_short = " · ".join(one_line(f"{number} {line.state}") for number, line in sorted(self._tries.items()))
        self._live.raise_(doing="" if self._screen.capable else all_in_short)

    def _lines_at_work(self) -> list[str]:
        return [line.shown for _, line in sorted(self._tries.items()) if not line.ended]


class RaceKeys:
    """Reads single keys from the terminal for the length of a block: Esc ends all tries, `stop 2` and Enter one."""

    def __init__(self) -> None:
        self.typed = ""

    @contextmanager
    def reading(self, race: Race) -> Iterator[None]:
        loop, handle = asyncio.get_running_loop(), sys.stdin.fileno()
        before = termios.tcgetattr(handle)
        tty.setcbreak(handle)
        loop.add_reader(handle, lambda: self._take(os.read(handle, 1024), race))
        try:
            yield
        finally:
            loop.remove_reader(handle)
            termios.tcsetattr(handle, termios.TCSADRAIN, before)

    def _take(self, keys: bytes, race: Race) -> None:
        if keys in (b"", ESCAPE):
            race.stop()
            return
        if keys.startswith(ESCAPE):
            return  # an arrow, or the like
        for each in keys.decode("utf-8", "replace"):
            if each in "\r\n":
                stop_named(race, self.typed)
                self.typed = ""
            elif each.encode() in _DELETE:
                self.typed = self.typed[:-1]
            elif each.isprintable():
                self.typed += each


def stop_named(race: Race, line: str) -> bool:
    """Carry out `stop N`; return whether the line was that."""
    named = re.fullmatch(r"\s*stop\s+(\d+)\s*", line)
    if named is not None:
        race.stop(int(named[1]))
    return named is not None
