"""Images that travel with a user message."""

from __future__ import annotations

from collections.abc import Iterable

from nebula.value import value

from .json_forms import JsonObject, MessageFormatError, read_field, read_text, refuse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MAX_IMAGES_PER_MESSAGE = 10
MAX_IMAGE_BYTES = 10 * 1024 * 1024
IMAGE_FORMATS = ("png", "jpeg", "gif", "webp")

_ALIASES = {"jpg": "jpeg"}


@value
class ImageBlock(JsonObject):
    """One image: its format (`png`, `jpeg`, `gif`, `webp`) and its bytes."""

    format: str
    data: bytes

    def __post_init__(self) -> None:
        name = self.format.lower()
        object.__setattr__(self, "format", _ALIASES.get(name, name))
        object.__setattr__(self, "data", bytes(self.data))
        if self.format not in IMAGE_FORMATS:
            raise ValueError(f"an image must be one of {', '.join(IMAGE_FORMATS)}, not {self.format!r}")
        if len(self.data) > MAX_IMAGE_BYTES:
            raise ValueError(f"an image may have {MAX_IMAGE_BYTES} bytes at most, this one has {len(self.data)}")

    @property
    def media_type(self) -> str:
        return f"image/{self.format}"

    @property
    def base64(self) -> str:
        import binascii  # not for every start

        return binascii.b2a_base64(self.data, newline=False).decode("ascii")

    def to_json(self) -> dict[str, Any]:
        return {"format": self.format, "data": self.base64}

    @classmethod
    def from_json(cls, obj: object) -> ImageBlock:
        kind = read_field(obj, "format", read_text)
        data = read_field(obj, "data", _read_base64)
        try:
            return cls(kind, data)
        except ValueError as error:
            raise MessageFormatError(str(error)) from None


def recognise_image(data: bytes) -> str:
    """Return the format of an image by its first bytes, whatever its name says; empty where it is none that we send."""
    if data.startswith(b"\x89PNG\r\n\x1a\n"):
        return "png"
    if data.startswith(b"\xff\xd8\xff"):
        return "jpeg"
    if data.startswith((b"GIF87a", b"GIF89a")):
        return "gif"
    return "webp" if data.startswith(b"RIFF") and data[8:12] == b"WEBP" else ""


def checked_images(images: Iterable[ImageBlock] | None) -> tuple[ImageBlock, ...] | None:
    if images is None:
        return None
    kept = tuple(images)
    if len(kept) > MAX_IMAGES_PER_MESSAGE:
        raise ValueError(f"a message may have {MAX_IMAGES_PER_MESSAGE} images at most, this one has {len(kept)}")
    return kept


def _read_base64(value: object) -> bytes:
    import binascii

    try:
        return binascii.a2b_base64(read_text(value), strict_mode=True)
    except (binascii.Error, ValueError) as error:
        if isinstance(error, MessageFormatError):
            raise
        refuse("base64", value)
