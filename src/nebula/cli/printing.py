"""All that the commands print outside the interactive session.

Results go to standard output, remarks to standard error. Every text passes here on its way out, so that nothing a
model, a file or a name brings along is obeyed by a terminal, be it ours or the one behind a pipe.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any, TextIO

from nebula.files.json_line import json_line
from nebula.language import translate, translate_count

_CODE = r"(?ms)(^ *```.*?(?:^ *```|\Z))"
_PLAIN = re.compile(r"[\t\n\x20-\x7e]*")


in_the_way: list[Callable[[], None]] = []
"""Takes away what stands on the terminal only until something is printed; the last counts."""


def make_room() -> None:
    """Take away what stands there until something is printed; who writes to stdout by itself calls this before."""
    if in_the_way:
        in_the_way[-1]()


def fit_to_print(text: str) -> str:
    """Return the text with every control sequence made visible."""
    if _PLAIN.fullmatch(text):
        return text
    from nebula.stage import neutralise  # most lines are plain ASCII, and the start of many commands needs no more

    return neutralise(text)


def print_line(text: str = "") -> None:
    make_room()
    print(fit_to_print(text), flush=True)


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print_line(line)


def tell_line(sentence: str, /, **values: Any) -> None:
    """Print a sentence as a result, in the user's language."""
    print_line(translate(sentence, **values))


def tell_remark(sentence: str, /, **values: Any) -> None:
    """Print a sentence as a remark, in the user's language."""
    print_remark(translate(sentence, **values))


def print_item(head: str, text: str) -> None:
    """Print an item of a list: on a terminal broken between words; further lines stand under its first word."""
    item = fit_to_print(head + text)
    if sys.stdout.isatty():
        item = _broken(item, sys.stdout, head)
    make_room()
    print(item, flush=True)


def print_words(text: str) -> None:
    """Print what a model says: on a terminal broken between words, but for code; elsewhere as it was written."""
    text = fit_to_print(text)
    if sys.stdout.isatty():
        parts = re.split(_CODE, text)
        parts[::2] = [_broken(part, sys.stdout) for part in parts[::2]]
        text = "".join(parts)
    make_room()
    print(text, flush=True)


def print_remark(text: str, *, end: str = "\n") -> None:
    """Print a sentence of the program; on a terminal it is broken between words."""
    text = fit_to_print(text)
    if sys.stderr.isatty():
        text = _broken(text, sys.stderr)
    make_room()
    print(text, end=end, file=sys.stderr, flush=True)


def _broken(text: str, stream: TextIO, head: str = "") -> str:
    """Return the text broken between words for the terminal behind a stream; further lines stand behind the `head`."""
    from nebula.cli.terminal.output.width import display_width, wrap

    columns, hang = columns_of(stream), display_width(head)
    return "\n".join(part for line in text.split("\n") for part in wrap(line, columns, hang))


def columns_of(stream: TextIO) -> int:
    """Return how many columns the terminal behind a stream has."""
    try:
        return max(20, os.get_terminal_size(stream.fileno()).columns)
    except OSError:
        return 80


def short_path(path: str) -> str:
    """Return a path with `~` for the home directory."""
    home = os.path.expanduser("~")
    return "~" + path[len(home) :] if path == home or path.startswith(home + os.sep) else path


def print_json(value: Any) -> None:
    """Print one line of JSON, readable in any script; what a terminal might obey is escaped."""
    make_room()
    print(json_line(value), flush=True)


def compacted(count: int) -> str:
    """Return what to say after the past was made small."""
    if not count:
        return translate("There is nothing to compact: only the newest turn is sent in full.")
    return translate_count(
        count,
        "From now on {count} more turn goes as a summary; the model can still look up all of it.",
        "From now on {count} more turns go as summaries; the model can still look up all of them.",
    )
