"""The name of a content: its SHA-256.

`hashlib` loads OpenSSL, which takes 5 ms and more than half a megabyte, and hashes three times as fast. That pays for a
process that hashes more than a megabyte; until then what Python falls back to without OpenSSL is enough.
"""

from __future__ import annotations

try:
    from _sha2 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]
except ImportError:
    try:
        from _sha256 import sha256 as _sha256  # type: ignore[import-not-found, unused-ignore]  # up to Python 3.11
    except ImportError:
        from hashlib import sha256 as _sha256

_PAYS = 1 << 20
_hashed = 0


def digest(content: bytes) -> str:
    """Return the SHA-256 of `content` as hexadecimal digits."""
    global _hashed
    _hashed += len(content)
    if _hashed < _PAYS:
        return str(_sha256(content).hexdigest())
    from hashlib import sha256

    return sha256(content).hexdigest()
