"""Characters that must not travel: control characters from a model, invisible tags towards one."""

from __future__ import annotations

from .json_forms import map_json_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_CONTROL_CHARACTERS = {code: None for code in range(0x20) if chr(code) not in "\t\n\r"}

# Tag characters spell text that a model reads and a person cannot see. U+200D is no such thing: joined emoji
# and Indic scripts need it.
_TAG_CHARACTERS = dict.fromkeys(range(0xE0000, 0xE0080))


def strip_control_characters(text: str) -> str:
    """Return the text without characters below U+0020 other than tab, line feed and carriage return."""
    # Scanning for printable text first costs a fraction of a translation.
    return text if text.isprintable() else text.translate(_CONTROL_CHARACTERS)


def clean_tool_arguments(value: object) -> Any:
    """Return a copy of a JSON value a model sent, with control characters removed from every string and key."""
    return map_json_text(value, strip_control_characters)


def strip_hidden_characters(text: str) -> str:
    """Return the text without the invisible tag characters U+E0000–E007F."""
    return text if text.isascii() else text.translate(_TAG_CHARACTERS)
