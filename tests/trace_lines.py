"""Traces as tests want them: tasks written by the real stream of events, or lines by hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from nebula.events import Event, EventStream, Final, Task
from nebula.memory.append import TraceReader


def write_task(project: Path, *events: Event, prompt: str = "do it", model: str = "gpt-4.1-nano", **final: Any) -> str:
    """One task with these events between its beginning and its end; its trace id."""
    stream = EventStream("s", recorders=(TraceReader(str(project / ".nebula" / "trace.jsonl")),))
    end = Final(**({"text": "Done.", "status": "ok", "exit_code": 0} | final))
    for event in (Task(prompt, "agent", model, "openai"), *events, end):
        stream.emit(event)
    return stream.trace_id


def write_lines(project: Path, name: str, *lines: Any) -> None:
    file = project / ".nebula" / name
    file.parent.mkdir(exist_ok=True, parents=True)
    with file.open("a", encoding="utf-8") as out:
        for line in lines:
            out.write((line if isinstance(line, str) else json.dumps(line)) + "\n")
