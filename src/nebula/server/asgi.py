"""The few words of ASGI that the servers speak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ADMITTED: Final = "nebula.admitted"
"""Under this key a WebSocket's scope has the function to call once the client showed the token; until then its messages
are held short."""


def tell_admitted(scope: Scope) -> None:
    tell = scope.get(ADMITTED)
    if tell is not None:
        tell()
