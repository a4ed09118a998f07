"""The embedder that a user chose: `openai/MODEL`, `gemini/MODEL`, `ollama/MODEL` or `onnx/FILE`."""

from __future__ import annotations

from collections.abc import Iterable

from nebula.config.settings import Settings
from nebula.index.embedders.contract import Embedder
from nebula.index.embedders.endpoints import GeminiEmbedder, OllamaEmbedder, OpenAIEmbedder
from nebula.index.errors import IndexFailed


def make_embedder(choice: str, settings: Settings) -> Embedder:
    provider, _, model = choice.partition("/")
    if provider == "openai" and model:
        return OpenAIEmbedder(model, settings.openai_base_url, settings.openai_api_key)
    if provider == "gemini" and model:
        return GeminiEmbedder(model, settings.gemini_base_url, settings.gemini_api_key)
    if provider == "ollama" and model:
        return OllamaEmbedder(model, settings.ollama_host)
    if provider == "onnx" and model:
        from nebula.index.embedders.onnx_file import OnnxEmbedder

        return OnnxEmbedder(model)
    raise IndexFailed(
        "'{choice}' names no embedder: write openai/MODEL, gemini/MODEL, ollama/MODEL or onnx/FILE.", choice=choice
    )


def earlier_embedders(names: Iterable[str], settings: Settings) -> list[Embedder]:
    """Those that gave the vectors which are there, as far as they can still be asked."""
    found: list[Embedder] = []
    for name in names:
        try:
            embedder = make_embedder(name.partition("#")[0], settings)
        except IndexFailed:
            continue
        if embedder.name == name:
            found.append(embedder)
    return found
