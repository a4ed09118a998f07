"""A limit on what a server with an address answers with. The client has one for events, and none for a plain body."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from httpx2 import Response

PLAIN = {"accept-encoding": "identity"}
"""What the client says it understands: a packed answer has no size that could be known before it is unpacked."""


def limit_body(response: Response, most: int, on_overrun: Callable[[], None]) -> None:
    """Have the answer end in an error beyond `most` bytes, or where it is packed; `on_overrun` is told of the first."""
    from httpx2 import AsyncByteStream, StreamError

    if not isinstance(response.stream, AsyncByteStream):
        return
    whole: AsyncByteStream = response.stream
    if response.headers.get("content-type", "").startswith("text/event-stream"):
        return

    class LimitedBody(AsyncByteStream):
        async def __aiter__(self) -> AsyncIterator[bytes]:
            if response.headers.get("content-encoding", "identity") != "identity":
                raise StreamError("a packed answer, which was not asked for")
            size = 0
            async for piece in whole:
                size += len(piece)
                if size > most:
                    on_overrun()
                    raise StreamError(f"more than {most} bytes")
                yield piece

        async def aclose(self) -> None:
            await whole.aclose()

    response.stream = LimitedBody()
