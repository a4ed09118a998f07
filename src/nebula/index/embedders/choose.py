"""The embedder that a user chose: `openai/MODEL`, `gemini/MODEL` or `ollama/MODEL`."""

from __future__ import annotations

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
    raise IndexFailed("'{choice}' names no embedder: write openai/MODEL, gemini/MODEL or ollama/MODEL.", choice=choice)
