"""searchInDirectory: find the files that contain a text."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nebula.messages import DeclaredSpec
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, in_thread, schema, text_argument
from nebula.tools.declaration import ToolDeclaration
from nebula.tools.result_limits import MAX_LISTED
from nebula.workspace.contract import Workspace

SPEC = DeclaredSpec(
    "searchInDirectory",
    "Find the files below a folder whose text contains a keyword, exactly as written. Binary files and files that git "
    "ignores are left out. Gives the paths.",
    schema(
        ["directory", "keyword"],
        directory={"type": "string", "description": "Folder to search, relative to the project; '.' is the project."},
        keyword={"type": "string", "description": "Text to look for; upper and lower case differ."},
    ),
    reads_only=True,
)


async def search_in_directory(files: Workspace, args: Mapping[str, Any], _: Call) -> Outcome:
    directory = text_argument(args, "directory", ".") or "."
    keyword = text_argument(args, "keyword")
    if not keyword:
        raise ToolFailure("The argument 'keyword' must not be empty.")
    hits = await in_thread(files.search, directory, keyword, max_files=MAX_LISTED)
    found: dict[str, Any] = {"files": list(hits.files)}
    if hits.remark:
        found["remark"] = hits.remark
    return Outcome.ok(found)


TOOL = ToolDeclaration(
    "searchInDirectory",
    lambda kit: FunctionTool(SPEC, partial(search_in_directory, kit.workspace)),
    over_mcp=True,
    method="search",
    subject="directory",
    kind="search",
)
