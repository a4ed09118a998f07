"""JSON in one line, as logs, traces and `--json` hold it."""

from __future__ import annotations

import json
import re
from typing import Any

# json.dumps leaves these as they are: what other programs take for the end of a line, what a terminal obeys, and
# halves of a surrogate pair, which UTF-8 cannot carry.
_UNSAFE_IN_A_LINE = "[\x7f-\x9f\u2028\u2029\ud800-\udfff]"


_encode = json.JSONEncoder(ensure_ascii=False).encode


def json_line(value: Any) -> str:
    """Return one line of readable JSON, without its line break; no character of it can be taken for one."""
    text = _encode(value)
    if text.isascii() and "\x7f" not in text:
        return text
    return re.sub(_UNSAFE_IN_A_LINE, lambda found: f"\\u{ord(found[0]):04x}", text)
