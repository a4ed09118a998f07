"""editFile: replace exact texts in a file, or its whole content; only what the model has read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from nebula.events import ProposedChange
from nebula.language import Sentence
from nebula.messages import DeclaredSpec, DialectForm
from nebula.tools.contract import ToolFailure, schema, text_argument
from nebula.tools.declaration import ToolDeclaration
from nebula.tools.files.text_edits import TextEdit, apply_edits, read_edits
from nebula.tools.ledger import BOM, ReadLedger
from nebula.tools.writing import WritingTool, content_argument
from nebula.workspace.changed_lines import Block
from nebula.workspace.contract import ABSENT
from nebula.workspace.diff import apply_hunks, diff_texts
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.proposing import blocks_of, propose_text

MAKES = "makes"
"""An argument of the dialect's `write_file` alone: its mode overwrite creates a file that does not exist."""

SPEC = DeclaredSpec(
    "editFile",
    "Change an existing file that you have read. Give either edits, each replacing a text that stands exactly once in "
    "the file (or everywhere, with all), or new_content, the complete new version; what you leave out of that is gone. "
    "Refused where you have not read the file's present content. Fails if the file does not exist: use writeFile for "
    "that. The user is asked first.",
    schema(
        ["path"],
        path={"type": "string", "description": "Path of the file, relative to the project."},
        edits={
            "type": "array",
            "description": "Replacements, done in this order; all of them or none.",
            "items": schema(
                ["old_text", "new_text"],
                old_text={"type": "string", "description": "Text exactly as it stands in the file."},
                new_text={"type": "string", "description": "What stands there afterwards."},
                all={"type": "boolean", "description": "Replace it wherever it stands. Off if not given."},
            ),
        },
        new_content={"type": "string", "description": "The complete new content of the file, not a part of it."},
    ),
    (
        DialectForm(
            "write_file", "overwrite", (("content", "new_content"),), ("path", "new_content"), sets=((MAKES, True),)
        ),
        DialectForm("write_file", "append", (("content", "append"),), ("path", "append")),
        DialectForm(
            "edit_file",
            arguments=("path", "edits"),
            description="Replace texts in a file that you have read. Each old_text must stand exactly once in it.",
        ),
    ),
)


class EditFile(WritingTool):
    spec = SPEC

    def propose(self, args: Mapping[str, Any]) -> ProposedChange:
        path = text_argument(args, "path")
        if args.get("append") is not None:
            return self._appending(path, content_argument(args, "append"))
        edits, content = _read_wanted(args)
        state = self.workspace.check_write(path, "overwrite", content)
        if state.kind == "missing" and content is not None and args.get(MAKES) is True:
            return propose_text(state.path, None, content, ABSENT)
        if state.kind == "missing":
            problem = Sentence("{path} does not exist.", path=path)
            raise ToolFailure(f"{path} does not exist. Use writeFile to create it.", code=404, problem=problem)
        present, sha256 = state.content, state.expected
        if present is None:
            file = self.workspace.read_file(path)
            present, sha256 = file.content, file.sha256
        self.ledger.recognise(path, sha256, present)
        if content is None:
            if not self.ledger.knows_part(path, sha256):  # if the text is not found then, reading is the answer
                raise self._unread_failure(path, sha256, whole=False)
            content = apply_edits(path, present, edits, quote=not normal_path(path).standing.secret)
        elif present.startswith(BOM) != content.startswith(BOM):  # the file keeps its own mark, and none is added
            content = BOM + content if present.startswith(BOM) else content.removeprefix(BOM)
        if present == content:
            said = f"Nothing to change: {path} already has exactly this content."
            raise ToolFailure(said, code=409, unchanged=True)
        proposal = propose_text(state.path, present, content, sha256)
        if not self._has_read(proposal, whole=not edits):
            raise self._unread_failure(path, sha256, whole=not edits)
        if edits and state.max_bytes is None:
            self.workspace.check_write(path, "overwrite", content)  # its new size is known only now
        elif edits and (more := len(content.encode()) - len(present.encode())) > (state.max_bytes or 0):
            raise ToolFailure(f"{path} would get {more} bytes more; {state.max_bytes} are allowed at once.", code=413)
        return proposal

    def _appending(self, path: str, text: str) -> ProposedChange:
        """Propose to append to a file, or to create it, as the dialect's `write_file` offers."""
        state = self.workspace.check_write(path, "append", text)
        if state.kind == "missing":
            return propose_text(state.path, None, text, ABSENT)
        file = self.workspace.read_file(path)
        return propose_text(state.path, file.content, file.content + text, file.sha256)

    def _has_read(self, proposal: ProposedChange, *, whole: bool) -> bool:
        if whole:
            return self.ledger.knows(proposal.path, proposal.before)
        return all(self._knows(proposal, block) for block in blocks_of(proposal))

    def _knows(self, proposal: ProposedChange, block: Block) -> bool:
        """Return whether the model has read the lines that an edit removes; for added lines, one of the two lines
        beside them."""
        first, last = block[0] + 1, block[1]
        around = [(first, last)] if first <= last else [(first - 1, first - 1), (first, first)]
        return any(self.ledger.knows_lines(proposal.path, proposal.before, *each) for each in around)

    def _unread_failure(self, path: str, sha256: str, *, whole: bool) -> ToolFailure:
        problem = Sentence("Its present content had not been read.")
        return ToolFailure(self._why_unread(path, sha256, whole=whole), code=409, problem=problem)

    def _why_unread(self, path: str, sha256: str, *, whole: bool) -> str:
        if self.ledger.knows_part(path, sha256):
            rest = "the rest" if whole else "what you change"
            return (
                f"You have seen only a part of {path}. Read {rest} in ranges with readFile (start_line, end_line), "
                "then edit."
            )
        if self.ledger.knew(path):
            return f"{path} has changed since you read it. Use readFile again, then edit its present content."
        return f"Use readFile on {path} first: you must have read what you change."


def _read_wanted(args: Mapping[str, Any]) -> tuple[list[TextEdit], str | None]:
    """Return the edits, or the whole new content; models send null for the one that they do not mean."""
    by_edits, whole = args.get("edits") is not None, args.get("new_content") is not None
    if by_edits == whole:
        raise ToolFailure("Give either 'edits' or 'new_content', and not both.")
    if whole:
        return [], content_argument(args, "new_content")
    return read_edits(args["edits"]), None


def _learn(ledger: ReadLedger, args: Mapping[str, Any], result: Mapping[str, Any]) -> None:
    path, content = args.get("path"), args.get("new_content")
    if not isinstance(path, str):
        return
    if isinstance(content, str) and "remark" not in result:
        ledger.saw(path, content)
        return
    with suppress(ToolFailure):
        ledger.edited_so(path, lambda text: _without_left_out(text, _text_after(path, text, args), result))


def _text_after(path: str, text: str, args: Mapping[str, Any]) -> str:
    """Return the text after an edit that was possible when it was made."""
    if isinstance(args.get("append"), str):
        return text + str(args["append"])
    edits, content = _read_wanted(args)
    if content is not None:
        return content
    return apply_edits(path, text, edits, quote=False)


def _without_left_out(before: str, wanted: str, result: Mapping[str, Any]) -> str:
    """Return the text without the hunks that the user left out: the remark for the model holds those."""
    if (remark := result.get("remark")) is None:
        return wanted
    hunks = diff_texts("", before, wanted).hunks
    return apply_hunks(before, [hunk for hunk in hunks if hunk.text.partition("\n")[2] not in str(remark)])


TOOL = ToolDeclaration(
    "editFile",
    lambda kit: EditFile(kit.workspace, kit.ledger),
    writes=True,
    in_plan=False,
    over_mcp=True,
    learn=_learn,
    method="write_file",
    kind="edit",
)
