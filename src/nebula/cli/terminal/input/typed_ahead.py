"""What is typed while a turn runs: kept for the next prompt, never an answer to a question nobody has read yet."""

from __future__ import annotations

import time
from collections.abc import Callable

from nebula.cli.terminal.input.contract import OWN_COMMAND
from nebula.value import field, record

STEERED = "↪ "
"""Before what goes into the running turn."""
FOR_THE_SESSION = ("/", *OWN_COMMAND)
"""What a line begins with that is nothing to be told the model."""
QUIET_S = 0.6
"""A question is put only when nobody has been typing for so long."""


@record
class TypedAhead:
    lines: list[str] = field(default_factory=list)
    """Finished with Enter: sent in order, one after each turn."""
    text: str = ""
    """Not finished: stands in the next prompt, ready to be edited."""
    returned: str = ""
    """Its turn came to nothing: stands in the next prompt as it was typed, before anything else is sent."""
    steering: list[str] = field(default_factory=list)
    """For the running turn, at its next round."""
    leaving: bool = False
    """Ctrl-D behind everything else: leave once that is done."""
    keep: Callable[[str], None] = lambda _: None
    """Hears of every finished line: it outlives us, should we be killed."""
    _last_key: float = float("-inf")

    def typed(self, text: str) -> None:
        self.text += text
        self.leaving = False
        self._last_key = time.monotonic()

    def erased(self) -> None:
        self.text = self.text[:-1]
        self._last_key = time.monotonic()

    def entered(self) -> None:
        if self.text.strip():
            self.lines.append(self.text)
            self.keep(self.text)
        self.text = ""

    def leave(self) -> None:
        """Leave the program on an empty line, as at the prompt."""
        self.leaving = not self.text

    def steer(self) -> None:
        """Send what waits into the running turn; a command is for the session, and stays."""
        self.entered()
        self.steering += [line for line in self.lines if not line.startswith(FOR_THE_SESSION)]
        self.lines = [line for line in self.lines if line.startswith(FOR_THE_SESSION)]

    def take_steering(self) -> str:
        text = "\n".join(self.steering)
        self.steering.clear()
        return text

    def turn_over(self) -> None:
        """Make what did not reach the turn the next prompt."""
        self.lines[:0] = self.steering
        self.steering.clear()

    def give_back(self, line: str) -> None:
        """Keep a line whose turn came to nothing for the next prompt; whoever is about to leave is not waited for."""
        self.returned = "" if self.leaving else line

    def next_line(self) -> str | None:
        return self.lines.pop(0) if self.lines and not self.returned else None

    def take_text(self) -> str:
        text = "\n".join(filter(None, (self.returned, self.text)))
        self.returned = self.text = ""
        return text

    def hold(self) -> None:
        """After an interruption nothing is sent by itself: the lines become text to be looked at."""
        self.text = "\n".join([*self.lines, self.text]).strip("\n")
        self.lines.clear()
        self.leaving = False

    def quiet_in(self) -> float:
        """Return the seconds until the user has paused long enough."""
        return max(0.0, self._last_key + QUIET_S - time.monotonic())

    def shown(self) -> str:
        steering = [f"{STEERED}{line}" for line in self.steering]
        last = self.text or "^D" * self.leaving
        waiting = " ⏎ ".join([*self.lines, last]) if last else " ".join(f"{line} ⏎" for line in self.lines)
        return " ".join(filter(None, [*steering, waiting]))
