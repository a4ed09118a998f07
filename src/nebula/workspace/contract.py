"""The contract of every workspace, local or remote. All depend on this module, not on each other.

Plain synchronous calls, safe to make from several threads. Paths are relative to the root, with "/" between names;
results have paths in that same normal form. Failures are the exceptions of `nebula.workspace.errors`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from nebula.language import Sentence
from nebula.value import value
from nebula.workspace.diff import split_lines
from nebula.workspace.errors import WorkspaceError

WriteMode = Literal["create", "overwrite", "append"]
"""create: the file must be new. overwrite: replaces or creates it. append: adds at its end, or creates it."""

FileKind = Literal["file", "directory", "missing", "other"]

Kinds = Sequence[str] | None
"""Endings of file names; None: files of every kind."""

ABSENT = ""
"""For `expected` of a write: the caller saw that there is no such file."""

DEFAULT_MAX_BYTES = 524_288
DEFAULT_SEARCH_FILES = 200
DEFAULT_LIST_ITEMS = 10_000


@value
class FileEntry:
    name: str
    """Relative to the listed directory; a name without folders unless the listing is recursive."""
    path: str
    """Relative to the root, ready for the next call."""
    is_dir: bool
    size: int | None = None


@value
class Listing:
    path: str
    files: tuple[FileEntry, ...]
    """Sorted by path."""
    truncated: bool = False
    remark: str | None = None
    """One sentence about what was left out, if anything was."""


@value
class FileText:
    path: str
    content: str
    """The whole text, with line breaks and byte order mark as on the disk."""
    sha256: str
    size: int
    """Bytes on the disk."""
    secret: bool = False
    """It is a secret file that the user allowed by name: its content must not be recorded."""


@value
class FileLines:
    """Some lines of a file of any size."""

    path: str
    content: str
    first: int
    last: int
    """Less than requested where the file ends before, or the lines are too large."""
    total_lines: int
    sha256: str
    """Of the whole file."""
    size: int
    secret: bool = False

    @classmethod
    def of(cls, file: FileText, first: int, last: int | None) -> FileLines:
        """Return some lines of a file that was read whole."""
        lines = split_lines(file.content)
        end = len(lines) if last is None else min(last, len(lines))
        text = "".join(lines[first - 1 : end])
        return cls(file.path, text, first, end, len(lines), file.sha256, file.size, file.secret)


@value
class PathState:
    path: str
    kind: FileKind
    size: int | None = None
    sha256: str | None = None
    """Of a file's bytes, if the call has read them (check_write does, probe does not)."""
    content: str | None = None
    """The text that a write would replace, if the call has it; None means nothing."""
    max_bytes: int | None = None
    """The largest size that a write may give it, if the call knows that."""

    @property
    def expected(self) -> str:
        """The value for `expected` of `write_file`, so that it writes only while this state is still true."""
        if self.kind == "file" and self.sha256 is None:
            raise ValueError("this state does not say what the file holds; take it from check_write")
        return self.sha256 or ABSENT


@value
class WriteResult:
    path: str
    before: str | None
    """sha256 of the content replaced; None: the file was created."""
    after: str
    size: int
    """Bytes now on the disk."""


@value
class PathChange:
    """A change of a path from one state to another, both named as in `journal.states`; None: nothing is there.

    A `ProposedChange` is what people are shown, and goes to every reader of the stream; this one reads the content only
    when it is written, since a set may have thousands of files.
    """

    path: str
    before: str | None
    """In a set it is filled in when the set is applied."""
    after: str | None
    read: Callable[[], bytes] = bytes
    """Returns the new content of a file, or the target of a link."""
    still_there: Callable[[], bool] | None = None
    """Returns whether the path is still as it was seen."""
    mode: int | None = None
    """The permissions of a new file, where `after` does not name them."""
    conflict: Sentence | None = None
    """Why it cannot be made, if that is known before trying."""
    author: str = ""
    """The turn that wrote it, where another turn makes the change, or several are made as one."""


NotApplied = tuple[str, WorkspaceError]
"""A path that was not changed, and why."""


@value
class AppliedSet:
    applied: tuple[PathChange, ...] = ()
    left_out: tuple[NotApplied, ...] = ()
    ignored: int = 0
    """How many of the paths beside the set were changed."""


@value
class SearchHits:
    files: tuple[str, ...]
    """Paths relative to the root, sorted."""
    truncated: bool = False
    remark: str | None = None


class Workspace(Protocol):
    @property
    def read_only(self) -> bool: ...

    def list_files(
        self, path: str = ".", *, recursive: bool = False, extensions: Kinds = None, max_items: int | None = None
    ) -> Listing:
        """Return the entries of a directory. A recursive listing leaves out binary files and what git ignores; with
        `extensions` it has only files of those kinds, and no directories."""

    def read_file(self, path: str) -> FileText: ...

    def read_lines(self, path: str, first: int, last: int | None = None) -> FileLines:
        """Return some lines of a file, also of one that is too large to be read whole; `last` None means to the end.
        Where the lines together are larger than a file may be, return those that fit."""

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        """Write a file durably, whole or not at all. `expected` binds the write to what the caller saw: the sha256 of
        the content, or ABSENT. It is checked under the lock. Raises Stale where it no longer holds."""

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        """Return the text files below `directory` that contain `keyword`, exactly as typed."""

    def probe(self, path: str) -> PathState:
        """Return what kind of entry is there, without reading it or judging whether it may be read or written."""

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        """Raise what `write_file` would raise, and write nothing; an approval is bound to the returned state."""

    def roll_back(self) -> tuple[str, ...]:
        """Restore every file that this turn changed, and return the paths. Raises Stale, with nothing touched, where
        somebody else has changed one since."""

    def for_turn(self, trace_id: str) -> Workspace:
        """Return the same workspace, with its calls and changes recorded under that id."""


def read_if_any(files: Workspace, path: str) -> FileText | None:
    """Return a file; None where there is no file that can and may be read."""
    try:
        return files.read_file(path)
    except WorkspaceError:
        return None
