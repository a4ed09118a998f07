"""Scripts for the orchestrator: a plan, then what the executor says in the JSON dialect."""

from __future__ import annotations

import json
from typing import Any

from scripted_model import Call, ScriptedModel, Turn, hermes

HERMES = {"models": {"ollama": ("hermes3:8b",)}, "capabilities": {"hermes3:8b": ("completion",)}}
"""An Ollama with one model that has no tool calls of its own, as the original had it."""


def step(step_id: str, goal: str = "", **more: Any) -> dict[str, Any]:
    action = {"goal": goal or f"Reach {step_id}."} if "tool" not in more else {}
    return {
        "id": step_id,
        "title": f"Step {step_id}",
        **action,
        "files": [],
        "depends_on": [],
        "on_error": "stop",
        **more,
    }


def plan(*steps: dict[str, Any]) -> Turn:
    return Turn(json.dumps({"tasks": list(steps)}, ensure_ascii=False))


def write(path: str, content: str, mode: str = "create") -> Turn:
    return hermes(Turn(f"I write {path}.", [Call("write_file", {"path": path, "content": content, "mode": mode})]))


def say(text: str) -> Turn:
    return hermes(Turn(text))


def ollama(*turns: Any) -> ScriptedModel:
    return ScriptedModel(list(turns), **HERMES)


__all__ = ["HERMES", "Call", "ScriptedModel", "Turn", "hermes", "ollama", "plan", "say", "step", "write"]
