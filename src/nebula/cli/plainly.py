"""One clear line for a mistake, and the exit code that goes with it. Nobody sees a traceback for a wrong path."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence

from nebula.cli.arguments import EXIT_USAGE, UsageError
from nebula.config import ConfigError

EXIT_FAILED = 1
EXIT_INTERRUPTED = 130


def plainly(prog: str, command: Callable[[Sequence[str]], int], argv: Sequence[str]) -> int:
    """Runs a command and turns what may go wrong for a user into a line on stderr."""
    _speak_utf8()
    try:
        code = command(argv)
        sys.stdout.flush()
        return code
    except (UsageError, ConfigError) as mistake:
        print(f"{prog}: {mistake}", file=sys.stderr)
        return EXIT_USAGE
    except KeyboardInterrupt:
        print(f"{prog}: interrupted", file=sys.stderr)
        return EXIT_INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone, as with `| head`. Keep Python from complaining about it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_FAILED
    except OSError as problem:
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


def _speak_utf8() -> None:
    """Japanese and box drawing must not fail on a terminal with an old locale."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")
