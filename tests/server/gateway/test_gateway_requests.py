"""The gateway's endpoints, bodies and codes, over a real connection."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway_rig import EXTENSIONS, Gateway, Reply, gateway_in_thread
from nebula.events import new_trace_id
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace
from rows import each_row

LIMIT = 2_000
JSON = {"content-type": "application/json"}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("gateway") / "app"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print('hello')\n", encoding="utf-8")
    (folder / "a.txt").write_text("日本語\n", encoding="utf-8")
    (folder / "latin.txt").write_bytes(b"\xe9")
    (folder / "large.txt").write_bytes(b"x" * (LIMIT + 1))
    (folder / "large-latin.txt").write_bytes(b"\xe9" * (LIMIT + 1))
    (folder / ".git").mkdir()
    (folder / "app-evil").mkdir()
    (folder.parent / "outside.txt").write_text("outside\n", encoding="utf-8")
    (folder / "link.txt").symlink_to("../outside.txt")
    return folder


@pytest.fixture(scope="module")
def gateway(root: Path) -> Iterator[Gateway]:
    with (
        open_workspace(str(root), Policy(extensions=EXTENSIONS, max_bytes=LIMIT)) as workspace,
        gateway_in_thread(workspace, root, max_body=6 * LIMIT + 65_536) as running,
    ):
        yield running


class TestTheSeedsEndpoints:
    def test_list_files(self, gateway: Gateway) -> None:
        reply = gateway.post("list_files", {"path": "src"})
        assert (reply.status, reply.json) == (200, {"files": [{"name": "main.py", "is_dir": False, "size": 15}]})
        names = {entry["name"]: entry for entry in gateway.post("list_files", {"path": "."}).json["files"]}
        assert names["src"] == {"name": "src", "is_dir": True}

    def test_list_filters(self, gateway: Gateway) -> None:
        reply = gateway.post("list_files", {"path": ".", "extensions": [".py", "TXT"], "max_items": 2})
        assert [entry["name"] for entry in reply.json["files"]] == ["a.txt", "large-latin.txt"]
        assert reply.headers["x-truncated"] == "1" and "more" in reply.headers["x-remark"]
        assert gateway.post("list_files", {"path": ".", "extensions": None, "max_items": None}).status == 200

    def test_read_file(self, gateway: Gateway) -> None:
        reply = gateway.post("read_file", {"path": "./a.txt"})
        assert (reply.status, reply.json) == (200, {"content": "日本語\n"})
        assert reply.headers["etag"].strip('"') == hashlib.sha256("日本語\n".encode()).hexdigest()

    def test_write_file(self, gateway: Gateway, root: Path) -> None:
        for mode, content, whole in (
            ("create", "one\n", "one\n"),
            ("append", "two\n", "one\ntwo\n"),
            ("overwrite", "", ""),
        ):
            reply = gateway.post("write_file", {"path": "made/w.md", "content": content, "mode": mode})
            assert (reply.status, reply.json) == (200, {"status": "ok", "path": "made/w.md"})
            assert (root / "made" / "w.md").read_text(encoding="utf-8") == whole
        again = gateway.post("write_file", {"path": "made/w.md", "content": "x", "mode": "create"})
        assert (again.status, again.code) == (409, "already_exists")

    def test_healthz_and_trace(self, gateway: Gateway) -> None:
        trace_id = new_trace_id()
        reply = gateway.ask("GET", "/healthz", headers={"x-trace-id": trace_id})
        assert (reply.status, reply.json) == (200, {"status": "ok"})
        assert reply.headers["x-trace-id"] == trace_id

    def test_a_write_bound_to_what_was_seen(self, gateway: Gateway, root: Path) -> None:
        (root / "bound.txt").write_text("seen\n", encoding="utf-8")
        etag = gateway.post("read_file", {"path": "bound.txt"}).headers["etag"]
        body = {"path": "bound.txt", "content": "mine\n", "mode": "overwrite"}
        reply = gateway.post("write_file", body, {"if-match": etag})
        assert reply.status == 200 and reply.headers["x-replaced"] == etag.strip('"')
        stale = gateway.post("write_file", body, {"if-match": etag})
        assert (stale.status, stale.code) == (409, "changed_since_read")
        assert gateway.post("write_file", body, {"if-none-match": "*"}).status == 409
        for odd in ({"if-match": "x"}, {"if-match": "*"}, {"if-none-match": etag}, {"if-match": ""}):
            assert gateway.post("write_file", body, odd).status == 422
        assert gateway.post("write_file", body, {"if-match": etag, "if-none-match": "*"}).status == 409


ORDER: list[tuple[str, dict[str, Any], int, str]] = [
    # Several things are wrong with each; the first in the order of judgement is told.
    ("read_file", {"path": 7}, 422, "malformed_request"),
    ("read_file", {"path": "../x.exe", "extra": 1}, 422, "malformed_request"),
    ("write_file", {"path": "../x.exe", "content": "x", "mode": "erase"}, 422, "malformed_request"),
    ("read_file", {"path": "../x.exe"}, 400, "path_escape"),
    ("write_file", {"path": "../x.exe", "content": "x" * (LIMIT + 1), "mode": "create"}, 400, "path_escape"),
    ("read_file", {"path": "../app-evil/x.txt"}, 400, "path_escape"),
    ("read_file", {"path": "link.txt"}, 400, "path_escape"),
    ("read_file", {"path": "missing.exe"}, 400, "extension_not_allowed"),
    ("write_file", {"path": "x.exe", "content": "x" * (LIMIT + 1), "mode": "create"}, 400, "extension_not_allowed"),
    ("read_file", {"path": ".env.txt"}, 400, "secret_path"),
    ("write_file", {"path": ".vscode/settings.json", "content": "{}", "mode": "create"}, 400, "protected_path"),
    ("read_file", {"path": "missing.txt"}, 404, "not_found"),
    ("list_files", {"path": "missing"}, 404, "not_found"),
    ("list_files", {"path": "a.txt"}, 404, "not_found"),
    ("write_file", {"path": "a.txt", "content": "x" * (LIMIT + 1), "mode": "create"}, 409, "already_exists"),
    ("write_file", {"path": "new.txt", "content": "あ" * LIMIT, "mode": "create"}, 413, "too_large"),
    ("write_file", {"path": "a.txt", "content": "x" * LIMIT, "mode": "append"}, 413, "too_large"),
    ("read_file", {"path": "large-latin.txt"}, 413, "too_large"),
    ("read_file", {"path": "latin.txt"}, 415, "not_utf8"),
    ("write_file", {"path": ".git/x.txt", "content": "x", "mode": "create"}, 400, "protected_path"),
]


@each_row(("endpoint", "body", "status", "code"), ORDER)
def test_order_of_judgement(gateway: Gateway, endpoint: str, body: dict[str, Any], status: int, code: str) -> None:
    reply = gateway.post(endpoint, body)
    assert (reply.status, reply.code) == (status, code)


MALFORMED = [
    b"", b"null", b"[]", b"7", b'"x"', b"{", b"{}", b'{"path":}', b'{"path":NaN}', b'{"path":Infinity}', b'{"path":null}',
    b'{"path":["a.txt"]}', b'{"path":true}', b'{"path":"\\ud800.txt"}', b'{"path":"a.txt","\\udfff":1}', b'{"path":"a.txt"}}',
    b'{"path":"a.txt"} trailing', b"\xff\xfe{\x00}\x00", b'\xef\xbb\xbf{"path":"a.txt"}', b'{"path":"\xff.txt"}',
    b"[" * 50_000, b'{"a":' * 10_000, b'{"path":' + b"9" * 70_000 + b"}", b'{"path":1e999}', b"\x00" * 100,
    b'{"path":"a.txt","path":7}', b'{"PATH":"a.txt"}', b"path=a.txt", b"{'path':'a.txt'}", b'{"path":"a.txt",}',
]  # fmt: skip


@each_row("body", MALFORMED, ids=lambda body: repr(body[:24]))
def test_malformed_json_is_422(gateway: Gateway, body: bytes) -> None:
    reply = gateway.post("read_file", body)
    assert (reply.status, reply.code) == (422, "malformed_request")


@each_row("number", ["0", "-1", "1.5", "true", '"5"', "1e400", "9" * 400, "[1]", "{}", "-0.0"])
def test_a_number_of_items_that_is_none(gateway: Gateway, number: str) -> None:
    reply = gateway.post("list_files", f'{{"path":".","max_items":{number}}}'.encode())
    assert reply.status == 422


def test_five_point_zero_is_five(gateway: Gateway) -> None:
    assert len(gateway.post("list_files", b'{"path":".","max_items":1.0}').json["files"]) == 1


@each_row(
    "kind",
    [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "application/jsonx",
     "application/xml", "APPLICATION/JSON", "application/json; charset=utf-8"],
)  # fmt: skip
def test_other_content_types_are_422(gateway: Gateway, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    reply = gateway.ask("POST", "/read_file", b'{"path":"a.txt"}', headers)
    assert reply.status == (200 if "application/json" in (kind or "").lower().split(";")[0:1] else 422)


@each_row(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nothing", 404, "no_such_endpoint"),
        ("POST", "/", 404, "no_such_endpoint"),
        ("POST", "/read_file/", 404, "no_such_endpoint"),
        ("POST", "//read_file", 404, "no_such_endpoint"),
        ("POST", "/read_file%00", 404, "no_such_endpoint"),
        ("GET", "/%ff%fe", 404, "no_such_endpoint"),
        ("GET", "/redoc", 404, "no_such_endpoint"),
        ("GET", "/read_file", 405, "method_not_allowed"),
        ("PUT", "/write_file", 405, "method_not_allowed"),
        ("DELETE", "/write_file", 405, "method_not_allowed"),
        ("OPTIONS", "/read_file", 405, "method_not_allowed"),
        ("POST", "/healthz", 405, "method_not_allowed"),
        ("BREW", "/list_files", 405, "method_not_allowed"),
    ],
)
def test_routing_errors_have_our_form(gateway: Gateway, method: str, path: str, status: int, code: str) -> None:
    reply = gateway.ask(method, path)
    assert (reply.status, reply.code) == (status, code)
    assert "allow" in reply.headers or status == 404


def test_no_error_names_a_place_on_this_machine(gateway: Gateway, root: Path) -> None:
    for endpoint, body, _, _ in ORDER:
        text = gateway.post(endpoint, body).body.decode()
        assert str(root.parent) not in text and "Traceback" not in text and str(Path(__file__).parents[3]) not in text


class TestTheDescription:
    def test_openapi_names_bodies_examples_and_errors(self, gateway: Gateway) -> None:
        api = gateway.ask("GET", "/openapi.json").json
        assert {"/list_files", "/read_file", "/write_file", "/healthz"} <= set(api["paths"])
        for path in ("/list_files", "/read_file", "/write_file"):
            operation = api["paths"][path]["post"]
            schema = operation["requestBody"]["content"]["application/json"]["schema"]
            assert "path" in schema["required"]
            assert operation["responses"]["200"]["content"]["application/json"]["example"]
            for status in ("400", "401", "403", "404", "413", "422", "500"):
                answer = operation["responses"][status]
                assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ErrorReply"}
        assert api["paths"]["/write_file"]["post"]["responses"]["409"]
        assert api["paths"]["/read_file"]["post"]["responses"]["415"]

    def test_the_page_needs_no_other_host(self, gateway: Gateway) -> None:
        reply = gateway.ask("GET", "/docs")
        page = reply.body.decode()
        assert reply.status == 200 and reply.headers["content-type"].startswith("text/html")
        assert "/write_file" in page and "/openapi.json" in page
        assert not re.search(r"https?://|<script|@import|//cdn", page)
        assert "default-src 'none'" in reply.headers["content-security-policy"]


class TestAudit:
    def test_one_line_for_each_request_whatever_it_held(self, gateway: Gateway) -> None:
        before = len(gateway.audited())
        nasty = 'a\n{"ts":1}\r\x1b[31m\u2028日本.txt'
        asked: list[tuple[Reply, str, str]] = [
            (gateway.post("read_file", {"path": "a.txt"}), "read_file", "a.txt"),
            (gateway.post("read_file", {"path": nasty}), "read_file", nasty),
            (gateway.post("read_file", {"path": "x" * 5_000}), "read_file", "x" * 1_024),
            (gateway.post("read_file", b"{"), "read_file", "/read_file"),
            (gateway.post("write_file", b" " * 200_000), "POST", "/write_file"),
            (gateway.post("read_file", {"path": "a.txt"}, {"x-trace-id": "forged\tline"}), "POST", "/read_file"),
            (gateway.post("read_file", {"path": "a.txt"}, {"origin": "http://evil.example"}), "POST", "/read_file"),
            (
                gateway.ask("GET", "/nothing%C3%A9"),
                "GET",
                "/nothingé",
            ),
        ]
        lines = gateway.audited()[before:]
        assert len(lines) == len(asked)
        for line, (reply, method, path) in zip(lines, asked, strict=True):
            assert list(line) == ["ts", "trace_id", "method", "path", "size", "status"]
            assert (line["status"], line["trace_id"]) == (reply.status, reply.headers["x-trace-id"])
            assert (line["method"], line["path"]) == (method, path)
            assert isinstance(line["size"], int)
        assert [line["status"] for line in lines] == [200, 400, 400, 422, 413, 400, 403, 404]

    def test_no_content_is_kept(self, gateway: Gateway) -> None:
        gateway.post("write_file", {"path": "kept.txt", "content": "very private", "mode": "overwrite"})
        gateway.post("write_file", {"path": "kept.exe", "content": "very private", "mode": "overwrite"})
        assert "private" not in json.dumps(gateway.audited())

    def test_the_log_may_be_rotated(self, gateway: Gateway) -> None:
        gateway.post("read_file", {"path": "a.txt"})
        gateway.audit.rename(gateway.audit.with_suffix(".1"))
        gateway.post("read_file", {"path": "a.txt"})
        assert [line["status"] for line in gateway.audited()] == [200]


class BrokenWorkspace:
    """Fails as no workspace should."""

    read_only = False

    def read_file(self, path: str) -> Any:
        raise RuntimeError(f"/home/somebody/{path}")

    def list_files(self, path: str, **_: object) -> Any:
        raise RuntimeError("in a thread")


def test_a_bug_is_a_500_in_our_form_and_audited(tmp_path: Path) -> None:
    with gateway_in_thread(BrokenWorkspace(), tmp_path) as gateway:  # type: ignore[arg-type]
        for endpoint in ("read_file", "list_files"):
            reply = gateway.post(endpoint, {"path": "secret.txt"})
            assert (reply.status, reply.code) == (500, "internal_error")
            assert b"somebody" not in reply.body and b"thread" not in reply.body
        assert [line["status"] for line in gateway.audited()] == [500, 500]
        assert gateway.ask("GET", "/healthz").status == 200


def test_an_audit_that_cannot_be_written_fails_the_request(tmp_path: Path) -> None:
    with open_workspace(str(tmp_path), Policy()) as workspace, gateway_in_thread(workspace, tmp_path) as gateway:
        gateway.audit.unlink()
        gateway.audit.mkdir()
        reply = gateway.ask("GET", "/healthz")
        assert reply.status == 500
