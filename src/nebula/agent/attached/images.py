"""Images that a person gives: recognised by their first bytes, never by their names."""

from __future__ import annotations

import binascii
import os

from nebula.attachments import Attachment
from nebula.errors import NebulaError
from nebula.files.beneath import FILE_FLAGS
from nebula.files.reading import UnreadableFile, read_limited
from nebula.messages import IMAGE_FORMATS, MAX_IMAGE_BYTES, ImageBlock, recognise_image

LONGEST_NAME = 200
ENDINGS = (".png", ".jpg", ".jpeg", ".gif", ".webp")


class BadImage(NebulaError):
    """It cannot be sent; the sentence says why."""


def image_from_bytes(name: str, data: bytes) -> Attachment:
    kind = recognise_image(data)
    if not kind:
        raise BadImage("{name} is no image of these kinds: {kinds}", name=name, kinds=", ".join(IMAGE_FORMATS))
    if len(data) > MAX_IMAGE_BYTES:
        raise BadImage("{name} is larger than the {limit} bytes an image may have", name=name, limit=MAX_IMAGE_BYTES)
    return Attachment.of_image(name, ImageBlock(kind, data))


def image_from_base64(name: str, text: str) -> Attachment:
    name = "".join(each for each in name if each.isprintable())[:LONGEST_NAME] or "image"
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except (binascii.Error, ValueError):
        raise BadImage("the data of {name} is not base64", name=name) from None
    return image_from_bytes(name, data)


def image_from_file(path: str) -> Attachment:
    """Return the image in a file that the user named outright, wherever it lies. Raises BadImage."""
    name = os.path.basename(path)
    try:
        handle = os.open(os.path.expanduser(path), FILE_FLAGS & ~os.O_NOFOLLOW)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise BadImage("{path} cannot be read: {reason}", path=path, reason=reason) from None
    try:
        return image_from_bytes(name, read_limited(handle, path, MAX_IMAGE_BYTES))
    except UnreadableFile as problem:
        raise BadImage.of(problem) from None
    finally:
        os.close(handle)
