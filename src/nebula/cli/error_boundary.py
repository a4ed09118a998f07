"""One clear line for a mistake, and the exit code that goes with it. Nobody sees a traceback for a wrong path."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from nebula.cli.arguments import EXIT_USAGE, UsageError
from nebula.config import ConfigError

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def error_boundary(prog: str, command: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Runs a command and turns what may go wrong for a user into a line on stderr."""
    _fill_missing_streams()
    _speak_utf8()
    try:
        try:
            return command(argv)
        finally:
            sys.stdout.flush()
    except (UsageError, ConfigError) as mistake:
        print(f"{prog}: {mistake}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        _drop_unwritten()  # the reader of our output has gone, as with `| head`
        return EXIT_FAILED
    except OSError as problem:
        _drop_unwritten()
        place = f"{problem.filename}: " if problem.filename else ""
        print(f"{prog}: {place}{problem.strerror or problem}", file=sys.stderr)
        return EXIT_FAILED
    except Exception as problem:
        if not _is_ours(problem):
            raise
        print(f"{prog}: {problem}", file=sys.stderr)
        return EXIT_FAILED


def _is_ours(problem: Exception) -> bool:
    """Errors that our own rooms raise carry a sentence for a person; any other is a bug and must be seen as one."""
    return type(problem).__module__.startswith("nebula.")


def _drop_unwritten() -> None:
    """What stdout could not take would fail once more at exit, where Python complains about it at length."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fill_missing_streams() -> None:
    """Started with closed streams (`>&-`) a program must not find its database under the number of one of them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            setattr(sys, name, open(nowhere, mode, encoding="utf-8", closefd=False))  # noqa: SIM115 - until the end


def _speak_utf8() -> None:
    """Japanese and box drawing must not fail on a terminal with an old locale."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
