"""Syntax trees. A grammar is loaded when a file of its language is first parsed.

Some input takes a parser the square of its length, so parsing has a time limit. A thread's own time is dear to ask for,
so it is asked once the clock on the wall says that so much may have passed. In py-tree-sitter 0.26
`progress_callback` crashes; what ends a parse is that no more text is handed to it. While text is asked for, other
threads run and Ctrl-C is noticed. What it is handed it never lets go of: that is the same array each time, emptied at
the end. A parser holds no step but the last.

Read a point of a node by its place, `start_point[0]`: in py-tree-sitter 0.26 its attributes (`.row`)
spoil the memory."""

from __future__ import annotations

import importlib
import re
import time
from functools import cache
from typing import TYPE_CHECKING

from nebula.index.chunks.languages import LANGUAGES
from nebula.index.constants import MOST_YAML_BLOCKS, PARSE_AT_ONCE_BYTES, PARSE_SECONDS, PARSE_STEP_BYTES

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

_OPENS_BLOCK = re.compile(rb"[-?:](?=\s|$)")


@cache
def _load_grammar(language: str) -> Language | None:
    """Return the grammar of a language; None where its wheel is missing or does not fit."""
    from tree_sitter import Language

    module, _, function = (LANGUAGES[language].grammar or f"tree_sitter_{language}:language").partition(":")
    try:
        return Language(getattr(importlib.import_module(module), function)())
    except (ImportError, AttributeError, ValueError):
        return None


def parse(language: str, data: bytes) -> Tree | None:
    """Return the syntax tree of a text in UTF-8, to be held for as long as its nodes are used.

    None for a language without a parser, for a text that takes longer than `PARSE_SECONDS` of this thread's own
    time, and for one that its parser cannot bear: the file is then cut into windows.
    """
    grammar = _load_grammar(language) if language in LANGUAGES else None
    if grammar is None or (language == "yaml" and _may_nest_deeply(data)):
        return None
    from tree_sitter import Parser

    if len(data) <= PARSE_AT_ONCE_BYTES:
        return Parser(grammar).parse(data)
    deadline, earliest = time.thread_time() + PARSE_SECONDS, time.monotonic() + PARSE_SECONDS
    is_late = False
    step = bytearray()

    def read(offset: int, _: object) -> bytearray:
        nonlocal is_late
        is_late = is_late or (time.monotonic() > earliest and time.thread_time() > deadline)
        step[:] = b"" if is_late else data[offset : offset + PARSE_STEP_BYTES]
        return step

    try:
        tree = Parser(grammar).parse(read)  # one of its own: another thread may parse while this one waits for text
    except SystemError as error:  # Ctrl-C came in `read`, and the parser went on to ask for more
        raise _find_first_cause(error) from None
    finally:
        step.clear()
    return None if is_late else tree


def _may_nest_deeply(data: bytes) -> bool:
    """Return whether YAML may have more blocks in each other than the scanner of its grammar has room for: beyond 255
    it writes behind its memory. A block begins behind spaces or a sign, so no line opens more than it has of both."""
    for line in data.split(b"\n"):
        if len(line) > MOST_YAML_BLOCKS:
            spaces = len(line) - len(line.lstrip())
            if spaces + len(_OPENS_BLOCK.findall(line)) > MOST_YAML_BLOCKS:
                return True
    return False


def _find_first_cause(error: BaseException) -> BaseException:
    while error.__cause__ is not None:
        error = error.__cause__
    return error
