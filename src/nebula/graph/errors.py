"""What the graph raises; every class has a `code`, the word that travels in `{"error": {"code": …}}`.

GraphError
  NotFound
    AmbiguousId
  CycleError
  BadText
  BadRequest
  ChangedSince
  BadFile
"""

from __future__ import annotations

from collections.abc import Sequence

from nebula.errors import NebulaError
from nebula.language import Sentence


class GraphError(NebulaError):
    """Anything a caller may want to show as one line."""

    code = "graph_error"


class NotFound(GraphError, LookupError):
    """No such node, flow or connection."""

    code = "not_found"


class AmbiguousId(NotFound):
    """More than one id begins so; `candidates` are those."""

    code = "ambiguous_id"

    def __init__(self, beginning: str, candidates: Sequence[str]) -> None:
        shown = ", ".join(candidates[:5]) + (", …" if len(candidates) > 5 else "")
        super().__init__(
            "{beginning} stands for {count} nodes; give more of the id: {candidates}",
            beginning=beginning,
            count=len(candidates),
            candidates=shown,
        )
        self.candidates = tuple(candidates)


class CycleError(GraphError, ValueError):
    """The connection would close a circle."""

    code = "cycle_detected"


class BadText(GraphError, ValueError):
    """Text that cannot be stored: a lone surrogate, too large, an empty name."""

    code = "bad_text"


class BadRequest(GraphError, ValueError):
    """Arguments that make no sense together."""

    code = "bad_request"


class ChangedSince(GraphError):
    """An edit is to be taken back whose result somebody else has changed meanwhile."""

    code = "changed_since"


class BadFile(GraphError, ValueError):
    """A file of the store that cannot be understood; `path` and `reason` say which and why."""

    code = "bad_file"

    def __init__(self, path: str, reason: Sentence) -> None:
        super().__init__("{path}: {reason}", path=path, reason=reason)
        self.path = path
        self.reason = reason


def require_texts(**given: object) -> None:
    """Raise BadRequest where one is no text: callers without a type checker get one clear sentence, before anything is
    written."""
    for name, held in given.items():
        for each in held if isinstance(held, (list, tuple)) else (held,):
            if not isinstance(each, str):
                kind = type(each).__name__
                raise BadRequest("{name} must be text, not {kind}", name=name, kind=kind)
