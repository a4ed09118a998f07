"""Listening on an address and running an app there until somebody asks to stop.

    listener = listen("127.0.0.1", 0)
    code = serve(app, listener)          # prints http://127.0.0.1:PORT as the first line of stdout

The socket is bound before the app is built, so that the gate knows the port also when it was left to the system.
"""

from __future__ import annotations

import asyncio
import gc
import ipaddress
import logging
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn

from nebula.errors import EXIT_INTERRUPTED
from nebula.programs import AT_ONCE_S, ending_signals
from nebula.server.asgi import AT_STOP, App
from nebula.server.connections import LimitedConfig, hide_bad_text
from nebula.server.gate import Rules, own_hosts
from nebula.value import value

BACKLOG: Final = 1024
SWITCH_S: Final = 0.0005
"""Seconds after which a thread that works in the background gives way to one that answers. With the usual 5 ms, an
answer that reads a hundred files would wait that long for each of them."""
LAST_WORDS_S: Final = 0.05
"""For what is told at the end to reach those who listen, before their connections are closed."""
GROWTH: Final = 10_000
"""The number of new objects after which the collector runs: a flow of 50,000 turns is 140 of the usual portions."""


@value
class Listener:
    socket: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        return f"http://{f'[{self.host}]' if ':' in self.host else self.host}:{self.port}"


def listen(host: str, port: int) -> Listener:
    """Return a listener on the address. Raises OSError, with the address as its `filename`, if that cannot be bound."""
    place = f"{host}:{port}"
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except (socket.gaierror, OverflowError) as problem:
        raise OSError(getattr(problem, "errno", None) or 0, "there is no such address", place) from None
    family, kind, protocol, _, address = min(found, key=lambda entry: entry[0] != socket.AF_INET)
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
        listening.listen(BACKLOG)
    except OSError as problem:
        listening.close()
        raise OSError(problem.errno, problem.strerror, place) from None
    return Listener(listening, host, listening.getsockname()[1])


def is_loopback(host: str) -> bool:
    """Return whether a server bound there can be reached only from this machine."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def rules_for(listener: Listener, *names: str, **rules: Any) -> Rules:
    """Return the gate's rules for a listener: its own names, those of the loopback, and further `names`."""
    everywhere = listener.host in {"0.0.0.0", "::", ""}  # noqa: S104 - asked about, not bound here
    own = (socket.gethostname(), *names) if everywhere else names
    return Rules(
        hosts=own_hosts(listener.host, listener.port, *own),
        port_of_any_address=listener.port if everywhere else 0,
        **rules,
    )


def serve(
    app: App,
    listener: Listener,
    *,
    announce: str = "",
    websocket_bytes: int = 0,
    stop: threading.Event | None = None,
) -> int:
    """Serve until SIGTERM or SIGHUP (0), or SIGINT (130), letting requests under way finish; a second one that does not
    come at once, does not wait for them, and a third one for nothing.

    `announce` is the first line on stdout (the address if empty); `websocket_bytes` above 0 allows WebSockets with
    messages of that size; `stop` is set as soon as somebody asks to stop.
    """
    sys.setswitchinterval(SWITCH_S)
    gc.set_threshold(GROWTH, *gc.get_threshold()[1:])
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    # Malformed requests of strangers are no news: uvicorn would print a line for each.
    logger = logging.getLogger("uvicorn.error")
    logger.setLevel(logging.ERROR)
    logger.addFilter(hide_bad_text)
    config = LimitedConfig(app, websocket_bytes=websocket_bytes)
    server = _Server(config, announce or listener.url, stop or threading.Event())
    try:
        server.run(sockets=[listener.socket])
    finally:
        listener.socket.close()
    return EXIT_INTERRUPTED if server.interrupted else 0


class _Server(uvicorn.Server):
    """Announces the address once it listens, and treats a signal as a request to stop instead of dying by it."""

    def __init__(self, config: uvicorn.Config, announce: str, stop: threading.Event) -> None:
        super().__init__(config)
        self.interrupted = False
        self._announce = announce
        self._told = stop
        self._heard_at = -AT_ONCE_S

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            listening.listen(BACKLOG)  # asyncio set it to the number that it accepts at once
        print(self._announce, flush=True)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._told.set()  # not by the handler: a second signal would wait for the lock that the first one holds
        if AT_STOP in self.lifespan.state:
            await self.lifespan.state[AT_STOP]()
            await asyncio.sleep(LAST_WORDS_S)
        await super().shutdown(sockets)
        if self.force_exit:  # what the app has under way is ended properly all the same
            await self.lifespan.shutdown()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        if threading.current_thread() is threading.main_thread():  # no other gets signals
            for number in ending_signals():
                signal.signal(number, self._stop)  # to the very end: a late one changes no exit code
        yield

    def _stop(self, number: int, _: object) -> None:
        if time.monotonic() - self._heard_at < AT_ONCE_S:
            return
        self._heard_at = time.monotonic()
        if self.force_exit:
            os._exit(EXIT_INTERRUPTED)
        self.force_exit = self.should_exit
        self.should_exit = True
        self.interrupted = self.interrupted or number == signal.SIGINT
