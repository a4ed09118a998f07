"""What a workspace allows, apart from where its root is."""

from __future__ import annotations

from nebula.value import field, value
from nebula.workspace.contract import DEFAULT_MAX_BYTES


@value
class Policy:
    extensions: tuple[str, ...] | None = None
    """Endings a file's name may have, with the dot, in any case; None: every text file."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """Of a file read or written, as UTF-8; for an append, of the result."""
    allowed: frozenset[str] = field(default_factory=frozenset)
    """What the user allowed by name, relative to the root: secret files, control files and folders of these."""
