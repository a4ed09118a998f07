"""A terminal for tests: a pseudo-terminal with a real emulator behind it, and the program in front.

`Terminal` runs the program in a process of its own. `sit_down` runs it in this one, which takes a third of the time
and is seen by coverage: the program has the main thread, as it needs for signals, and the person types in another.

The screen is tall, so that nothing scrolls away: what was printed can be read off it at any time. The emulator answers
the program's questions about the cursor, as a real terminal does.
"""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import sys
import termios
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pexpect
import pexpect.fdpexpect
import pyte
from wcwidth import wcwidth

ENTER, ESCAPE, CTRL_C, CTRL_D, CTRL_G, CTRL_J, CTRL_O, CTRL_R = (
    "\r",
    "\x1b",
    "\x03",
    "\x04",
    "\x07",
    "\n",
    "\x0f",
    "\x12",
)
SHIFT_TAB, ALT_ENTER, TAB, UP, BEGINNING = "\x1b[Z", "\x1b\r", "\t", "\x1b[A", "\x1b[1;5H"
ROWS = 150
MOST_SELECTED = 1024
PATIENCE = 90
"""Seconds until something has to be seen: much more than a busy machine takes, less than a test may."""


class _Screen(pyte.Screen):
    def __init__(self, columns: int, rows: int, driver: Person) -> None:
        self._driver = driver
        self._rows = [""] * rows
        super().__init__(columns, rows)

    def rows(self) -> list[str]:
        """What `display` shows, each line without the blanks at its end; only lines that were written to since are worked
        out anew, since whoever waits looks twenty times a second."""
        for line in {*self.dirty, *(line - 1 for line in self.dirty if line)}:  # an accent may join the line above
            self._rows[line] = self._text_of(line)
        self.dirty.clear()
        return self._rows

    def _text_of(self, line: int) -> str:
        cells = self.buffer[line]
        shown, behind_wide = [], False
        for column in range(min(max(cells, default=-1) + 1, self.columns)):
            data = cells[column].data
            if not behind_wide:
                shown.append(data)
            behind_wide = not behind_wide and wcwidth(data[:1]) == 2
        return "".join(shown).rstrip()

    def write_process_input(self, data: str) -> None:
        self._driver.child.send(data)


class Person:
    """Somebody in front of a terminal: types, and reads the screen."""

    def __init__(self, child: pexpect.spawnbase.SpawnBase, columns: int, timeout: float) -> None:
        self.timeout = timeout
        self.raw = ""
        """Every byte the program wrote, as text."""
        self.child = child
        self.child.delaybeforesend = None
        self.screen = _Screen(columns, ROWS, self)
        self.stream = pyte.Stream(self.screen)

    # what the person does

    def send(self, keys: str) -> None:
        self.child.send(keys)

    def line(self, text: str) -> None:
        self.send(text)
        self.send(ENTER)

    def paste(self, text: str) -> None:
        self.send(f"\x1b[200~{text}\x1b[201~")

    # what the person sees

    @property
    def lines(self) -> list[str]:
        lines = list(self.screen.rows())
        while lines and not lines[-1]:
            lines.pop()
        return lines

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def wait(self, text: str, times: int = 1) -> None:
        """Until it is to be seen so many times."""
        end = time.monotonic() + self.timeout
        while self.text.count(text) < times:
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"never saw {text!r} x{times} on:\n{self._squeezed()}")

    def sees(self, text: str) -> bool:
        """Whether it is there by now."""
        self._read()
        return text in self.text

    def prompt(self, label: str = "[AGENT] You:", times: int = 1) -> None:
        """Until a prompt is ready for input: the cursor stands behind it."""
        end = time.monotonic() + self.timeout
        while self.text.count(label) < times or not self._at_cursor().startswith(label):
            if time.monotonic() > end or not self._read():
                raise AssertionError(f"no prompt {label!r} x{times} on:\n{self._squeezed()}")

    def _squeezed(self) -> str:
        return "\n".join(line for line in self.lines if line)

    def _at_cursor(self) -> str:
        return self.screen.rows()[self.screen.cursor.y]

    def _read(self) -> bool:
        """What has come, or a little patience; False at the end."""
        try:
            data = self.child.read_nonblocking(65_536, timeout=0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self.stream.feed(data)
        return True


class Terminal(Person):
    def __init__(
        self, argv: Sequence[str], cwd: Path, env: Mapping[str, str], *, columns: int = 100, timeout: float = PATIENCE
    ) -> None:
        child = pexpect.spawn(
            argv[0],
            list(argv[1:]),
            cwd=str(cwd),
            env=dict(env),
            dimensions=(ROWS, columns),
            encoding="utf-8",
            timeout=timeout,
            use_poll=True,
        )
        super().__init__(child, columns, timeout)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self.child.close(force=True)

    def ended(self) -> int:
        """Until the program has left; its exit code."""
        end = time.monotonic() + self.timeout
        while self._read():
            if time.monotonic() > end:
                raise AssertionError(f"still running:\n{self._squeezed()}")
        self.child.close()
        return int(self.child.exitstatus if self.child.exitstatus is not None else -self.child.signalstatus)


def sit_down(program: Callable[[], int], person: Callable[[Person], None], *, columns: int = 100) -> tuple[int, Person]:
    """Runs the program at a terminal while the person does what they came for; its exit code, and what was seen."""
    from prompt_toolkit.application import create_app_session

    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    # prompt_toolkit asks by select whether there are keys. Beyond its limit that fails each time it is asked, for ever.
    assert slave + 2 < MOST_SELECTED, "this process leaves too many files open: the terminal could not be read"
    child = pexpect.fdpexpect.fdspawn(master, encoding="utf-8", timeout=PATIENCE, use_poll=True)
    somebody = Person(child, columns, timeout=PATIENCE)
    over = threading.Event()
    problems: list[BaseException] = []

    def act() -> None:
        try:
            person(somebody)
        except BaseException as problem:  # noqa: BLE001 - raised again below, in the test's own thread
            problems.append(problem)
        # The test has failed: out of whatever the program is asking, prompt_toolkit's "Press ENTER" included. Not for
        # ever: a program that no longer reads its keys would block the one who types, and then itself.
        tries = 40 if problems else 0
        last = 0.0
        while not over.is_set():
            if tries and time.monotonic() - last > 0.5:
                tries, last = tries - 1, time.monotonic()
                somebody.send(ENTER + CTRL_C + CTRL_D)
            somebody._read()

    before = sys.stdin, sys.stdout
    thread = threading.Thread(target=act)
    try:
        with (
            open(os.dup(slave), encoding="utf-8") as stdin,
            open(slave, "w", encoding="utf-8") as stdout,
            create_app_session(),
        ):
            sys.stdin, sys.stdout = stdin, stdout
            thread.start()
            code = program()
    finally:
        sys.stdin, sys.stdout = before
        over.set()
        thread.join()  # at once: with its other side closed, nothing more comes from the terminal
        child.close()
    if problems:
        raise problems[0]
    return code, somebody
