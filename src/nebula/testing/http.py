"""HTTP as the scripted model speaks it: requests read, answers written, whole or in pieces."""

from __future__ import annotations

import asyncio
import socket
import struct
import time
from collections.abc import Mapping

from nebula.testing.script import RecordedRequest


class NotHttpError(Exception):
    """Raised when the first byte of a connection is not that of an HTTP request."""


async def read_request(reader: asyncio.StreamReader, connection: int, first: bytes) -> RecordedRequest | None:
    first = first or await reader.read(1)
    if not first:
        return None
    arrived = time.monotonic()
    if first == b"\x16":  # the first byte of a TLS handshake
        raise NotHttpError
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    request_line, *lines = head.rstrip("\r\n").split("\r\n")
    method, target, _ = request_line.split(" ", 2)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        body = await _read_chunked(reader)
    else:
        body = await reader.readexactly(int(headers.get("content-length", 0)))
    if "://" in target:  # absolute form, as sent to a proxy
        target = "/" + target.split("://", 1)[1].partition("/")[2]
    path, _, query = target.partition("?")
    complete = time.monotonic()
    return RecordedRequest(method, path, query, headers, body, arrived, complete, connection=connection)


async def _read_chunked(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := int((await reader.readline()).split(b";")[0], 16):
        body += (await reader.readexactly(size + 2))[:-2]
    await reader.readline()
    return body


def format_head(status: int, content_type: str, headers: Mapping[str, str]) -> bytes:
    lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {content_type}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def write_whole(
    writer: asyncio.StreamWriter, status: int, content_type: str, body: bytes, headers: Mapping[str, str] = {}
) -> None:
    writer.write(format_head(status, content_type, {**headers, "content-length": str(len(body))}) + body)
    await writer.drain()


async def write_chunk(writer: asyncio.StreamWriter, data: bytes) -> None:
    if data:
        writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await writer.drain()


def reset_connection(writer: asyncio.StreamWriter) -> None:
    sock = writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


def has_key(request: RecordedRequest, key: str) -> bool:
    return key in (
        request.headers.get("authorization", "").removeprefix("Bearer "),
        request.headers.get("x-goog-api-key"),
        request.headers.get("x-api-key"),
    )
