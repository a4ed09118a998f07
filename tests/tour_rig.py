"""Carries out the lines of a page as a reader types them: in one shell, in a new home, with a scripted model."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from conftest import BIN
from terminal_driver import Terminal

BLOCK = re.compile(r"(?:^    .*\n(?:\n(?=    ))?)+", re.MULTILINE)
END = "the-line-is-done"
COLUMNS = 96


class Shell:
    """A shell whose directory and variables last from line to line."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.env = env
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, line: str) -> tuple[list[str], int]:
        """Carry out one line; return what it printed and its exit code."""
        assert self._bash.stdin is not None and self._bash.stdout is not None
        self._bash.stdin.write(
            f"{line} < /dev/null; echo {END} $?\n" if "|" not in line else f"{line}; echo {END} $?\n"
        )
        self._bash.stdin.flush()
        printed: list[str] = []
        for each in self._bash.stdout:
            if each.startswith(END):
                return printed, int(each.split()[1])
            printed.append(each.rstrip())
        raise AssertionError(f"the shell ended at: {line}")

    @property
    def folder(self) -> Path:
        return Path(self.run("pwd")[0][0])

    def close(self) -> None:
        assert self._bash.stdin is not None and self._bash.stdout is not None
        self._bash.stdin.close()
        self._bash.stdout.close()
        self._bash.wait(60)


@contextmanager
def shell(folder: Path, env: dict[str, str]) -> Iterator[Shell]:
    opened = Shell(folder, env)
    try:
        yield opened
    finally:
        opened.close()


def session_screen(folder: Path, env: dict[str, str], typed: Sequence[tuple[str, str]]) -> list[str]:
    """Type each line when the cursor stands behind its label, in a session at a terminal; return the screen."""
    with Terminal([str(BIN / "nebula")], folder, {**env, "TERM": "xterm-256color"}, columns=COLUMNS) as person:
        labels = [label for label, _ in typed]
        for number, (label, line) in enumerate(typed, start=1):
            person.prompt(label, times=labels[:number].count(label))
            person.line(line)
        assert person.ended() == 0
        return [line for line in person.lines if line.strip()]


def blank_out(line: str) -> str:
    """Return a line without what differs from run to run: ids, times, places, versions, sizes, blanks."""
    line = re.sub(r"session_\d+_\d+_[0-9a-f]+|\b01[0-9a-f]{2,6}(?:[0-9a-f-]*)?\b", "ID", line)
    line = re.sub(r"\d{4}-\d\d-\d\d[T ]?[\d:.]*", "DATE", line)
    line = re.sub(r"\d+(?:\.\d+)? (?:s\b|秒)", "TIME", line)
    line = re.sub(r"(?<![\w.])/\S*/(shop|todo)\b", r"/\1", line)
    line = re.sub(r"(tools|ツール): .*|nebula \d+\.\d+\S*|[\d,]+ ?(?:characters|文字|more lines|行)", r"\1", line)
    return re.sub(r"\s+", " ", line).strip()
