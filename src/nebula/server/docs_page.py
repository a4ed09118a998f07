"""The page at /docs: the OpenAPI as plain HTML, made here, so that it needs no script and no other host."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from starlette.responses import Response

_STYLE = """
body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}
section{border-top:1px solid #ccc;padding:.5rem 0 1rem} pre{background:#f4f4f4;padding:.6rem;overflow:auto}
code,pre{font:14px/1.4 ui-monospace,monospace} td{padding:.1rem 1rem .1rem 0;vertical-align:top}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818} pre{background:#252525} a{color:#8cf}}
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


def docs_page(openapi: dict[str, Any]) -> Response:
    info = openapi["info"]
    sections = [
        _section(method, path, operation)
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    ]
    page = f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{escape(info["title"])}</title>
<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>
<h1>{escape(info["title"])} {escape(info["version"])}</h1>
<p>{escape(info["description"]).replace(chr(10) * 2, "</p><p>")}</p>
<p>For programs: <a href="/openapi.json">/openapi.json</a></p>
{"".join(sections)}</body></html>"""
    headers = {"content-security-policy": _POLICY, "referrer-policy": "no-referrer"}
    return Response(page, media_type="text/html", headers=headers)


def _section(method: str, path: str, operation: dict[str, Any]) -> str:
    parts = [f"<section><h2><code>{method.upper()} {escape(path)}</code></h2><p>{escape(operation['summary'])}</p>"]
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        parts.append(f"<h3>Request</h3>{_fields(schema)}")
    answers = operation["responses"]
    example = answers["200"].get("content", {}).get("application/json", {}).get("example")
    if example is not None:
        parts.append(f"<h3>Answer</h3><pre>{escape(json.dumps(example, ensure_ascii=False))}</pre>")
    rows = "".join(
        f"<tr><td>{status}</td><td>{escape(answer['description'])}</td></tr>"
        for status, answer in sorted(answers.items())
        if status != "200"
    )
    parts.append(f"<h3>Errors</h3><table>{rows}</table></section>" if rows else "</section>")
    return "".join(parts)


def _fields(schema: dict[str, Any]) -> str:
    required = schema.get("required", [])
    rows = "".join(
        f"<tr><td><code>{escape(name)}{'' if name in required else '?'}</code></td>"
        f"<td>{escape(_kind(field))}</td><td>{escape(field.get('description', ''))}</td></tr>"
        for name, field in schema["properties"].items()
    )
    return f"<table>{rows}</table>"


def _kind(field: dict[str, Any]) -> str:
    if "enum" in field:
        return " | ".join(json.dumps(choice) for choice in field["enum"])
    if "anyOf" in field:
        return " or ".join(_kind(choice) for choice in field["anyOf"])
    if field.get("type") == "array":
        return f"list of {_kind(field['items'])}"
    return str(field.get("type", "anything"))
