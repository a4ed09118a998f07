"""`log.txt`: what was said, for people to read; complete, in order, and no message can forge an entry.

An entry is a header line, the text, a blank line. The header is `## USER:<name>`, `## AGENT:nebula` or
`## SYSTEM:tool_result:<tool>:<call id>`. A message with tool calls has each of them as one line of JSON, marked
`[tool_call] `, in a paragraph after its text. A line of text that begins like a header or like such a mark gets a
space in front, whatever kind of line break it follows.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from nebula.events import Event, Message, Stamped, Steering, Task, ToolResult
from nebula.files.json_line import json_line
from nebula.memory.append import AppendingReader
from nebula.memory.rows import storable

CALL_MARK = "[tool_call] "
# Every character at which some reader ends a line, str.splitlines being the one that knows most.
_LINE_BREAKS = "\n\r\v\f\x1c-\x1e\x85\u2028\u2029"
_FORGED = rf"(?:\A|(?<=[{_LINE_BREAKS}]))(?=## |{re.escape(CALL_MARK)})"
_LONE_RETURN = r"\r(?!\n)"
_SYMBOLS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n\r"} | {0x7F: "␡"}
_SYMBOLS |= {code: f"<U+{code:04X}>" for code in range(0x80, 0xA0)}
"""What a terminal obeys instead of showing it."""
_UNFIT_FOR_HEADER = r"[\x00-\x1f\x7f-\x9f\u2028\u2029]"


class LogReader(AppendingReader):
    _entry_end = b"\n\n"

    def __init__(self, path: str, user: str | None = None) -> None:
        super().__init__(path)
        self._user = user or login_name()

    def _entry(self, stamped: Stamped) -> str:
        return entry_of(stamped.event, self._user)


def login_name() -> str:
    for variable in ("LOGNAME", "USER", "USERNAME"):
        if name := os.environ.get(variable):
            return name
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):  # Windows; a container whose user has no name
        return "user"


def entry_of(event: Event, user: str) -> str:
    """Return the entry for an event, or nothing: only what was said is logged."""
    if isinstance(event, Task):
        return _entry(f"USER:{_header_part(user)}", event.prompt)
    if isinstance(event, Steering):
        return _entry(f"USER:{_header_part(user)}", event.text)
    if isinstance(event, Message):
        message = event.message
        calls = [json_line({"id": use.id, "name": use.name, "args": use.args}) for use in message.tool_uses or ()]
        return _entry("AGENT:nebula", message.content, calls)
    if isinstance(event, ToolResult):
        tool, result = _header_part(event.tool).replace(":", "_"), event.result
        text = result.as_text()
        return _entry(f"SYSTEM:tool_result:{tool}:{_header_part(result.tool_use_id)}", text)
    return ""


def _entry(header: str, text: str, calls: Sequence[str] = ()) -> str:
    paragraphs = [as_logged(text)] if text or not calls else []
    if calls:
        paragraphs.append("\n".join(CALL_MARK + call for call in calls))
    return f"## {header}\n" + "\n\n".join(paragraphs) + "\n\n"


def as_logged(text: str) -> str:
    """Return the text as it stands in the log: no line passes for a header, and a terminal obeys nothing in it."""
    return re.sub(_FORGED, " ", re.sub(_LONE_RETURN, "␍", storable(text)).translate(_SYMBOLS))


def _header_part(name: str) -> str:
    return re.sub(_UNFIT_FOR_HEADER, "_", storable(name))
