"""What can go wrong between us and a model.

    ModelError
    ├── AuthError          auth         the key is missing, wrong or not allowed
    ├── LimitError         limit        rate or quota exceeded
    │   └── ContextExceededError  limit  the request is longer than what the model takes
    ├── NotFoundError      not_found    no such model, or no model server at that address
    │   └── UnknownVendorError  not_found  a name such as vendor/model that no server lists
    ├── UnavailableError   unavailable  no connection, a time-out, a server fault, a stream cut in the middle
    └── BadReplyError      bad_reply    an answer (or a refusal of our request) that cannot be used
        └── FormatError    bad_reply    the JSON dialect was not spoken, even after the retry

The sentence in an error is for a person: what happened and what to do. It never holds a key, a password, or the
query of a URL.
"""

from __future__ import annotations

from typing import Any, ClassVar

from nebula.errors import EXIT_FORMAT, EXIT_USAGE, NebulaError
from nebula.events import Usage


class ModelError(NebulaError):
    """Base of the family. `retryable`: the same request may succeed a little later."""

    kind: ClassVar[str] = "bad_reply"
    retryable_by_nature: ClassVar[bool] = False

    def __init__(
        self, sentence: str, /, *, retry_after_s: float | None = None, retryable: bool | None = None, **values: Any
    ) -> None:
        super().__init__(sentence, **values)
        self.retry_after_s = retry_after_s
        self.retryable = self.retryable_by_nature if retryable is None else retryable


class AuthError(ModelError):
    kind = "auth"


class LimitError(ModelError):
    kind = "limit"


class ContextExceededError(LimitError):
    """The request is longer than what the model takes; the server may tell both lengths."""

    def __init__(self, sentence: str, /, *, context_tokens: int = 0, prompt_tokens: int = 0, **values: Any) -> None:
        super().__init__(sentence, **values)
        self.context_tokens = context_tokens
        self.prompt_tokens = prompt_tokens


class NotFoundError(ModelError):
    kind = "not_found"


class UnknownVendorError(NotFoundError):
    """The name of a model begins with a vendor that is no provider of ours, and no server lists it."""

    exit_code = EXIT_USAGE


class UnavailableError(ModelError):
    """The server cannot be reached or is busy; most of the time that passes by itself."""

    kind = "unavailable"
    retryable_by_nature = True


class BadReplyError(ModelError):
    kind = "bad_reply"


class FormatError(BadReplyError):
    """The model would not speak the JSON dialect, even after the one retry."""

    exit_code = EXIT_FORMAT

    def __init__(self, sentence: str, /, *, usage: Usage | None = None, **values: Any) -> None:
        super().__init__(sentence, **values)
        self.usage = usage
        """What its replies cost, which were paid for all the same."""
