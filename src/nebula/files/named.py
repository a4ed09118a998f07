"""Errors of the system that name their file. What fails on a descriptor knows no name, and whoever is told only that a
disk is full does not know which."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

from nebula.language import Sentence, sentence_of

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)


@contextmanager
def named(path: str | os.PathLike[str]) -> Iterator[None]:
    """Give an OSError of the block that names no file the name of this one."""
    try:
        yield
    except OSError as problem:
        if problem.filename is None and problem.errno is not None:
            problem.filename = os.fspath(path)
        raise


def explain_failure(problem: OSError) -> Sentence:
    """Return what happened to which file, and what to do where that is known."""
    if not problem.filename:
        return sentence_of(problem)
    if problem.errno in NO_ROOM:
        return Sentence("{path}: the disk is full; make room and try again.", path=problem.filename)
    return Sentence("{path}: {reason}", path=problem.filename, reason=problem.strerror)
