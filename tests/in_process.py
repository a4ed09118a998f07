"""The commands, run in this process: fast, seen by coverage, and against the same scripted model as the real ones."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nebula.cli import evercontext, nebula, vizprompt
from terminal_driver import Person, sit_down

if TYPE_CHECKING:
    from conftest import Bench

MAINS: dict[str, Callable[[list[str]], int]] = {
    "nebula": nebula.main,
    "evercontext": evercontext.main,
    "vizprompt": vizprompt.main,
}


@dataclass(frozen=True)
class Ran:
    """A command that has ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


def run_here(bench: Bench, command: str, *argv: str, stdin: str | None = None, out: str = "", **env: str) -> Ran:
    """In the bench's project and home; without `stdin` there is none. `out` is another standard output."""
    return run_in(bench.project, bench.env(**env), command, argv, stdin, out)


def run_in(
    folder: Path,
    env: Mapping[str, str],
    command: str,
    argv: Sequence[str],
    stdin: str | bytes | None = None,
    out: str = "",
) -> Ran:
    """With files as streams, as if all three were redirected."""
    with surroundings(folder, env), tempfile.TemporaryDirectory() as place:
        streams = Path(place)
        source = Path(os.devnull)
        if stdin is not None:
            source = streams / "in"
            source.write_bytes(stdin.encode() if isinstance(stdin, str) else stdin)
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
        said = "" if out else (streams / "out").read_bytes().decode()
        return Ran(code, said, (streams / "err").read_bytes().decode())


def sit_down_here(
    bench: Bench, person: Callable[[Person], None], *argv: str, columns: int = 100, **env: str
) -> tuple[int, Person]:
    """At a terminal; `person` types and reads."""
    with surroundings(bench.project, bench.env(**{"TERM": "xterm-256color", "COLUMNS": str(columns)} | env)):
        return sit_down(lambda: nebula.main(list(argv)), person, columns=columns)


@contextmanager
def surroundings(folder: Path, env: Mapping[str, str]) -> Iterator[None]:
    before, here = dict(os.environ), os.getcwd()
    os.environ.clear()
    os.environ.update(env)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(here)
        os.environ.clear()
        os.environ.update(before)


def _exit_code(command: str, argv: Sequence[str]) -> int:
    try:
        return MAINS[command](list(argv))
    except SystemExit as end:  # argparse, after --help
        code: Any = end.code
        return int(code or 0)
