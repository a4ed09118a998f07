"""The models that the scripted server says it has, in the words of each provider."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from nebula.testing import wires


def list_models(wire: str, names: Sequence[str]) -> bytes:
    if wire == "gemini":
        listed: dict[str, Any] = {
            "models": [
                {
                    "name": f"models/{name}",
                    "displayName": name,
                    "inputTokenLimit": 1_048_576,
                    "outputTokenLimit": 65_536,
                    "supportedGenerationMethods": ["generateContent", "countTokens"],
                }
                for name in names
            ]
        }
    elif wire == "anthropic":
        facts = {"type": "model", "created_at": wires.CREATED_TEXT, "lifecycle": "active", "max_input_tokens": 200_000}
        entries = [{"id": name, "display_name": name, **facts} for name in names]
        listed = {"data": entries, "has_more": False, "first_id": names[0], "last_id": names[-1]} if names else {}
    else:
        entries = [{"id": name, "object": "model", "created": wires.CREATED, "owned_by": "test"} for name in names]
        listed = {"object": "list", "data": entries}
    return json.dumps(listed).encode()


def describe_for_ollama(name: str) -> dict[str, Any]:
    details = {
        "parent_model": "",
        "format": "gguf",
        "family": "llama",
        "families": ["llama"],
        "parameter_size": "8B",
        "quantization_level": "Q4_K_M",
    }
    return {
        "name": name,
        "model": name,
        "modified_at": wires.CREATED_TEXT,
        "size": 5_000_000_000,
        "digest": "0" * 64,
        "details": details,
    }
