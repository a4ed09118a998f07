"""What can go wrong between us and a model.

    ModelError
    ├── AuthError          auth         the key is missing, wrong or not allowed
    ├── LimitError         limit        rate, quota or context window exceeded
    ├── NotFoundError      not_found    no such model, or no model server at that address
    ├── UnavailableError   unavailable  no connection, a time-out, a server fault, a stream cut in the middle
    └── BadReplyError      bad_reply    an answer (or a refusal of our request) that cannot be used
        └── FormatError    bad_reply    the JSON dialect was not spoken, even after the retry

The sentence in an error is for a person: what happened and what to do. It never holds a key, a password, or the
query of a URL.
"""

from __future__ import annotations

from typing import ClassVar

from nebula.errors import NebulaError


class ModelError(NebulaError):
    """Base of the family. `retryable`: the same request may succeed a little later."""

    kind: ClassVar[str] = "bad_reply"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        retryable: bool = False,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.status = status
        self.retry_after_s = retry_after_s
        self.retryable = retryable


class AuthError(ModelError):
    kind = "auth"


class LimitError(ModelError):
    kind = "limit"


class NotFoundError(ModelError):
    kind = "not_found"


class UnavailableError(ModelError):
    """Retryable unless said otherwise: most of these pass by themselves."""

    kind = "unavailable"

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        retry_after_s: float | None = None,
        retryable: bool = True,
    ) -> None:
        super().__init__(message, status=status, retry_after_s=retry_after_s, retryable=retryable)


class BadReplyError(ModelError):
    """`exhausted`: the one retry that the dialect allows has been used up (exit code 3)."""

    kind = "bad_reply"
    exhausted: bool = False


class FormatError(BadReplyError):
    """The model would not speak the JSON dialect. `reply` is its last text, for the trace."""

    exhausted = True

    def __init__(self, message: str, *, reply: str = "") -> None:
        super().__init__(message)
        self.reply = reply
