"""Addresses of servers, for people: a password or token inside one is never shown."""

from __future__ import annotations


def without_credentials(text: str) -> str:
    """Return `text` without `user:password@` and without the query, where tokens travel."""
    scheme, separator, rest = text.partition("://") if "://" in text else ("", "", text)
    authority, path = split_authority(rest)
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{path}".partition("?")[0]


def password_in(text: str) -> str:
    """Return the password inside an address, or nothing."""
    authority, _ = split_authority(text.partition("://")[2] or text)
    return authority.rpartition("@")[0].partition(":")[2]


def split_authority(rest: str) -> tuple[str, str]:
    """Split an address without its scheme into what stands before the path, and the rest."""
    end = next((i for i, char in enumerate(rest) if char in "/?#"), len(rest))
    return rest[:end], rest[end:]
