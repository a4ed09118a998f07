"""A request to write a file, the file that is there, and whether the request may be carried out."""

from __future__ import annotations

import os
import stat

from nebula.files.beneath import FILE_FLAGS
from nebula.files.descriptors import closed_after
from nebula.files.digest import digest
from nebula.files.reading import read_all
from nebula.value import value
from nebula.workspace.contract import ABSENT, WriteMode
from nebula.workspace.errors import AlreadyExists, Forbidden, NotUtf8, PathEscape, Stale, TooLarge
from nebula.workspace.guard.jail import require_regular, status_at, translate
from nebula.workspace.guard.paths import NormalPath
from nebula.workspace.journal.changes import ChangeKind
from nebula.workspace.journal.objects import KEPT_BYTES


@value
class WriteRequest:
    """A request to write one file."""

    path: NormalPath
    content: bytes
    mode: WriteMode
    expected: str | None
    max_bytes: int
    group: str
    kind: ChangeKind = "write"
    perm: int | None = None
    """The mode for the file; None: it keeps its own, and a new file gets one from the umask."""
    exact: bool = False
    """For a command's result: its mode is recorded as well, and a file marked read-only is replaced like any other."""
    author: str = ""


@value
class ExistingFile:
    """The file that a request would replace."""

    status: os.stat_result | None
    content: bytes | None
    sha256: str | None


NOTHING = ExistingFile(None, None, None)


def look_at(folder: int, path: NormalPath) -> ExistingFile:
    """Return the file to be replaced, opened without following a link, with its content."""
    status = status_at(folder, path.name)
    if status is None:
        return NOTHING
    if stat.S_ISLNK(status.st_mode):
        raise PathEscape("{path}: is a link, and a write follows none; write to the file it names.", path=path.text)
    if stat.S_ISDIR(status.st_mode):
        raise AlreadyExists("{path}: is a directory; choose another name.", path=path.text)
    try:
        fd = os.open(path.name, FILE_FLAGS, dir_fd=folder)
    except OSError as error:
        raise translate(error, path.text) from None
    with closed_after(fd):
        status = require_regular(fd, path.text)
        if status.st_size > KEPT_BYTES:
            raise TooLarge("{path}: is too large to keep a copy of; replace it by hand.", path=path.text)
        content = read_all(fd, KEPT_BYTES)
    return ExistingFile(status, content, digest(content))


def judge_write(request: WriteRequest, found: ExistingFile) -> bytes:
    """Return the whole new content, if the request may be carried out on the file that was found."""
    path = request.path.text
    if found.status is not None and request.mode == "create":
        raise already_there(request.path)
    if request.expected is not None and request.mode != "create" and request.expected != (found.sha256 or ABSENT):
        raise Stale("{path}: is not what it was when you read it; read it again first.", path=path)
    if found.status is not None and not found.status.st_mode & 0o222 and not request.exact:
        raise Forbidden("{path}: is marked read-only; change its mode first.", path=path)
    content = request.content
    if request.mode == "append" and found.content is not None:
        content = found.content + content
    limit = request.max_bytes
    if (
        request.expected and found.content is not None
    ):  # an edit of what was seen: only the new text counts against the limit
        limit = min(KEPT_BYTES, limit + len(found.content))
    if len(content) > limit:
        raise TooLarge(
            "{path}: would have {size} bytes, more than the {limit} allowed; split it.",
            path=path,
            size=len(content),
            limit=limit,
        )
    if request.mode == "append" and found.content is not None:
        try:
            found.content.decode()
        except UnicodeDecodeError:
            raise NotUtf8("{path}: is not UTF-8 text, so nothing can be appended.", path=path) from None
    return content


def already_there(path: NormalPath) -> AlreadyExists:
    return AlreadyExists('{path}: exists already; use mode "overwrite" to replace it.', path=path.text)
