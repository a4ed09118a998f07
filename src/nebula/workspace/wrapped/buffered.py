"""Files with the unsaved buffers of an editor: reading and writing use what the user sees there.

Everything is judged and opened as usual before an editor is asked for its text. A write is recorded and put on the disk
like any other; an editor that does not show it then gets the text, so that its buffer is not outdated. A buffer with
unsaved changes is first saved by the editor: they remain the user's own, and undoing the turn leads back to them.
"""

from __future__ import annotations

from typing import Protocol, Self

from nebula.files.digest import digest
from nebula.value import replace
from nebula.workspace.contract import FileLines, FileText, PathState, Workspace, WriteMode, WriteResult
from nebula.workspace.errors import Stale, TooLarge, Unsaved, WorkspaceError
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.local import LocalWorkspace
from nebula.workspace.reading import ReadingWorkspace

BOM = "\ufeff"


class Buffers(Protocol):
    """The texts that an editor has open. Its methods are called from any thread but that of the event loop."""

    @property
    def writes(self) -> bool:
        """Return whether the editor accepts a new text for a file."""

    def read(self, path: str) -> str | None:
        """Return the editor's text of a path of the project; None where it has none."""

    def write(self, path: str, content: str) -> None:
        """Send the editor the text of a file for its buffer, which it saves."""


class _ReadsBuffers(ReadingWorkspace):
    buffers: Buffers
    """Set by `with_buffers`, and in every other view of the same files."""

    def read_file(self, path: str) -> FileText:
        return self._unsaved(super().read_file(path))

    def read_lines(self, path: str, first: int, last: int | None = None) -> FileLines:
        on_disk = super().read_lines(path, first, last)
        try:
            file = super().read_file(path)
        except TooLarge:
            return on_disk  # no editor has such a file as text that we could take whole
        shown = self._unsaved(file)
        return on_disk if shown is file else FileLines.of(shown, first, last)

    def _unsaved(self, file: FileText) -> FileText:
        """Return the file with the editor's text; the same object where the disk has that text."""
        text = self.buffers.read(file.path)
        if text is None:
            return file
        text = _as_on_disk(text, file.content)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return file
        if text == file.content:
            return file
        limit = self._judge.policy.max_bytes
        if len(data) > limit:
            raise TooLarge("{path}: has more than the {limit} bytes allowed.", path=file.path, limit=limit)
        return replace(file, content=text, sha256=digest(data), size=len(data))

    def for_turn(self, trace_id: str) -> Self:
        return self._sharing(super().for_turn(trace_id))

    def allowing(self, *paths: str) -> Self:
        return self._sharing(super().allowing(*paths))

    def _sharing(self, other: Self) -> Self:
        other.buffers = self.buffers
        return other


class BufferedReading(_ReadsBuffers):
    """For reading alone."""


class BufferedWorkspace(_ReadsBuffers, LocalWorkspace):
    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        state = super().check_write(path, mode, content)
        if state.kind != "file" or state.content is None:
            return state
        unsaved = self._find_unsaved(path)
        if unsaved is None:
            return state
        if not self.buffers.writes:
            raise Unsaved("{path}: has unsaved changes in the editor; save it first.", path=state.path)
        return replace(state, size=unsaved.size, sha256=unsaved.sha256, content=unsaved.content)

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        unsaved = None if mode == "create" else self._find_unsaved(path)
        if unsaved is not None:
            self._have_saved(unsaved, expected)
        result = super().write_file(path, content, mode, expected=expected)
        return self._hand_over(result) if self.buffers.writes else result

    def _hand_over(self, result: WriteResult) -> WriteResult:
        """Send the editor what was written, unless it shows that by itself, and return what it left on the disk."""
        try:
            written = self._on_disk(result.path)
            if self._is_shown(written):
                return result
            self.buffers.write(result.path, written.content)
            after = self._on_disk(result.path)
        except WorkspaceError:  # too large for an editor, or removed in the meantime: it was written as it should be
            return result
        if after.sha256 == result.after:
            return result
        # The editor formats what it saves: the turn ends with that, and undo starts from there.
        left = super().write_file(result.path, after.content, "overwrite", expected=after.sha256)
        return replace(left, before=result.before)

    def _is_shown(self, file: FileText) -> bool:
        """Return whether the editor has that text. Some read the file from the disk, and would overwrite a buffer with
        it."""
        text = self.buffers.read(file.path)
        return text is not None and _as_on_disk(text, file.content) == file.content

    def _have_saved(self, unsaved: FileText, expected: str | None) -> None:
        """Have the editor save its buffer, if the caller saw that text."""
        if expected is not None and expected != unsaved.sha256:
            raise Stale("{path}: is not what it was when you read it; read it again first.", path=unsaved.path)
        before = self._on_disk(unsaved.path).sha256
        if self.buffers.writes:
            self.buffers.write(unsaved.path, unsaved.content)
        saved = self._on_disk(unsaved.path).sha256
        if saved == before:
            raise Unsaved("{path}: has unsaved changes in the editor; save it first.", path=unsaved.path)
        if saved != unsaved.sha256:
            raise Stale("{path}: is not what it was when you read it; read it again first.", path=unsaved.path)

    def _on_disk(self, path: str) -> FileText:
        return ReadingWorkspace.read_file(self, path)

    def _find_unsaved(self, path: str) -> FileText | None:
        """Return the editor's text where it differs from that on the disk."""
        try:
            file = self._on_disk(normal_path(path).text)
        except WorkspaceError:  # a file that cannot be read has no text in an editor either
            return None
        shown = self._unsaved(file)
        return None if shown is file else shown


def with_buffers(workspace: Workspace, buffers: Buffers) -> Workspace:
    """Return the same files with the buffers of an editor; files of another machine stay as they are."""
    made: _ReadsBuffers
    if isinstance(workspace, LocalWorkspace):
        made = BufferedWorkspace(workspace._jail, workspace._judge, writing=workspace._writing, turn=workspace._turn)
    elif isinstance(workspace, ReadingWorkspace):
        made = BufferedReading(workspace._jail, workspace._judge, turn=workspace._turn)
    else:
        return workspace
    made.buffers = buffers
    return made


def _as_on_disk(text: str, on_disk: str) -> str:
    """Return the text of a buffer with the line breaks and byte order mark of the file, which editors keep
    separately."""
    if "\r\n" in on_disk and "\r" not in text:
        text = text.replace("\n", "\r\n")
    if on_disk.startswith(BOM) and not text.startswith(BOM):
        text = BOM + text
    return text
