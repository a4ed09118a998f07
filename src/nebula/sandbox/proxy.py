"""The way out for a command that may reach some hosts: a proxy that knows these and no others.

Its listening socket was made in the layer's own network, where the command finds it on loopback; the connections
outward are made here. So there is no other way out of that network, whatever the command does to its settings. Nothing
is decrypted: of a secure connection the proxy sees the name of the host and its port.
"""

from __future__ import annotations

import asyncio
import re
import socket
import threading
from collections.abc import Iterable
from contextlib import suppress
from typing import Final
from urllib.parse import urlsplit

USUAL_PORTS: Final = (80, 443)
"""Of a host that is named without a port."""
_HEAD_BYTES: Final = 65_536
_HEAD_S: Final = 20.0
_CONNECT_S: Final = 30.0
_END_S: Final = 2.0
"""A name that is being looked up keeps the thread longer; nothing waits for it."""
_CHUNK: Final = 1 << 16
_MOST_REFUSED: Final = 50
_TO_PROXY = re.compile(rb"^(proxy-[a-z-]+|connection|keep-alive):.*\r\n", re.IGNORECASE | re.MULTILINE)
_NOT_LISTED = "nebula: {host} is not one of the hosts in sandbox_network.\n"


class HostProxy:
    """Serves in a thread of its own until it is closed."""

    def __init__(self, listener: socket.socket, hosts: Iterable[str]) -> None:
        self.refused: dict[str, None] = {}
        """The hosts that were asked for and are not listed, in order."""
        self._hosts = tuple(hosts)
        self._listener = listener
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="sandbox-proxy", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(_END_S)

    def _run(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self) -> None:
        server = await asyncio.start_server(self._answer, sock=self._listener, limit=_HEAD_BYTES)
        async with server:
            await self._stop.wait()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, EOFError, ValueError, TimeoutError, asyncio.LimitOverrunError):
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), _HEAD_S)
            await self._forward(head, reader, writer)
        writer.close()

    async def _forward(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        request, _, fields = head.partition(b"\r\n")
        method, target, version = request.decode("ascii").split(" ")
        tunnel = method == "CONNECT"
        place = urlsplit(f"//{target}" if tunnel else target)
        host, port = (place.hostname or "").rstrip("."), place.port or 80
        if not is_listed(self._hosts, host, port):
            if len(self.refused) < _MOST_REFUSED:
                self.refused[host if port in USUAL_PORTS else f"{host}:{port}"] = None
            return await _refuse(writer, 403, _NOT_LISTED.format(host=host))
        try:
            inward, outward = await asyncio.wait_for(asyncio.open_connection(host, port), _CONNECT_S)
        except OSError as error:
            return await _refuse(writer, 502, f"nebula: {host}: {error.strerror or error}\n")
        if tunnel:
            writer.write(b"HTTP/1.1 200 Connected\r\n\r\n")
        else:
            path = place._replace(scheme="", netloc="", fragment="").geturl() or "/"
            outward.write(f"{method} {path} {version}\r\nConnection: close\r\n".encode() + _TO_PROXY.sub(b"", fields))
        try:
            await asyncio.gather(_copy(reader, outward), _copy(inward, writer))
        finally:
            outward.close()


def is_listed(hosts: Iterable[str], host: str, port: int) -> bool:
    """Return whether a host and port are listed: `a.org` at the usual ports, `*.a.org` for hosts below it,
    `a.org:8443`."""
    for each in hosts:
        name, _, named_port = each.lower().rpartition(":") if ":" in each else (each.lower(), "", "")
        if port not in ((int(named_port),) if named_port.isdecimal() else USUAL_PORTS):
            continue
        if host.lower() == name or (name.startswith("*.") and host.lower().endswith(name[1:])):
            return True
    return False


async def _refuse(writer: asyncio.StreamWriter, code: int, sentence: str) -> None:
    text = sentence.encode("utf-8", "replace")
    head = f"HTTP/1.1 {code} Refused\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(text)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + text)
    await writer.drain()


async def _copy(source: asyncio.StreamReader, to: asyncio.StreamWriter) -> None:
    """Copy from one side to the other until it ends; a side that has only stopped sending may still receive."""
    with suppress(OSError):
        while chunk := await source.read(_CHUNK):
            to.write(chunk)
            await to.drain()
        to.write_eof()
