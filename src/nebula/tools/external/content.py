"""Turn the result of an MCP tool into blocks for the model: text, data, and images if the model takes them."""

from __future__ import annotations

import binascii
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from nebula.messages import (
    MAX_IMAGE_BYTES,
    ImageBlock,
    Json,
    Text,
    ToolResultStatus,
    recognise_image,
    strip_control_characters,
    strip_hidden_characters,
)
from nebula.messages.json_forms import map_json_text
from nebula.tools.contract import Outcome
from nebula.tools.result_limits import cut_middle

if TYPE_CHECKING:
    from mcp.types import CallToolResult

MAX_RESULT = 100_000
"""Bytes of one result that the model gets."""
ROOM_FOR_ADVICE = 500
MAX_LABEL = 200
ASK_FOR_LESS = (
    "[The result had {size} bytes, and its middle was left out. Ask for less: narrower arguments, a filter, a limit or "
    "a page, as the tool offers it.]"
)

Block = Text | Json | ImageBlock


def clean_text(text: str) -> str:
    """Return `text` without invisible characters."""
    return strip_control_characters(strip_hidden_characters(text))


def read_blocks(result: CallToolResult) -> list[Block]:
    """Return the parts of `result`; structured content is added where no text says the same."""
    blocks: list[Block] = [_read_block(each) for each in result.content]
    data = result.structured_content
    if data is not None and not _say([each.text for each in blocks if isinstance(each, Text)], data):
        blocks.append(Json(map_json_text(data, clean_text)))
    return blocks


def make_outcome(blocks: Iterable[Block], *, is_error: bool, room: int, most_images: int, why_none: str) -> Outcome:
    """Return the outcome of a call that answered with `blocks`, in at most `room` bytes. Images after the first
    `most_images` are only named, with the reason `why_none`."""
    images: list[ImageBlock] = []
    texts: list[Text | Json] = []
    for block in blocks:
        if isinstance(block, ImageBlock):
            is_shown = len(images) < most_images
            images += [block] if is_shown else []
            what = "shown below the results" if is_shown else f"not shown, {why_none}"
            texts.append(Text(f"({block.media_type}, {len(block.data):,} bytes: {what})"))
        else:
            texts.append(block)
    texts = _cut(texts, room)
    if is_error:
        said = " ".join(block.as_text() for block in texts) or "The tool failed without a word."
        return Outcome((Json({"error": said}),), ToolResultStatus.Error, code=502, images=tuple(images))
    return Outcome(tuple(texts) or (Text("(no output)"),), images=tuple(images))


def _cut(blocks: list[Text | Json], room: int) -> list[Text | Json]:
    """Return a result of more than `room` bytes as both ends of its text, with advice on asking for less."""
    size = sum(len(block.as_text().encode("utf-8", "surrogatepass")) for block in blocks)
    if size <= room:
        return blocks
    text, _ = cut_middle("\n".join(block.as_text() for block in blocks), max(0, room - ROOM_FOR_ADVICE))
    return [Text(text), Text(ASK_FOR_LESS.format(size=size))]


def _say(texts: list[str], data: Any) -> bool:
    """Return whether `texts` contain all of `data`; servers send both, for clients that do not read data. A plain value
    or a list is data under the name `result`."""
    plain = data["result"] if isinstance(data, dict) and list(data) == ["result"] else data
    read = [_parse(each) for each in texts]
    return any(said in (plain, data) for said in (*texts, *read, texts, read))


def _parse(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _read_block(content: Any) -> Block:
    """Return the text or the image in `content`; for anything else its kind."""
    if content.type == "text":
        return Text(clean_text(content.text))
    if content.type == "resource_link":
        return Text(f"(a resource: {_label(content.uri)} {_label(content.name)})")
    resource = getattr(content, "resource", None)
    if resource is not None and getattr(resource, "text", None) is not None:
        return Text(clean_text(resource.text))
    kind = getattr(content, "mime_type", None) or getattr(resource, "mime_type", None) or content.type
    encoded = getattr(content, "data", None) if content.type == "image" else getattr(resource, "blob", None)
    return _read_image(encoded) or Text(f"({_label(kind)}: not shown)")


def _label(text: Any) -> str:
    return clean_text(str(text))[:MAX_LABEL]


def _read_image(encoded: Any) -> ImageBlock | None:
    """Return the image that a server sent in base64, recognised by its first bytes; None where it cannot be sent on."""
    if not isinstance(encoded, str) or len(encoded) > MAX_IMAGE_BYTES * 3 // 2:
        return None
    try:
        data = binascii.a2b_base64(encoded)
    except (binascii.Error, ValueError):
        return None
    kind = recognise_image(data)
    return ImageBlock(kind, data) if kind and len(data) <= MAX_IMAGE_BYTES else None
