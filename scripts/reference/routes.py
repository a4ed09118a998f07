"""Every route of the two REST servers, from their OpenAPI."""

from __future__ import annotations

import json
import tempfile
from typing import Any

from words import page, say, table

from nebula.config import load_settings
from nebula.server.gate import Rules
from nebula.server.gateway.app import create_gateway
from nebula.server.rag.app import create_rag
from nebula.tools.code.code_index import open_index
from nebula.workspace.local import open_workspace


def list_routes() -> str:
    with tempfile.TemporaryDirectory() as folder:
        gateway, rag = _openapi_of_gateway(folder), _openapi_of_rag(folder)
    return page(
        "REST routes",
        "Every route of `evercontext gateway` and `evercontext rag`, as their `/openapi.json` has it; [who is let in,"
        " and what errors mean](rest.md) is another page.",
        "## evercontext gateway",
        *_describe(gateway),
        "## evercontext rag",
        *_describe(rag),
    )


def _describe(openapi: dict[str, Any]) -> list[str]:
    parts = []
    for path, methods in openapi["paths"].items():
        for method, operation in methods.items():
            parts += [f"### {method.upper()} {path}", say(operation["summary"])]
            parts.append(table(("field", "type", "what it is"), _fields(operation, openapi)))
            answer = operation["responses"]["200"]["content"]["application/json"]
            example = answer.get("example")
            if example:
                parts.append("```json\n" + json.dumps(example, ensure_ascii=False) + "\n```")
            errors = [
                (status, say(each["description"])) for status, each in operation["responses"].items() if status != "200"
            ]
            parts.append(table(("status", "when"), errors))
    return parts


def _fields(operation: dict[str, Any], openapi: dict[str, Any]) -> list[tuple[str, ...]]:
    body = operation.get("requestBody")
    if body is None:
        return []
    schema = body["content"]["application/json"]["schema"]
    required = schema.get("required", ())
    rows = []
    for name, each in schema.get("properties", {}).items():
        about = say(each.get("description", ""))
        rows.append((f"`{name}`", _type(each, openapi), about + (f" ({say('required')})" if name in required else "")))
    return rows


def _type(schema: dict[str, Any], openapi: dict[str, Any]) -> str:
    if "$ref" in schema:
        inner = openapi["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        return "`{" + ", ".join(inner.get("properties", {})) + "}`"
    if "enum" in schema:
        return ", ".join(f"`{each}`" for each in schema["enum"])
    if "anyOf" in schema:
        return ", ".join(_type(each, openapi) for each in schema["anyOf"] if each.get("type") != "null")
    if schema.get("type") == "array":
        return f"[{_type(schema['items'], openapi)}, …]"
    return f"`{schema.get('type', '')}`"


def _openapi_of_gateway(folder: str) -> dict[str, Any]:
    with open_workspace(folder) as workspace:
        return _openapi(create_gateway(workspace, Rules(frozenset())))


def _openapi_of_rag(folder: str) -> dict[str, Any]:
    settings = load_settings(folder, {"NEBULA_HOME": f"{folder}/home"})
    return _openapi(create_rag(lambda: open_index(settings), Rules(frozenset())))


def _openapi(gate: Any) -> dict[str, Any]:
    """Return the description of an app behind its gate."""
    return dict(gate.app.openapi())
