"""`trace.jsonl`: the stream of events, one JSON object a line."""

from __future__ import annotations

from nebula.events import Stamped
from nebula.files.json_line import json_line
from nebula.memory.append import AppendingReader


class TraceReader(AppendingReader):
    _entry_end = b"\n"

    def _entry(self, stamped: Stamped) -> str:
        return json_line(stamped.to_json()) + "\n"
