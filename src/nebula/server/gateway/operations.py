"""The operations of the gateway: one entry an endpoint, each a plain function from a checked request to a reply.

The first three are the seed's. With the others a remote caller can do everything that is possible in process; the
`x-gateway-extras` header of /healthz lists them, and a client does without those that are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import to_json

from nebula.server.bodies import RequestBody
from nebula.server.gateway import bodies
from nebula.value import field, value
from nebula.workspace.contract import DEFAULT_SEARCH_FILES, Listing, PathState, Workspace


@value
class OperationReply:
    body: Mapping[str, Any]
    size: int | None = None
    """Bytes of text read or written, for the audit."""
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_bytes(self) -> bytes:
        return to_json(self.body)


@value
class Operation:
    name: str
    summary: str
    request: type[RequestBody]
    reply: type[BaseModel]
    example: Mapping[str, Any]
    run: Callable[[Workspace, Any, str | None], OperationReply]
    """Called with the workspace, the request, and what the caller saw of the file (None: unknown)."""
    errors: Mapping[int, str]
    quick: bool = False
    """It is so short that a thread would cost more than running it directly."""
    writes: bool = False
    """It belongs to a task: the journal has its changes under the task's trace id."""
    conditional: bool = False
    """The caller may bind it to what it saw."""


def _list(workspace: Workspace, asked: bodies.ListBody, _: str | None) -> OperationReply:
    listing = workspace.list_files(asked.path, extensions=asked.extensions, max_items=asked.max_items)
    files = [
        {"name": entry.name, "is_dir": entry.is_dir} | ({} if entry.size is None else {"size": entry.size})
        for entry in listing.files
    ]
    return OperationReply({"files": files}, headers=_remarks(listing))


def _read(workspace: Workspace, asked: bodies.ReadBody, _: str | None) -> OperationReply:
    text = workspace.read_file(asked.path)
    return OperationReply({"content": text.content}, text.size, {"etag": f'"{text.sha256}"'})


def _write(workspace: Workspace, asked: bodies.WriteBody, expected: str | None) -> OperationReply:
    result = workspace.write_file(asked.path, asked.content, asked.mode, expected=expected)
    headers = {"etag": f'"{result.after}"', "x-size": str(result.size)}
    if result.before is not None:
        headers["x-replaced"] = result.before
    return OperationReply({"status": "ok", "path": result.path}, result.size, headers)


def _tree(workspace: Workspace, asked: bodies.ListBody, _: str | None) -> OperationReply:
    listing = workspace.list_files(asked.path, recursive=True, extensions=asked.extensions, max_items=asked.max_items)
    files = [
        {"name": entry.name, "path": entry.path, "is_dir": entry.is_dir, "size": entry.size} for entry in listing.files
    ]
    return OperationReply(
        {"path": listing.path, "files": files, "truncated": listing.truncated, "remark": listing.remark}
    )


def _search(workspace: Workspace, asked: bodies.SearchBody, _: str | None) -> OperationReply:
    hits = workspace.search(asked.path, asked.keyword, max_files=asked.max_files or DEFAULT_SEARCH_FILES)
    return OperationReply({"files": list(hits.files), "truncated": hits.truncated, "remark": hits.remark})


def _probe(workspace: Workspace, asked: bodies.ReadBody, _: str | None) -> OperationReply:
    return _state(workspace.probe(asked.path))


def _check(workspace: Workspace, asked: bodies.CheckBody, _: str | None) -> OperationReply:
    return _state(workspace.check_write(asked.path, asked.mode, asked.content))


def _roll_back(workspace: Workspace, _: bodies.RollBackBody, __: str | None) -> OperationReply:
    return OperationReply({"files": list(workspace.roll_back())})


def _state(state: PathState) -> OperationReply:
    return OperationReply({"path": state.path, "kind": state.kind, "size": state.size, "sha256": state.sha256})


def _remarks(listing: Listing) -> dict[str, str]:
    headers = {"x-truncated": "1"} if listing.truncated else {}
    return headers | ({"x-remark": listing.remark} if listing.remark else {})


_PATH = "The path leads, or could lead, out of the root; no file may have such a name; or it is not for callers."
_KIND = _PATH + " Or files of that kind are not allowed."
_FORBIDDEN = "The operating system denies access."
_LIST_ERRORS = {400: _PATH, 403: _FORBIDDEN, 404: "No such directory."}
_WRITE_ERRORS = {
    400: _KIND,
    403: _FORBIDDEN + " Or a `before_write` hook of who started the server refuses.",
    404: "Part of the path is missing.",
    409: "The file exists already (create), or is not what the caller saw.",
    413: "More text than allowed; for append, in the result.",
    415: "The present content is not UTF-8 (append).",
}
_STATE = {"path": "app/main.py", "kind": "file", "size": 15, "sha256": None}

SEED_OPERATIONS: Final = (
    Operation(
        "list_files", "The entries of a directory", bodies.ListBody, bodies.ListReply,
        {"files": [{"name": "main.py", "is_dir": False, "size": 15}, {"name": "tests", "is_dir": True}]},
        _list, _LIST_ERRORS,
    ),
    Operation(
        "read_file", "The text of a file", bodies.ReadBody, bodies.ReadReply, {"content": "print('hello')\n"},
        _read,
        {400: _KIND, 403: _FORBIDDEN, 404: "No such file.", 413: "The file is too large.", 415: "Not UTF-8."},
        quick=True,
    ),
    Operation(
        "write_file", "Create, overwrite or append to a file, whole or not at all", bodies.WriteBody,
        bodies.WriteReply, {"status": "ok", "path": "app/main.py"}, _write, _WRITE_ERRORS, writes=True,
        conditional=True,
    ),
)  # fmt: skip

EXTRA_OPERATIONS: Final = (
    Operation(
        "list_tree", "Everything below a directory that git does not ignore, binary files left out",
        bodies.ListBody, bodies.TreeReply,
        {"path": ".", "files": [{"name": "app/main.py", "path": "app/main.py", "is_dir": False, "size": 15}],
         "truncated": False, "remark": None},
        _tree, _LIST_ERRORS,
    ),
    Operation(
        "search_files", "The text files below a directory that hold a keyword", bodies.SearchBody,
        bodies.SearchReply, {"files": ["app/main.py"], "truncated": False, "remark": None}, _search, _LIST_ERRORS,
    ),
    Operation(
        "probe", "What lies at a path", bodies.ReadBody, bodies.StateReply, _STATE, _probe, _LIST_ERRORS,
    ),
    Operation(
        "check_write", "What /write_file would say; writes nothing", bodies.CheckBody, bodies.StateReply, _STATE,
        _check, _WRITE_ERRORS,
    ),
    Operation(
        "roll_back", "Put every file back that the task of this x-trace-id changed", bodies.RollBackBody,
        bodies.RollBackReply, {"files": ["app/main.py"]}, _roll_back,
        {403: _FORBIDDEN, 409: "One of the files was changed by somebody else since; none was touched."}, writes=True,
    ),
)  # fmt: skip
