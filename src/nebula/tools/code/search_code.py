"""searchCode: find the lines of the project that a question is about."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from nebula.errors import NebulaError
from nebula.events import Evidence, Notice
from nebula.language import Sentence
from nebula.messages import DeclaredSpec
from nebula.tools.code.code_index import CodeSearch
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, number_argument, schema, text_argument
from nebula.tools.declaration import ToolDeclaration, ToolKit
from nebula.tools.ledger import ReadLedger
from nebula.tools.result_limits import quoted_size
from nebula.workspace.contract import Workspace
from nebula.workspace.errors import WorkspaceError

DEFAULT_CHUNKS = 8
MAX_CHUNKS = 50
_SPAN = r"L(\d{1,9})-L(\d{1,9})"
BUILDING = Sentence("The code index of this project is being built; that happens once.")
SHOWN = ("path", "span", "text", "score")

SPEC = DeclaredSpec(
    "searchCode",
    "Find the code that a question is about: functions, classes, sections. Ask in words or with names from the code; "
    "use it before reading whole files. Gives path, span (Lx-Ly) and the text of exactly those lines, the best first. "
    "When you rely on a place, cite it as path:Lx-Ly.",
    schema(
        ["query"],
        query={"type": "string", "description": "What to look for."},
        top_k={"type": "integer", "description": f"How many chunks at most; {DEFAULT_CHUNKS} if left out."},
        path_prefix={"type": "string", "description": "Only paths that begin so, such as 'src/'."},
    ),
    reads_only=True,
)


async def search_code(kit: ToolKit, code: CodeSearch, args: Mapping[str, Any], call: Call) -> Outcome:
    query = text_argument(args, "query").strip()
    if not query:
        raise ToolFailure("The argument 'query' must not be empty.")
    limit = min(number_argument(args, "top_k") or DEFAULT_CHUNKS, MAX_CHUNKS)
    prefix = text_argument(args, "path_prefix", "")
    try:
        if await asyncio.to_thread(code.is_new):
            call.emit(Notice(BUILDING))
        found = await asyncio.to_thread(_find_shown, kit, code, query, limit, prefix)
    except WorkspaceError:
        raise
    except NebulaError as problem:
        raise ToolFailure(f"{problem} Use searchInDirectory instead.", code=502) from None
    chunks, left_out = _fitting(found, call.room)
    for chunk in chunks:
        if quoted_size(chunk) <= call.room:
            _learn_chunk(kit.ledger, chunk)
    result: dict[str, Any] = {"chunks": [{name: chunk.get(name) for name in SHOWN} for chunk in chunks]}
    if left_out:
        result["remark"] = f"{left_out} more did not fit; ask for fewer, or for a narrower path_prefix."
    return Outcome.ok(result, evidence=tuple(map(evidence_of, chunks)))


def _find_shown(kit: ToolKit, code: CodeSearch, query: str, limit: int, prefix: str) -> list[dict[str, Any]]:
    """Return chunks that the workspace may show: no secrets, nothing outside the folders of an MCP client."""
    chunks = code.search(query, limit, _spelled_as_there(prefix, kit.workspace), kit.trace_id)
    return [chunk for chunk in chunks if is_shown(chunk, kit.workspace)]


def _spelled_as_there(prefix: str, workspace: Workspace) -> str:
    """Return the beginning of a path with accents as the disk has them; a text that is no path stays as it is."""
    if prefix.isascii():
        return prefix
    try:
        return workspace.probe(prefix).path + "/" * prefix.endswith("/")
    except WorkspaceError:
        return prefix


def is_shown(chunk: Mapping[str, Any], workspace: Workspace) -> bool:
    """Return whether the workspace may show the file of a chunk."""
    try:
        return workspace.probe(str(chunk.get("path"))).kind == "file"
    except WorkspaceError:
        return False


def _fitting(chunks: list[dict[str, Any]], room: int) -> tuple[list[dict[str, Any]], int]:
    kept: list[dict[str, Any]] = []
    for chunk in chunks:
        room -= quoted_size(chunk)
        if room < 0 and kept:
            break
        kept.append(chunk)
    return kept, len(chunks) - len(kept)


def _learn(ledger: ReadLedger, _: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    found = result.get("chunks")
    for chunk in found if isinstance(found, list) else ():
        if isinstance(chunk, dict):
            _learn_chunk(ledger, chunk)


def _learn_chunk(ledger: ReadLedger, chunk: Mapping[str, Any]) -> None:
    """Note the lines of a chunk as shown: they may be edited without another read if the file still has them."""
    span = re.fullmatch(_SPAN, str(chunk.get("span")))
    if span is not None:
        ledger.was_shown(str(chunk.get("path")), int(span[1]), int(span[2]), str(chunk.get("text")))


def evidence_of(chunk: Mapping[str, Any]) -> Evidence:
    return Evidence(*(str(chunk.get(name) or "") for name in ("path", "span", "blob", "commit")))


TOOL = ToolDeclaration(
    "searchCode",
    lambda kit: FunctionTool(SPEC, partial(search_code, kit, kit.code)) if kit.code else None,
    over_mcp=True,
    learn=_learn,
    subject="path_prefix",
    kind="search",
)
