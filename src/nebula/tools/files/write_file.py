"""writeFile: create a file that does not exist yet."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nebula.events import ProposedChange
from nebula.language import Sentence
from nebula.messages import DeclaredSpec, DialectForm
from nebula.tools.contract import ToolFailure, schema, text_argument
from nebula.tools.declaration import ToolDeclaration
from nebula.tools.ledger import ReadLedger
from nebula.tools.writing import WritingTool, content_argument
from nebula.workspace.contract import ABSENT, read_if_any
from nebula.workspace.errors import AlreadyExists
from nebula.workspace.proposing import propose_text

SPEC = DeclaredSpec(
    "writeFile",
    "Create a new file with the given content, with the folders it needs. Fails if the file exists already: use "
    "editFile for that. The user is asked first.",
    schema(
        ["path", "content"],
        path={"type": "string", "description": "Path of the new file, relative to the project."},
        content={"type": "string", "description": "The complete content of the file."},
    ),
    (
        DialectForm(
            "write_file",
            "create",
            description="Write a file. Mode create makes a new one, overwrite replaces all of one that you have read, "
            "append adds to its end.",
        ),
    ),
)


class WriteFile(WritingTool):
    spec = SPEC

    def propose(self, args: Mapping[str, Any]) -> ProposedChange:
        path, content = text_argument(args, "path"), content_argument(args, "content")
        try:
            state = self.workspace.check_write(path, "create", content)
        except AlreadyExists:
            said = f"{path} exists already. Use editFile to change it, after readFile."
            problem = Sentence("{path} exists already.", path=path)
            there = read_if_any(self.workspace, path)
            unchanged = there is not None and there.content == content
            raise ToolFailure(said, code=409, unchanged=unchanged, problem=problem) from None
        return propose_text(state.path, None, content, ABSENT)


def _learn(ledger: ReadLedger, args: Mapping[str, Any], _: Mapping[str, Any]) -> None:
    path, content = args.get("path"), args.get("content")
    if isinstance(path, str) and isinstance(content, str):
        ledger.saw(path, content)


TOOL = ToolDeclaration(
    "writeFile",
    lambda kit: WriteFile(kit.workspace, kit.ledger),
    writes=True,
    in_plan=False,
    over_mcp=True,
    learn=_learn,
    kind="edit",
)
