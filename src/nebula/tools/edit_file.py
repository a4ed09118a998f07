"""editFile: the whole new content of a file that the model has read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nebula.messages import ToolSpec
from nebula.tools.contract import ToolFailure, schema, text_argument
from nebula.tools.writing import Proposal, WriteTool, content_argument

SPEC = ToolSpec(
    "editFile",
    "Replace the whole content of an existing file. Work in three steps: readFile, think out the complete new version, "
    "then send all of it here; what you leave out is gone. Refused if you have not read the file's present content. "
    "Fails if the file does not exist: use writeFile for that. The user is asked first.",
    schema(
        ["path", "new_content"],
        path={"type": "string", "description": "Path of the file, relative to the project."},
        new_content={"type": "string", "description": "The complete new content of the file, not a part of it."},
    ),
)


class EditFile(WriteTool):
    spec = SPEC

    def propose(self, args: Mapping[str, Any]) -> Proposal:
        path, content = text_argument(args, "path"), content_argument(args, "new_content")
        state = self.workspace.check_write(path, "overwrite", content)
        if state.kind == "missing":
            raise ToolFailure(f"{path} does not exist. Use writeFile to create it.")
        present = self.workspace.read_file(path)
        if not self.ledger.knows(path, present.sha256):
            raise ToolFailure(self._why_unread(path, present.sha256))
        if present.content == content:
            raise ToolFailure(f"Nothing to change: {path} already has exactly this content.")
        return Proposal.of("editFile", state.path, present.content, content, present.sha256)

    def _why_unread(self, path: str, sha256: str) -> str:
        if self.ledger.knows_part(path, sha256):
            return (
                f"You have seen only a part of {path}. Read the rest in ranges with readFile "
                "(start_line, end_line), then edit."
            )
        if self.ledger.knew(path):
            return f"{path} has changed since you read it. Use readFile again, then edit its present content."
        return f"Use readFile on {path} first: an edit replaces the whole file, so you must have read what is in it."
