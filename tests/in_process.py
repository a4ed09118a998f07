"""The commands, run in this process: fast, seen by coverage, and against the same scripted model as the real ones."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from conftest import Bench, Ran
from nebula.cli import evercontext, nebula, vizprompt
from terminal_driver import Person, sit_down

MAINS: dict[str, Callable[[list[str]], int]] = {
    "nebula": nebula.main,
    "evercontext": evercontext.main,
    "vizprompt": vizprompt.main,
}


def run_here(bench: Bench, command: str, *argv: str, stdin: str | None = None, out: str = "", **env: str) -> Ran:
    """With files as streams, as if all three were redirected; without `stdin` there is none.

    `out` is another place for standard output, such as /dev/full.
    """
    with surroundings(bench, env), tempfile.TemporaryDirectory() as folder:
        streams = Path(folder)
        source = Path(os.devnull)
        if stdin is not None:
            source = streams / "in"
            source.write_text(stdin, encoding="utf-8")
        with (
            open(source, encoding="utf-8") as given,
            open(out or streams / "out", "w", encoding="utf-8") as stdout,
            open(streams / "err", "w", encoding="utf-8") as stderr,
        ):
            before = sys.stdin, sys.stdout, sys.stderr
            sys.stdin, sys.stdout, sys.stderr = given, stdout, stderr
            try:
                code = _exit_code(command, argv)
            finally:
                sys.stdin, sys.stdout, sys.stderr = before
        said = "" if out else (streams / "out").read_text("utf-8")
        return Ran(code, said, (streams / "err").read_text("utf-8"))


def sit_down_here(
    bench: Bench, person: Callable[[Person], None], *argv: str, columns: int = 100, **env: str
) -> tuple[int, Person]:
    """At a terminal; `person` types and reads."""
    with surroundings(bench, {"TERM": "xterm-256color", "COLUMNS": str(columns), **env}):
        return sit_down(lambda: nebula.main(list(argv)), person, columns=columns)


@contextmanager
def surroundings(bench: Bench, env: dict[str, str]) -> Iterator[None]:
    before, folder = dict(os.environ), os.getcwd()
    os.environ.clear()
    os.environ.update(bench.env(**env))
    os.chdir(bench.project)
    try:
        yield
    finally:
        os.chdir(folder)
        os.environ.clear()
        os.environ.update(before)


def _exit_code(command: str, argv: tuple[str, ...]) -> int:
    try:
        return MAINS[command](list(argv))
    except SystemExit as end:  # argparse, after --help
        code: Any = end.code
        return int(code or 0)
