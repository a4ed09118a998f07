"""writeFile: a file that does not exist yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nebula.messages import ToolSpec
from nebula.tools.contract import ToolFailure, schema, text_argument
from nebula.tools.writing import Proposal, WriteTool, content_argument
from nebula.workspace.contract import ABSENT
from nebula.workspace.errors import AlreadyExists

SPEC = ToolSpec(
    "writeFile",
    "Create a new file with the given content, with the folders it needs. Fails if the file exists already: use "
    "editFile for that. The user is asked first.",
    schema(
        ["path", "content"],
        path={"type": "string", "description": "Path of the new file, relative to the project."},
        content={"type": "string", "description": "The complete content of the file."},
    ),
)


class WriteFile(WriteTool):
    spec = SPEC

    def propose(self, args: Mapping[str, Any]) -> Proposal:
        path, content = text_argument(args, "path"), content_argument(args, "content")
        try:
            state = self.workspace.check_write(path, "create", content)
        except AlreadyExists:
            raise ToolFailure(f"{path} exists already. Use editFile to change it, after readFile.") from None
        return Proposal.of("writeFile", state.path, None, content, ABSENT)
