"""The few words of ASGI that the servers speak."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

WELCOME: Final = "nebula.welcome"
"""Where a WebSocket's scope has the function to call once the client showed the token; until then it is held short."""


def welcome(scope: Scope) -> None:
    known = scope.get(WELCOME)
    if known is not None:
        known()
