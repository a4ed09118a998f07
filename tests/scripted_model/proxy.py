"""A small HTTP proxy for tests: absolute-form requests and CONNECT tunnels, with a password on demand."""

from __future__ import annotations

import asyncio
import threading


class ScriptedProxy:
    """`requests` holds the request line and headers of all that came in."""

    def __init__(self, *, authorization: str | None = None) -> None:
        self.authorization = authorization
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.port = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()), daemon=True)

    def __enter__(self) -> ScriptedProxy:
        self._thread.start()
        if not self._ready.wait(60):
            raise RuntimeError("the proxy did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join(60)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stopping = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stopping.wait()
        server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            line, *rest = head.decode("latin-1").rstrip().split("\r\n")
            headers = {name.lower(): value.strip() for name, _, value in (each.partition(":") for each in rest)}
            self.requests.append((line, headers))
            if self.authorization is not None and headers.get("proxy-authorization") != self.authorization:
                writer.write(b"HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n")
                await writer.drain()
                return
            method, target, _ = line.split(" ")
            if method == "CONNECT":
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                address, first = target, b""
            else:
                address, first = target.split("/")[2], head
            host, _, port = address.partition(":")
            upstream_reader, upstream = await asyncio.open_connection(host, int(port))
            upstream.write(first)
            try:
                await asyncio.gather(_pump(reader, upstream), _pump(upstream_reader, writer))
            finally:
                upstream.close()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while data := await reader.read(65536):
        writer.write(data)
        await writer.drain()
    writer.close()
