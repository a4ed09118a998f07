"""A real HTTP server that speaks the embedding APIs of OpenAI, Gemini and Ollama. Its vectors are sums of words, and
words that mean the same have the same number, so that meaning can be tested without a model."""

from __future__ import annotations

import json
import re
import threading
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

DIMS = 64
SAME = {"automobile": "car", "vehicle": "car", "physician": "doctor"}


def vector(text: str) -> list[float]:
    numbers = [0.0] * DIMS
    for word in re.findall(r"[a-z]+", text.lower()):
        numbers[zlib.crc32(SAME.get(word, word).encode()) % DIMS] += 1.0
    return numbers


class EmbeddingServer:
    def __init__(self) -> None:
        self.texts: list[str] = []
        self.paths: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.fails_with = 0
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                server.paths.append(self.path)
                server.headers.append({key.lower(): text for key, text in self.headers.items()})
                status, reply = (server.fails_with, {}) if server.fails_with else (200, server.reply(self.path, body))
                data = json.dumps(reply).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def reply(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith(":batchEmbedContents"):
            texts = [each["content"]["parts"][0]["text"] for each in body["requests"]]
            self.texts += texts
            return {"embeddings": [{"values": vector(text)} for text in texts]}
        self.texts += body["input"]
        vectors = [vector(text) for text in body["input"]]
        if path == "/api/embed":
            return {"embeddings": vectors}
        return {"data": [{"index": i, "embedding": each} for i, each in reversed(list(enumerate(vectors)))]}

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
