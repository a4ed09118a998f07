"""The embedder that a user chose: `openai/MODEL`, `gemini/MODEL`, `ollama/MODEL` or `onnx/FILE`."""

from __future__ import annotations

from collections.abc import Iterable

from nebula.config.settings import Settings
from nebula.index.embedders.contract import Embedder
from nebula.index.embedders.endpoints import GeminiEmbedder, HttpEmbedder, OllamaEmbedder, OpenAIEmbedder
from nebula.index.errors import IndexFailed
from nebula.llm.catalog import address_and_key
from nebula.providers import PROVIDERS

_ENDPOINTS: dict[str, type[HttpEmbedder]] = {
    kind.provider: kind for kind in (OpenAIEmbedder, GeminiEmbedder, OllamaEmbedder)
}


def make_embedder(choice: str, settings: Settings) -> Embedder:
    provider, _, model = choice.partition("/")
    if model and (kind := _ENDPOINTS.get(provider)) is not None:
        return kind(model, *address_and_key(PROVIDERS[provider], settings))
    if provider == "onnx" and model:
        from nebula.index.embedders.onnx_file import OnnxEmbedder

        return OnnxEmbedder(model)
    raise IndexFailed(
        "'{choice}' names no embedder: write openai/MODEL, gemini/MODEL, ollama/MODEL or onnx/FILE.", choice=choice
    )


def earlier_embedders(names: Iterable[str], settings: Settings) -> list[Embedder]:
    """Return the embedders whose vectors are in the store, as far as they can still be asked."""
    found: list[Embedder] = []
    for name in names:
        try:
            embedder = make_embedder(name.partition("#")[0], settings)
        except IndexFailed:
            continue
        if embedder.name == name:
            found.append(embedder)
    return found
