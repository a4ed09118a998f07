"""list: list the files in a folder."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from nebula.messages import DeclaredSpec, DialectForm
from nebula.tools.contract import Call, FunctionTool, Outcome, ToolFailure, in_thread, schema, text_argument
from nebula.tools.declaration import ToolDeclaration
from nebula.tools.result_limits import MAX_LISTED
from nebula.workspace.contract import Workspace

SPEC = DeclaredSpec(
    "list",
    "List the files and folders in a folder of the project; folders end with '/'. With recursive, everything below it "
    "that git does not ignore.",
    schema(
        ["path"],
        path={"type": "string", "description": "Path of the folder, relative to the project; '.' is the project."},
        recursive={"type": "boolean", "description": "Go into sub-folders, too. Off if not given."},
    ),
    (DialectForm("list_files"),),
    reads_only=True,
)


async def list_files(files: Workspace, args: Mapping[str, Any], _: Call) -> Outcome:
    path = text_argument(args, "path", ".") or "."
    recursive = args.get("recursive", False)
    if not isinstance(recursive, bool):
        raise ToolFailure("The argument 'recursive' must be true or false.")
    listing = await in_thread(files.list_files, path, recursive=recursive, max_items=MAX_LISTED)
    found: dict[str, Any] = {"files": [entry.name + "/" * entry.is_dir for entry in listing.files]}
    if listing.remark:
        found["remark"] = listing.remark
    return Outcome.ok(found)


TOOL = ToolDeclaration(
    "list",
    lambda kit: FunctionTool(SPEC, partial(list_files, kit.workspace)),
    over_mcp=True,
    method="list_files",
    kind="search",
)
