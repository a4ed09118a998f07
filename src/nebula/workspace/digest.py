"""The name of a content."""

from __future__ import annotations


def digest(content: bytes) -> str:
    from hashlib import sha256  # loads the TLS library: 5 ms that an import need not pay

    return sha256(content).hexdigest()
