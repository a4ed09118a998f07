"""The resources of an MCP server as one more tool: `readResource` lists them, and reads one by its address."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from nebula.tools.external.content import clean_text

if TYPE_CHECKING:
    from mcp import Client
    from mcp.types import CallToolResult, Tool

READ_RESOURCE = "readResource"
MAX_LISTED = 200
MAX_ABOUT = 200
_ABOUT = "Reads a resource of this server by its uri. Without a uri: lists the resources that there are."


def resource_tool() -> Tool:
    """Return the tool that stands for all resources of a server."""
    from mcp.types import Tool

    uri = {"type": "string", "description": "The address of the resource, as the list has it."}
    return Tool(name=READ_RESOURCE, description=_ABOUT, input_schema={"type": "object", "properties": {"uri": uri}})


async def has_resources(client: Client) -> bool:
    """Return whether the server has any resources: many declare them and have none."""
    try:
        return bool((await client.list_resources()).resources) or bool(
            (await client.list_resource_templates()).resource_templates
        )
    except Exception:  # noqa: BLE001 - a stranger's list, wrong in any way; the tools work without it
        return False


async def read_resource(client: Client, args: Mapping[str, Any]) -> CallToolResult:
    """Return the resource that `args` name, or the list of all, in the form of a tool's result."""
    from mcp.types import CallToolResult, EmbeddedResource, TextContent

    uri = args.get("uri")
    if not uri:
        return CallToolResult(content=[TextContent(type="text", text=await _list_resources(client))])
    found = await client.read_resource(str(uri), cache_mode="refresh")
    return CallToolResult(content=[EmbeddedResource(type="resource", resource=each) for each in found.contents])


async def _list_resources(client: Client) -> str:
    found = await read_pages(partial(client.list_resources, cache_mode="refresh"), "resources", MAX_LISTED)
    if len(found) < MAX_LISTED:
        ask = partial(client.list_resource_templates, cache_mode="refresh")
        found += await read_pages(ask, "resource_templates", MAX_LISTED - len(found))
    lines = [_describe(each) for each in found]
    more = f"\n… (only the first {MAX_LISTED} are listed)" if len(lines) > MAX_LISTED else ""
    return "\n".join(lines[:MAX_LISTED]) + more if lines else "This server has no resources."


async def read_pages(ask: Callable[..., Awaitable[Any]], kind: str, most: int) -> list[Any]:
    """Return what a server lists under `kind`, page by page, up to `most` entries."""
    found: list[Any] = []
    cursor: str | None = None
    while len(found) < most:
        page = await ask(cursor=cursor)
        found += getattr(page, kind)
        if page.next_cursor in (None, "", cursor):  # a server may name the same page for ever
            break
        cursor = page.next_cursor
    return found


def _describe(found: Any) -> str:
    address = getattr(found, "uri", None) or found.uri_template
    about = found.description or found.title or found.name
    return " ".join(clean_text(f"{address}  {found.mime_type or ''}  {about}").split())[: MAX_ABOUT + len(str(address))]
