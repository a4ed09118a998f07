"""What is kept of a turn: sessions in SQLite, the log for people, the trace for programs.

Three readers of the one stream of events; each has written an event before the next may happen.
"""

from .errors import MemoryFileError, RecordError, UnknownSession
from .log import LogReader
from .recorder import MemoryReader
from .sessions import SessionInfo, Sessions
from .trace import TraceReader

__all__ = [
    "LogReader",
    "MemoryFileError",
    "MemoryReader",
    "RecordError",
    "SessionInfo",
    "Sessions",
    "TraceReader",
    "UnknownSession",
]
