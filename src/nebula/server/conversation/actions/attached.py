"""Read the attachments that clients send with a prompt, or with the preview of one."""

from __future__ import annotations

from typing import Any

from nebula.agent.attached.images import BadImage, image_from_base64
from nebula.attachments import Attachment
from nebula.graph.formats.xml_text import refuse_surrogates
from nebula.messages import MAX_IMAGES_PER_MESSAGE
from nebula.server.conversation.actions.declared import Objects
from nebula.server.conversation.context import in_thread
from nebula.server.conversation.protocol import ActionError

LONGEST_NAME = 200


async def attachments_of(images: Objects | None, files: Objects | None) -> tuple[Attachment, ...]:
    """Return the attachments. Raises ActionError for too many images, and for data that is not an image."""
    if len(images or ()) > MAX_IMAGES_PER_MESSAGE:
        raise ActionError("a prompt takes {count} images", count=MAX_IMAGES_PER_MESSAGE)
    pictures = await in_thread(lambda: tuple(map(_image, images or ())))
    return pictures + tuple(map(_file, files or ()))


def _image(given: dict[str, Any]) -> Attachment:
    name, data = given.get("name", "image"), given.get("data")
    if not isinstance(name, str) or not isinstance(data, str):
        raise ActionError("each of 'images' has a 'name', and its 'data' in base64")
    refuse_surrogates(name, "the image's name")
    try:
        return image_from_base64(name, data)
    except BadImage as problem:
        raise ActionError("{problem}", problem=problem) from None


def _file(given: dict[str, Any]) -> Attachment:
    name, text = given.get("name"), given.get("text")
    if not isinstance(name, str) or not isinstance(text, str):
        raise ActionError("each of 'files' has a 'name', and its 'text'")
    refuse_surrogates(name, "the file's name")
    refuse_surrogates(text, "the file's text")
    return Attachment.of_text(" ".join(name.split())[:LONGEST_NAME], "file", text)
