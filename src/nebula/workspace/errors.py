"""What a workspace can refuse, and why. Every level of the tree is useful to catch.

    WorkspaceError                 code, status (HTTP), message, refusal
    ├── MalformedRequest      422  not a string, an unknown mode, a lone surrogate, an empty keyword
    ├── PathRefused           400  a name no file may have here: control characters, a device, a FIFO
    │   └── PathEscape        400  leads, or could lead, out of the root
    ├── ExtensionRefused      400  the policy does not allow files of that kind
    ├── Forbidden             403  the operating system says no
    │   ├── ProtectedPath     400  .git, .nebula, and control files nobody allowed by name
    │   ├── SecretPath        400  .env files and private keys nobody allowed by name
    │   ├── RefusedByHook     403  the user's hook before_write says no
    │   └── ReadOnly          403  the workspace was opened for reading
    ├── PathNotFound          404
    ├── NotKept               404  the journal has no such content, and no such change to take back
    ├── AlreadyExists         409  mode "create" on something that is there
    ├── Stale                 409  the file is not what the caller saw
    ├── Unsaved               409  an editor has changes of the file that it has not saved
    ├── TooLarge              413
    ├── NotUtf8               415
    └── StorageFailed         500  the disk failed; the old content is untouched
        └── DiskFull          500

A message says what to do next and never holds an absolute path. `refusal` is true where the policy said no, in
contrast to a plain fact about the file (missing, exists, changed) or a failing disk.
"""

from __future__ import annotations

from typing import ClassVar

from nebula.errors import EXIT_POLICY, NebulaError

ERRORS_BY_CODE: dict[str, type[WorkspaceError]] = {}
"""Exceptions by code, for a client that gets an error over the network and raises the same one."""


class WorkspaceError(NebulaError):
    """The root of the tree; raise a subclass."""

    code: ClassVar[str] = "workspace_error"
    status: ClassVar[int] = 500
    refusal: ClassVar[bool] = False

    def __init_subclass__(cls, *, code: str, status: int | None = None, refusal: bool | None = None) -> None:
        cls.code = code
        if status is not None:
            cls.status = status
        if refusal is not None:
            cls.refusal = refusal
        ERRORS_BY_CODE[code] = cls


class MalformedRequest(WorkspaceError, code="malformed_request", status=422):
    pass


class PathRefused(WorkspaceError, code="path_refused", status=400, refusal=True):
    pass


class PathEscape(PathRefused, code="path_escape"):
    pass


class ExtensionRefused(WorkspaceError, code="extension_not_allowed", status=400, refusal=True):
    pass


class Forbidden(WorkspaceError, code="forbidden", status=403, refusal=True):
    pass


class ProtectedPath(Forbidden, code="protected_path", status=400):
    """The path is refused by our own rules: the seed's contract has no status for that."""


class SecretPath(Forbidden, code="secret_path", status=400):
    pass


class RefusedByHook(Forbidden, code="refused_by_hook"):
    exit_code = EXIT_POLICY


class ReadOnly(Forbidden, code="read_only"):
    pass


class PathNotFound(WorkspaceError, code="not_found", status=404):
    pass


class NotKept(WorkspaceError, code="not_kept", status=404):
    pass


class AlreadyExists(WorkspaceError, code="already_exists", status=409):
    pass


class Stale(WorkspaceError, code="changed_since_read", status=409):
    pass


class Unsaved(WorkspaceError, code="unsaved_in_editor", status=409):
    pass


class TooLarge(WorkspaceError, code="too_large", status=413, refusal=True):
    pass


class NotUtf8(WorkspaceError, code="not_utf8", status=415, refusal=True):
    pass


class StorageFailed(WorkspaceError, code="storage_failed"):
    pass


class DiskFull(StorageFailed, code="disk_full"):
    pass
