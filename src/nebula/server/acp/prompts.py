"""Read a prompt from an editor: words, files that it names, text and images that it sends."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from nebula.agent.attached.images import BadImage, image_from_base64
from nebula.attachments import Attachment
from nebula.server.acp.peer import RpcError


def read_prompt(blocks: Any, root: str) -> tuple[str, tuple[Attachment, ...]]:
    """Return the prompt and its attachments. Raises RpcError for content that cannot be one. A file of the project
    becomes `@path` in the prompt, which attaches it."""
    if not isinstance(blocks, Sequence) or not all(isinstance(each, Mapping) for each in blocks):
        raise RpcError("'prompt' must be a list of content blocks")
    words: list[tuple[str, bool]] = []
    attached: list[Attachment] = []
    for block in blocks:
        kind = block.get("type")
        if kind == "text":
            words.append((_string(block, "text"), False))
        elif kind == "resource_link":
            words.append((_mention(_string(block, "uri"), root), True))
        elif kind == "resource":
            words.append((_taken_along(block.get("resource"), root, attached), True))
        elif kind == "image":
            attached.append(_image(block, len(attached) + 1))
        else:
            raise RpcError("content blocks of type '{kind}' are not understood", kind=str(kind))
    text = _join(words)
    if not text.strip():
        raise RpcError("the prompt is empty")
    return text, tuple(attached)


def _join(parts: Sequence[tuple[str, bool]]) -> str:
    """Return the words in order; a name (True) is separated from letters before and after it."""
    text, after_name = "", False
    for words, is_name in parts:
        if (is_name and text and not text[-1].isspace() and text[-1] not in "([{'\"`") or (
            after_name and words and (words[0].isalnum() or words[0] in "@_-/.")
        ):
            text += " "
        text += words
        after_name = is_name
    return text


def _mention(uri: str, root: str) -> str:
    path = _inside(uri, root)
    return f"@{path}" if path else uri


def _inside(uri: str, root: str) -> str:
    """Return the path within the project; empty for one outside."""
    parts = urlsplit(uri)
    if parts.scheme != "file":
        return ""
    path = os.path.relpath(os.path.realpath(unquote(parts.path)), os.path.realpath(root))
    return "" if path.startswith("..") else path


def _taken_along(resource: Any, root: str, attached: list[Attachment]) -> str:
    """Attach a text as the editor has it, perhaps unsaved, and return its mention."""
    if not isinstance(resource, Mapping) or "text" not in resource:
        raise RpcError("a resource must bring its text along")
    uri = _string(resource, "uri")
    name = _inside(uri, root) or uri
    attached.append(Attachment.of_text(name, "file", _string(resource, "text")))
    return name


def _string(block: Mapping[str, Any], key: str) -> str:
    found = block.get(key)
    if not isinstance(found, str):
        raise RpcError("'{name}' must be a string", name=key)
    try:
        found.encode()
    except UnicodeEncodeError:
        raise RpcError("the message has half a surrogate pair, which is no character") from None
    return found


def _image(block: Mapping[str, Any], number: int) -> Attachment:
    try:
        return image_from_base64(f"image {number}", str(block.get("data", "")))
    except BadImage as problem:
        raise RpcError("{problem}", problem=problem) from None
