"""What other tools tell of who wrote which lines, and what they are told."""

from __future__ import annotations

TRACES = ".agent-trace/traces.jsonl"
IMPORTED = ".nebula/imported_traces.jsonl"
"""Below the project: records that were brought in from elsewhere."""
