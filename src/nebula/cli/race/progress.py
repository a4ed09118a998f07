"""The tries as they go: every event as JSON, or one live line each."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final as Constant

from nebula.agent.race.race import Race
from nebula.cli.printing import print_json, print_remark
from nebula.cli.race.keys import reading_keys
from nebula.cli.race.view import short_name
from nebula.cli.terminal.output.width import cut
from nebula.events import Final, Message, Stamped, Step, Task
from nebula.language import explain, translate, translate_count
from nebula.llm.catalog import cost
from nebula.stage import one_line
from nebula.value import record

_TICK_S: Constant = 1.0


@record
class _Line:
    model: str = ""
    provider: str = ""
    doing: str = ""
    rounds: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    """In US dollars; None where a price is not known."""
    started: float = 0.0
    ended: str = ""
    ended_at: float | None = None

    @property
    def seconds(self) -> float:
        return (time.monotonic() if self.ended_at is None else self.ended_at) - self.started


class RaceProgress:
    """Hears every try of a race."""

    def __init__(self, output_format: str) -> None:
        self._stream = output_format == "stream-json"
        self._live = output_format == "text" and sys.stderr.isatty() and os.environ.get("TERM", "dumb") != "dumb"
        self._text = output_format == "text"
        self._lines: dict[int, _Line] = {}
        self._drawn = 0
        self._typed = ""

    def hear(self, number: int, stamped: Stamped) -> None:
        if self._stream:
            print_json(stamped.to_json())
        line, event = self._lines.setdefault(number, _Line(started=time.monotonic())), stamped.event
        if isinstance(event, Task):
            line.model, line.provider = event.model, event.provider
        elif isinstance(event, Step):
            line.doing = " ".join((event.name, str(event.args.get("path") or event.args.get("command") or "")))
        elif isinstance(event, Message):
            line.rounds += 1
            line.tokens += event.usage.input_tokens + event.usage.output_tokens
            price = cost(line.provider, line.model, event.usage)
            line.cost = None if price is None or line.cost is None else line.cost + price
        elif isinstance(event, Final):
            line.ended = event.status if event.remark is None else f"{event.status}: {explain(event.remark)}"
            line.ended_at = time.monotonic()
            if self._text and not self._live:
                print_remark(self._format(number, line))
        self._draw()

    def remark(self, text: str) -> None:
        self._clear()
        print_remark(text)
        self._draw()

    @contextmanager
    def watching(self, race: Race) -> Iterator[None]:
        """For the length of a race at a terminal: Esc ends all tries, `stop 2` and Enter one."""
        if not (self._live and sys.stdin.isatty()):
            yield
            return
        self._draw()  # before the first word of a try: they have to be started
        with reading_keys(race, self._show_typed), self._ticking():
            yield

    @contextmanager
    def _ticking(self) -> Iterator[None]:
        """Draw the lines again every second: a model may think for minutes without a word."""

        async def draw() -> None:
            while True:
                await asyncio.sleep(_TICK_S)
                self._draw()

        ticking = asyncio.get_running_loop().create_task(draw())
        try:
            yield
        finally:
            ticking.cancel()

    def end(self) -> None:
        self._clear()
        self._live = False

    def _show_typed(self, typed: str) -> None:
        self._typed = typed
        self._draw()

    def _draw(self) -> None:
        if not self._live:
            return
        self._clear()
        lines = [self._format(number, self._lines[number]) for number in sorted(self._lines)]
        lines.append(f"> {self._typed}" if self._typed else translate("Esc ends all · stop N ends one"))
        width = os.get_terminal_size(2).columns
        sys.stderr.write("".join(f"{cut(line, width - 1)}\n" for line in lines))
        sys.stderr.flush()
        self._drawn = len(lines)

    def _clear(self) -> None:
        if self._drawn:
            sys.stderr.write(f"\x1b[{self._drawn}A\x1b[J")
            sys.stderr.flush()
            self._drawn = 0

    def line_of(self, number: int) -> str:
        return self._format(number, self._lines[number])

    def lines_at_work(self) -> list[str]:
        """Return a line for each try that has not ended."""
        return [self._format(number, line) for number, line in sorted(self._lines.items()) if not line.ended]

    def all_in_short(self) -> str:
        """Return what each try does, in one line."""
        return " · ".join(
            one_line(f"{number} {line.ended or line.doing or translate('asking the model')}")
            for number, line in sorted(self._lines.items())
        )

    def _format(self, number: int, line: _Line) -> str:
        doing = line.ended or line.doing or translate("asking the model")
        figures = translate_count(
            line.rounds, "1 round · {tokens} tokens", "{count} rounds · {tokens} tokens", tokens=f"{line.tokens:,}"
        )
        price = "" if line.cost is None else f" · ${line.cost:.4f}"
        took = translate("{seconds} s", seconds=f"{line.seconds:.0f}")
        return one_line(f"{number} {short_name(line.model)}: {doing} · {figures}{price} · {took}")
