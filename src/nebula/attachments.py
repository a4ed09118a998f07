"""What comes with a prompt beside its words: a file or a part of it, a listing, an image, a large paste, piped input,
a command of the user's own, and what became of files since the last turn.

The model reads it as additional context of the prompt's message; records keep it with the turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from nebula.messages import (
    CONTEXT_ENTRY_END_HEADER,
    CONTEXT_ENTRY_START_HEADER,
    ImageBlock,
    UserMessage,
    strip_hidden_characters,
)
from nebula.messages.redaction import SECRET_CONTENT
from nebula.value import replace, value

Kind = Literal["file", "folder", "image", "paste", "input", "since", "command"]

LARGE_LINES = 50
LARGE_CHARACTERS = 4_000
"""Pasted or piped text from this size on is attached; what is shorter stays a part of the prompt."""

_FORGED = r"(?m)^(?=--- (?:USER MESSAGE|CONTEXT ENTRY) )"
_WORDS: Mapping[Kind, str] = {
    "file": "The user attached the file {name}:",
    "folder": "The user attached a listing of the folder {name}:",
    "paste": "The user pasted this text, which the prompt calls {name}:",
    "input": "The user piped this text into the prompt:",
    "since": "Changed since your last turn, not by you ({name}):",
    "command": "The user ran this command in a copy of the project:",
}


@value
class Attachment:
    name: str
    """As the prompt names it: a path, perhaps with its lines (`a.py:10-80`), or the mark of a paste."""
    kind: Kind
    size: int
    """Bytes of what was attached, whole."""
    text: str = ""
    """What the model reads; of an image its bytes in base64."""
    format: str = ""
    """Of an image: `png`, `jpeg`, `gif` or `webp`."""
    secret: bool = False
    """It holds what a secret file holds: meant for the model alone."""

    @classmethod
    def of_image(cls, name: str, image: ImageBlock) -> Attachment:
        return cls(name, "image", len(image.data), image.base64, image.format)

    @classmethod
    def of_text(cls, name: str, kind: Kind, text: str) -> Attachment:
        return cls(name, kind, len(text.encode("utf-8", "replace")), text)

    @property
    def image(self) -> ImageBlock | None:
        if self.kind != "image" or not self.text:
            return None
        return ImageBlock.from_json({"format": self.format, "data": self.text})

    def to_json(self) -> dict[str, Any]:
        """Return it for the wire and the trace: what it is, not what it holds."""
        return {"name": self.name, "kind": self.kind, "size": self.size}

    def to_record(self) -> dict[str, Any]:
        """Return all of it, contents included, for memory and graph."""
        kept = {"text": self.text, "format": self.format}
        return self.to_json() | {key: each for key, each in kept.items() if each}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Attachment:
        return cls(
            str(record["name"]),
            record["kind"],
            int(record["size"]),
            str(record.get("text", "")),
            str(record.get("format", "")),
        )

    def recorded(self) -> Attachment:
        """Return the attachment as it may be kept."""
        return replace(self, text=SECRET_CONTENT) if self.secret else self


def is_large(text: str) -> bool:
    return len(text) >= LARGE_CHARACTERS or text.count("\n") >= LARGE_LINES


def attach(message: UserMessage, attachments: Sequence[Attachment]) -> UserMessage:
    """Return the message with the attachments as its additional context and its images."""
    if not attachments:
        return message
    context = "".join(_entry(each) for each in attachments if each.kind in _WORDS).rstrip("\n")
    images = tuple(image for each in attachments if (image := each.image) is not None)
    return replace(message, additional_context=context + "\n" * bool(context), images=images or None)


def _entry(attachment: Attachment) -> str:
    """No line in it can pass for the end of it, or for words of the user."""
    text = re.sub(_FORGED, " ", strip_hidden_characters(attachment.text))
    words = _WORDS[attachment.kind].format(name=attachment.name)
    return f"{CONTEXT_ENTRY_START_HEADER}{words}\n{text.rstrip(chr(10))}\n{CONTEXT_ENTRY_END_HEADER}"


def shared_room(attachments: Iterable[Attachment], room: int) -> dict[str, int]:
    """Return how many bytes each attachment gets, by name: small ones what they need, the rest is shared evenly."""
    texts = sorted((each for each in attachments if each.kind != "image"), key=lambda each: len(each.text))
    shares: dict[str, int] = {}
    for place, each in enumerate(texts):
        share = min(len(each.text.encode("utf-8", "replace")), room // (len(texts) - place))
        shares[each.name] = share
        room -= share
    return shares
