"""The names of ASGI that the servers use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ADMITTED: Final = "nebula.admitted"
"""The key in a WebSocket's scope of a function to call once the client has shown the token; until then its messages
have a small limit."""

AT_STOP: Final = "nebula.at_stop"
"""The key in the state of a server's lifespan of a function to await when somebody asks the server to stop, while its
clients are still connected."""


def tell_admitted(scope: Scope) -> None:
    tell = scope.get(ADMITTED)
    if tell is not None:
        tell()
