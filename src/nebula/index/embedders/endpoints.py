"""Embedders behind HTTP: OpenAI-compatible servers, Gemini, Ollama."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, ClassVar

from nebula.index.constants import EMBED_TEXT_LETTERS, EMBED_TIMEOUT_S, QUESTION_TIMEOUT_S
from nebula.index.embedders.contract import Vector, with_prefix
from nebula.llm.errors import BadReplyError
from nebula.llm.http.client import HttpClient, Timeouts
from nebula.llm.http.http_errors import Service, status_error
from nebula.providers import PROVIDERS


class HttpEmbedder:
    """One request for a list of texts. What differs between services is the subclasses' three methods."""

    provider: ClassVar[str]

    def __init__(self, model: str, base_url: str, key: str = "") -> None:
        row = PROVIDERS[self.provider]
        self._service = Service(row.label, base_url, row.address_variable, row.key_variable, key)
        self._model = model
        self._base = base_url.rstrip("/")
        self._key = key

    @property
    def name(self) -> str:
        return f"{self.provider}/{self._model}"

    def embed(self, texts: Sequence[str], *, is_question: bool = False) -> list[Vector]:
        prepared = [with_prefix(self._model, text[:EMBED_TEXT_LETTERS], is_question) for text in texts]
        limit = QUESTION_TIMEOUT_S if is_question else EMBED_TIMEOUT_S
        reply = asyncio.run(self._post(json.dumps(self._body(prepared, is_question)).encode(), limit))
        vectors = self._vectors(reply)
        if len(vectors) != len(texts) or not all(vectors):
            raise self._bad_reply()
        return vectors

    async def _post(self, body: bytes, limit_s: float) -> Any:
        async with aclosing(HttpClient(timeouts=Timeouts(min(limit_s, 15.0), limit_s, limit_s))) as client:
            headers = (("Content-Type", "application/json"), *self._headers())
            async with client.request("POST", self._url(), headers=headers, body=body) as response:
                data = await response.read()
                if response.status != 200:
                    raise status_error(self._service, self._model, response.status, response.headers, data)
        try:
            return json.loads(data)
        except ValueError:
            raise self._bad_reply() from None

    def _bad_reply(self) -> BadReplyError:
        return BadReplyError(
            "{service} sent no usable vectors for {model}.", service=self._service.label, model=self._model
        )

    def _vectors(self, reply: Any) -> list[Vector]:
        try:
            return [[float(number) for number in vector] for vector in self._read(reply)]
        except (KeyError, TypeError, ValueError, AttributeError):
            raise self._bad_reply() from None

    def _headers(self) -> tuple[tuple[str, str], ...]:
        return (("Authorization", f"Bearer {self._key}"),) if self._key else ()

    def _url(self) -> str:
        raise NotImplementedError

    def _body(self, texts: Sequence[str], is_question: bool) -> dict[str, Any]:
        raise NotImplementedError

    def _read(self, reply: Any) -> Sequence[Any]:
        raise NotImplementedError


class OpenAIEmbedder(HttpEmbedder):
    """`/embeddings` of OpenAI, and of every server that speaks as it does. `base_url` includes `/v1`."""

    provider = "openai"

    def _url(self) -> str:
        return f"{self._base}/embeddings"

    def _body(self, texts: Sequence[str], is_question: bool) -> dict[str, Any]:
        return {"model": self._model, "input": list(texts), "encoding_format": "float"}

    def _read(self, reply: Any) -> Sequence[Any]:
        return [each["embedding"] for each in sorted(reply["data"], key=lambda each: each["index"])]


class GeminiEmbedder(HttpEmbedder):
    provider = "gemini"

    def _url(self) -> str:
        return f"{self._base}/v1beta/models/{self._model}:batchEmbedContents"

    def _headers(self) -> tuple[tuple[str, str], ...]:
        return (("x-goog-api-key", self._key),)

    def _body(self, texts: Sequence[str], is_question: bool) -> dict[str, Any]:
        task = "CODE_RETRIEVAL_QUERY" if is_question else "RETRIEVAL_DOCUMENT"
        about = {"model": f"models/{self._model}", "taskType": task}
        return {"requests": [{**about, "content": {"parts": [{"text": text}]}} for text in texts]}

    def _read(self, reply: Any) -> Sequence[Any]:
        return [each["values"] for each in reply["embeddings"]]


class OllamaEmbedder(HttpEmbedder):
    """Ollama's own API: its `/v1` ignores the context length and cuts long texts silently."""

    provider = "ollama"

    def _url(self) -> str:
        return f"{self._base}/api/embed"

    def _body(self, texts: Sequence[str], is_question: bool) -> dict[str, Any]:
        return {"model": self._model, "input": list(texts), "truncate": True}

    def _read(self, reply: Any) -> Sequence[Any]:
        return list(reply["embeddings"])
