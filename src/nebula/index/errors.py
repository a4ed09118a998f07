"""What can go wrong with the index, for people."""

from __future__ import annotations

from nebula.errors import NebulaError


class IndexFailed(NebulaError):
    """Anything the index could not do."""


class OutsideRoot(IndexFailed):
    """A path that does not lie in the project."""
