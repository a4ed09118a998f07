"""What the graph raises.

    GraphError            anything a caller may want to show as one line
      NotFound            no such node or flow
      CycleError          the edge would close a circle
      BadText             text that cannot be stored (a lone surrogate, too large)
      BadFile             a file of the store that cannot be understood; names the file
      BadRequest          arguments that make no sense together

Every class has a `code`, the word that travels in `{"error": {"code": …}}`.
"""

from __future__ import annotations


class GraphError(Exception):
    code = "graph_error"


class NotFound(GraphError, LookupError):
    code = "not_found"


class CycleError(GraphError, ValueError):
    code = "cycle_detected"


class BadText(GraphError, ValueError):
    code = "bad_text"


class BadRequest(GraphError, ValueError):
    code = "bad_request"


class BadFile(GraphError, ValueError):
    code = "bad_file"

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
