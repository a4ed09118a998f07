"""How a name of a file or a ref is shown."""

from __future__ import annotations


def show_name(name: str) -> str:
    """Bytes that are no text come as lone surrogates, which no file, socket or terminal could carry."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
