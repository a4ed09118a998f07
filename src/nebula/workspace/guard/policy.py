"""What a workspace allows, apart from where its root is."""

from __future__ import annotations

from nebula.value import field, value
from nebula.workspace.contract import DEFAULT_MAX_BYTES

GATEWAY_EXTENSIONS = (".py", ".md", ".txt", ".json", ".yaml", ".yml")


@value
class Policy:
    extensions: tuple[str, ...] | None = None
    """Endings a file's name may have, with the dot, in any case; None: every text file."""
    max_bytes: int = DEFAULT_MAX_BYTES
    """Of a file read or written, as UTF-8; for an append, of the result."""
    allowed: frozenset[str] = field(default_factory=frozenset)
    """What the user allowed by name, relative to the root: secret files, control files and folders of these."""


GATEWAY_POLICY = Policy(extensions=GATEWAY_EXTENSIONS)


def parse_extensions(text: str) -> tuple[str, ...]:
    """Read EC_ALLOW_EXT: comma or semicolon separated, the dot and white space optional."""
    names = (part.strip().lower() for part in text.replace(";", ",").split(","))
    return tuple(dict.fromkeys(name if name.startswith(".") else f".{name}" for name in names if name))
