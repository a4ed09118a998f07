"""Objects of git that lie in files of their own."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

OBJECT_NAME = re.compile(r"[0-9a-f]{40}([0-9a-f]{24})?")
FOLDER_MODE = "40000"


class NotAnObject(Exception):
    """Raised for what is no object of the kind that was wanted."""


def unpack(packed: bytes, kind: str, limit: int) -> bytes:
    """Return the content of an object, or as much as `limit` bytes hold. Raises NotAnObject."""
    try:
        unpacked = zlib.decompressobj().decompress(packed, limit)
    except zlib.error as error:
        raise NotAnObject from error
    head, _, content = unpacked.partition(b"\0")
    if not head.startswith(kind.encode() + b" "):
        raise NotAnObject
    return content


def tree_entries(content: bytes, digest_size: int) -> Iterator[tuple[str, str, str]]:
    """Yield mode, name and object of what is in a folder. Raises NotAnObject."""
    start = 0
    while start < len(content):
        end = content.find(b"\0", start)
        mode, found, name = content[start:end].partition(b" ")
        if end < 0 or not found or end + digest_size >= len(content) + 1:
            raise NotAnObject
        digest = content[end + 1 : end + 1 + digest_size].hex()
        yield mode.decode("ascii", "replace"), name.decode("utf-8", "surrogateescape"), digest
        start = end + 1 + digest_size
