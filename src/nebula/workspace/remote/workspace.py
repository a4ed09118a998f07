"""A workspace behind a gateway (`EC_MCP_URL`): the same contract, the same exceptions, over HTTP.

    workspace = RemoteWorkspace("http://127.0.0.1:8787", token)
    workspace.for_turn(trace_id).read_file("src/app.py")

The gateway's own policy decides; nothing is judged here, so that its audit sees every attempt. With our gateway each
method is one request. Of a gateway with the seed's three endpoints alone the rest is put together from those
(`composed`), at the price named there.
"""

from __future__ import annotations

from typing import Any

from nebula.files.digest import digest
from nebula.workspace.contract import (
    ABSENT,
    DEFAULT_SEARCH_FILES,
    FileEntry,
    FileLines,
    FileText,
    Kinds,
    Listing,
    PathState,
    SearchHits,
    WriteMode,
    WriteResult,
)
from nebula.workspace.errors import NotKept, NotUtf8, ReadOnly
from nebula.workspace.guard.paths import normal_path
from nebula.workspace.remote import composed
from nebula.workspace.remote.client import GatewayAnswer, GatewayClient, GatewayFailed


class RemoteWorkspace:
    def __init__(
        self,
        url: str,
        token: str = "",
        trace_id: str = "",
        *,
        read_only: bool = False,
        client: GatewayClient | None = None,
    ) -> None:
        self._url = url
        self._client = client or GatewayClient(url, token)
        self._trace_id = trace_id
        self._read_only = read_only

    @property
    def read_only(self) -> bool:
        return self._read_only

    def close(self) -> None:
        """Close the idle connections; using the workspace again opens new ones."""
        self._client.close()

    def list_files(
        self, path: str = ".", *, recursive: bool = False, extensions: Kinds = None, max_items: int | None = None
    ) -> Listing:
        asked = {"path": path, "extensions": _texts(extensions), "max_items": max_items}
        if not recursive:
            return self._listing(path, self._call("list_files", asked))
        if not self._has("list_tree"):
            return composed.list_tree(self, path, extensions, max_items)
        body = self._call("list_tree", asked).body
        files = tuple(_tree_entry(entry) for entry in _field(body, "files", list))
        return Listing(_field(body, "path", str), files, bool(body.get("truncated")), body.get("remark"))

    def read_file(self, path: str) -> FileText:
        answer = self._call("read_file", {"path": path})
        content = _field(answer.body, "content", str)
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise NotUtf8("{path}: the gateway sent text that is not valid Unicode.", path=path) from None
        sha256 = answer.headers.get("etag", "").strip('"') or digest(data)
        place = normal_path(path)
        return FileText(place.text, content, sha256, len(data), place.standing.secret)

    def read_lines(self, path: str, first: int, last: int | None = None) -> FileLines:
        """Return lines of a file, which the gateway reads whole: it cannot read a part of one."""
        return FileLines.of(self.read_file(path), first, last)

    def write_file(
        self, path: str, content: str, mode: WriteMode = "create", *, expected: str | None = None
    ) -> WriteResult:
        self._require_writable()
        if not self._has("check_write"):
            return composed.write_file(self, path, content, mode, expected)
        answer = self.send_write(path, content, mode, expected)
        after, size = answer.headers.get("etag", "").strip('"'), answer.headers.get("x-size", "")
        if not after or not size.isdecimal():
            raise GatewayFailed("The gateway did not say what it wrote.")
        return WriteResult(_field(answer.body, "path", str), answer.headers.get("x-replaced"), after, int(size))

    def send_write(self, path: str, content: str, mode: WriteMode, expected: str | None = None) -> GatewayAnswer:
        """Send the request. What the caller saw is sent in HTTP headers, beside the seed's body."""
        self._require_writable()
        headers = {}
        if expected is not None:
            headers = {"if-none-match": "*"} if expected == ABSENT else {"if-match": f'"{expected}"'}
        asked = {"path": path, "content": content, "mode": mode}
        # Overwriting twice with the same text has the same result as once, unless it is bound to what was there.
        repeatable = mode == "overwrite" and expected is None
        return self._client.call("write_file", asked, self._trace_id, headers=headers, repeatable=repeatable)

    def search(self, directory: str, keyword: str, *, max_files: int = DEFAULT_SEARCH_FILES) -> SearchHits:
        if not self._has("search_files"):
            return composed.search(self, directory, keyword, max_files)
        body = self._call("search_files", {"path": directory, "keyword": keyword, "max_files": max_files}).body
        return SearchHits(tuple(_field(body, "files", list)), bool(body.get("truncated")), body.get("remark"))

    def probe(self, path: str) -> PathState:
        if not self._has("probe"):
            return composed.probe(self, path)
        return _state(self._call("probe", {"path": path}).body)

    def check_write(self, path: str, mode: WriteMode, content: str | None = None) -> PathState:
        self._require_writable()
        if not self._has("check_write"):
            return composed.check_write(self, path, mode)
        return _state(self._call("check_write", {"path": path, "mode": mode, "content": content}).body)

    def roll_back(self) -> tuple[str, ...]:
        self._require_writable()
        if not self._has("roll_back"):
            raise NotKept("This gateway keeps no journal, so nothing was taken back; what was changed there stays.")
        return tuple(_field(self._call("roll_back", {}).body, "files", list))

    def for_turn(self, trace_id: str) -> RemoteWorkspace:
        return RemoteWorkspace(self._url, trace_id=trace_id, read_only=self._read_only, client=self._client)

    def _call(self, endpoint: str, body: dict[str, Any]) -> GatewayAnswer:
        return self._client.call(
            endpoint, {k: v for k, v in body.items() if v is not None or k == "path"}, self._trace_id
        )

    def _has(self, endpoint: str) -> bool:
        return endpoint in self._client.extras(self._trace_id)

    def _listing(self, path: str, answer: GatewayAnswer) -> Listing:
        base = normal_path(path).text
        files = []
        for entry in _field(answer.body, "files", list):
            name = _field(entry, "name", str)
            place = name if base == "." else f"{base}/{name}"
            files.append(FileEntry(name, place, bool(entry.get("is_dir")), entry.get("size")))
        files.sort(key=lambda entry: entry.name)
        return Listing(base, tuple(files), "x-truncated" in answer.headers, answer.headers.get("x-remark"))

    def _require_writable(self) -> None:
        if self._read_only:
            raise ReadOnly("This workspace was opened for reading; nothing can be written in it.")


def _texts(extensions: Kinds) -> Any:
    """Return a list to send; any other value is passed on for the gateway to refuse."""
    return list(extensions) if isinstance(extensions, (list, tuple)) else extensions


def _tree_entry(entry: Any) -> FileEntry:
    size = entry.get("size") if isinstance(entry, dict) else None
    return FileEntry(_field(entry, "name", str), _field(entry, "path", str), bool(entry.get("is_dir")), size)


def _state(body: Any) -> PathState:
    return PathState(_field(body, "path", str), _field(body, "kind", str), body.get("size"), body.get("sha256"))


def _field(body: Any, name: str, kind: type[Any]) -> Any:
    value = body.get(name) if isinstance(body, dict) else None
    if not isinstance(value, kind):
        raise GatewayFailed("The gateway's answer has no usable '{name}'.", name=name)
    return value
