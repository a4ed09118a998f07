"""One clear line for a mistake, and the exit code that goes with it. Nobody sees a traceback for a wrong path."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from nebula.cli.printing import print_remark
from nebula.errors import EXIT_FAILED, EXIT_INTERRUPTED, EXIT_OK, NebulaError
from nebula.language import (
    NO_ROOM,
    Sentence,
    explain,
    explain_failure,
    language_of,
    sentence_of,
    translate,
    use_language,
)
from nebula.value import record


@record
class Invocation:
    words: Sequence[str]
    exit_code: int = EXIT_OK


@contextmanager
def error_boundary(prog: str, argv: Sequence[str] | None) -> Iterator[Invocation]:
    """Turn what may go wrong for a user in its block into a line on stderr. What is no NebulaError is a bug.

    Without `argv` its words are those of the process.
    """
    if argv is None:
        argv = sys.argv[1:]
    _fill_missing_streams()
    _speak_utf8()
    use_language(language_of(os.environ))  # until the settings are known; what goes wrong before speaks it too
    command = Invocation(argv)
    try:
        try:
            yield command
        finally:
            sys.stdout.flush()
    except NebulaError as problem:
        print_remark(f"{prog}: {explain(problem)}")
        command.exit_code = problem.exit_code
    except KeyboardInterrupt:
        print_remark(f"{prog}: {translate('interrupted')}")
        command.exit_code = EXIT_INTERRUPTED
    except BrokenPipeError:
        drop_unwritten()  # the reader of our output has gone, as with `| head`
        command.exit_code = EXIT_FAILED
    except OSError as problem:
        is_output = not drop_unwritten() or (not problem.filename and problem.errno in NO_ROOM)
        said = Sentence("Standard output: {problem}", problem=sentence_of(problem)) if is_output else None
        print_remark(f"{prog}: {explain(said or explain_failure(problem))}")
        command.exit_code = EXIT_FAILED


def drop_unwritten() -> bool:
    """Drop what stdout could not take: it would fail once more at exit, where Python complains at length. True if
    nothing had to be dropped."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return False
    return True


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
