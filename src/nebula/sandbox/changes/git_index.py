"""The entries of a git index without what git remembers about files on disk: two indexes with the same ones mean the
same."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

from nebula.value import value

_STAT_BYTES = 40  # times, device, inode, mode, owner, size: all but the mode is about the disk
_MODE_AT = 24
_EXTENDED = 0x4000
_LONGEST_NAME = 4096
LARGEST_INDEX = 64 * 2**20
_MEANT_FLAGS = 0xB000  # assume-valid and the stage; the rest is the length of the name


class NotUnderstood(Exception):
    """An index of a form that is not known here."""


@value
class IndexEntry:
    name: bytes
    mode: int
    digest: bytes
    flags: int


def read_entries(data: bytes) -> Iterator[IndexEntry]:
    """Yield entries one by one: names share their beginnings, so all can be a thousand times as large as the file."""
    version, count = int.from_bytes(data[4:8], "big"), int.from_bytes(data[8:12], "big")
    if data[:4] != b"DIRC" or version not in {2, 3, 4}:
        raise NotUnderstood
    # The digests of its entries are of the same kind as the one that it ends with.
    digest_size = 32 if hashlib.sha256(data[:-32]).digest() == data[-32:] else 20
    at, previous = 12, b""
    for _ in range(count):
        try:
            entry, at = _read_entry(data, at, version, digest_size, previous)
        except (IndexError, ValueError) as error:
            raise NotUnderstood from error
        if len(entry.name) > _LONGEST_NAME:
            raise NotUnderstood
        previous = entry.name
        yield entry
    if data[at : at + 4] == b"link":  # shares its entries with another file
        raise NotUnderstood


def digest_of_entries(data: bytes) -> bytes | None:
    """Return what two indexes with the same entries have in common; None for one of a form that is not known here."""
    found = hashlib.sha256()
    try:
        for each in read_entries(data):
            found.update(each.name + b"\0" + each.digest + each.mode.to_bytes(4, "big") + each.flags.to_bytes(4, "big"))
    except NotUnderstood:
        return None
    return found.digest()


def _read_entry(data: bytes, start: int, version: int, digest_size: int, previous: bytes) -> tuple[IndexEntry, int]:
    mode = int.from_bytes(data[start + _MODE_AT : start + _MODE_AT + 4], "big")
    at = start + _STAT_BYTES
    digest = data[at : at + digest_size]
    at += digest_size
    flags = int.from_bytes(data[at : at + 2], "big")
    at += 2
    meant = flags & _MEANT_FLAGS
    if flags & _EXTENDED:
        meant |= int.from_bytes(data[at : at + 2], "big") << 16
        at += 2
    kept = b""
    if version == 4:
        cut, at = _read_varint(data, at)
        kept = previous[: len(previous) - cut]
    end = data.index(b"\0", at)
    name = kept + data[at:end]
    if version == 4:
        return IndexEntry(name, mode, digest, meant), end + 1
    length = end - start
    return IndexEntry(name, mode, digest, meant), start + (length + 8) // 8 * 8


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    byte = data[at]
    number = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        number = ((number + 1) << 7) | (byte & 0x7F)
    return number, at + 1
