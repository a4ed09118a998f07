"""Serve the web page and its modules from memory: a file that was not there at the start cannot be requested."""

from __future__ import annotations

import gzip
import hashlib
import os
import re
from collections.abc import Mapping
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

import nebula
from nebula.server.conversation.joined import joined_script, joined_sheet

WEB: Final = os.path.join(os.path.dirname(nebula.__file__), "web")
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
}
HEADERS: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "x-frame-options": "DENY",
}
INDEX: Final = "index.html"
SCRIPT, LINE, STYLE = "index.js", "line.js", "index.css"
"""The files that the page links: all scripts, the script that runs before the rest is there, and the style."""
LASTING: Final = {"cache-control": "public, max-age=31536000, immutable"}
"""The caching header of a file whose address changes with its content: a second visit loads only the page itself."""
_VERSIONED: Final = re.compile(r"v-([0-9a-f]{16})/(.+)")


class Pages:
    def __init__(self, folder: str = WEB) -> None:
        self._files = _joined(dict(_read(folder)))
        self._packed: dict[str, bytes] = {}
        contents = b"".join(hashlib.sha256(content).digest() for content, _ in self._files.values())
        self._version = hashlib.sha256(contents).hexdigest()[:16]
        content, media_type = self._files[INDEX]
        self._files[INDEX] = content.replace(b'"/web/', f'"/web/v-{self._version}/'.encode()), media_type

    def files(self) -> list[tuple[str, bytes]]:
        """Return the served files, by path."""
        return [(path, content) for path, (content, _) in self._files.items()]

    async def index(self, request: Request) -> Response:
        return self._response(INDEX, request)

    async def file(self, request: Request) -> Response:
        path: str = request.path_params["path"]
        versioned = _VERSIONED.fullmatch(path)
        if versioned is None:
            return self._response(path, request)
        lasting = LASTING if versioned[1] == self._version else {}
        return self._response(versioned[2], request, lasting)

    def _response(self, path: str, request: Request, more: Mapping[str, str] = {}) -> Response:
        found = self._files.get(path)
        if found is None:
            return Response("There is no such page.\n", 404, HEADERS, "text/plain")
        content, media_type = found
        headers = HEADERS | {"content-type": media_type, "vary": "accept-encoding", **more}
        if "gzip" not in request.headers.get("accept-encoding", ""):
            return Response(content, 200, headers)
        if path not in self._packed:
            self._packed[path] = gzip.compress(content, mtime=0)
        return Response(self._packed[path], 200, headers | {"content-encoding": "gzip"})


def _joined(files: dict[str, tuple[bytes, str]]) -> dict[str, tuple[bytes, str]]:
    """Return the files with those that the page links replaced by ones that contain all their imports."""

    def texts(ending: str) -> dict[str, str]:
        return {path: content.decode() for path, (content, _) in files.items() if path.endswith(ending)}

    modules = texts(".js")
    whole = {
        SCRIPT: joined_script(modules, SCRIPT, frozenset({LINE})),
        LINE: joined_script(modules, LINE),
        STYLE: joined_sheet(texts(".css"), STYLE),
    }
    return files | {path: (text.encode(), files[path][1]) for path, text in whole.items()}


def _read(folder: str) -> list[tuple[str, tuple[bytes, str]]]:
    files = []
    for place, _, names in os.walk(folder):
        for name in sorted(names):
            media_type = TYPES.get(os.path.splitext(name)[1])
            if media_type:
                full = os.path.join(place, name)
                with open(full, "rb") as file:
                    relative = os.path.relpath(full, folder).replace(os.sep, "/")
                    files.append((relative, (file.read(), media_type)))
    return files
