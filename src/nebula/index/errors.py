"""What can go wrong with the index, for people."""

from __future__ import annotations

from nebula.errors import NebulaError


class IndexFailed(NebulaError):
    """Anything the index could not do."""


class IndexStopped(IndexFailed):
    """Somebody asked to stop. What was taken in until then stays; the next look at the files finds the rest."""


class OutsideRoot(IndexFailed):
    """A path that does not lie in the project."""
