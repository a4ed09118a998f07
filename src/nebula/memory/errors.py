"""What can go wrong with the records, each as one sentence for the person at the terminal.

RecordError
├── MemoryFileError   a file of ours that cannot be used: foreign, newer, damaged, locked, full disk
├── UnreadableRow     one message of a session that cannot be read; the session goes on without it
└── UnknownSession    no session, or more than one, is meant by that id
"""

from __future__ import annotations

from nebula.errors import EXIT_USAGE, NebulaError


class RecordError(NebulaError):
    """Base of all; its text says what happened and what to do."""


class MemoryFileError(RecordError):
    pass


class UnknownSession(RecordError):
    exit_code = EXIT_USAGE


class UnreadableRow(RecordError):
    def __init__(self, number: int, reason: str) -> None:
        super().__init__(
            "message {number} of the session cannot be read ({reason}); it was left out", number=number, reason=reason
        )
