"""Whatever a body holds, a REST route answers it: with a reason where it cannot be done, and never by failing itself."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from index.project import Project, function
from nebula.server.asgi import App, Message
from nebula.server.gate import Rules
from nebula.server.gateway.app import create_gateway
from nebula.server.rag.app import create_rag
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace

HOST = "127.0.0.1:1"
MAX_BODY = 100_000
RULES = Rules(hosts=frozenset({HOST}), max_body=MAX_BODY)


class InProcess:
    """An app as its server runs it, without a network: what it cannot answer is raised here."""

    def __init__(self, app: App) -> None:
        self.app = app
        self.loop = asyncio.new_event_loop()
        self._messages: asyncio.Queue[Message] = asyncio.Queue()
        self._life = self.loop.create_task(app({"type": "lifespan"}, self._messages.get, self._heard))
        self._told: asyncio.Queue[Message] = asyncio.Queue()
        self._turn("startup")

    async def _heard(self, message: Message) -> None:
        self._told.put_nowait(message)

    def _turn(self, what: str) -> None:
        self._messages.put_nowait({"type": f"lifespan.{what}"})
        assert self.loop.run_until_complete(self._told.get())["type"] == f"lifespan.{what}.complete"

    def close(self) -> None:
        self._turn("shutdown")
        self.loop.run_until_complete(self._life)
        self.loop.close()

    @property
    def routes(self) -> dict[str, list[str]]:
        """Those that take a body, with the names of its fields."""
        app: Any = self.app
        posts = {path: methods["post"] for path, methods in app.app.openapi()["paths"].items() if "post" in methods}
        return {
            path: list(post["requestBody"]["content"]["application/json"]["schema"]["properties"])
            for path, post in posts.items()
        }

    def post(self, path: str, body: bytes, content_type: bytes = b"application/json") -> tuple[int, Any]:
        return self.loop.run_until_complete(self._post(path, body, content_type))

    async def _post(self, path: str, body: bytes, content_type: bytes) -> tuple[int, Any]:
        headers = [(b"host", HOST.encode()), (b"content-type", content_type), (b"content-length", b"%d" % len(body))]
        scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
        sent: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    root = tmp_path_factory.mktemp("rest") / "app"
    (root / "sub").mkdir(parents=True)
    (root / "a.txt").write_text("one\n", encoding="utf-8")
    (root / "latin.txt").write_bytes(b"\xe9")
    (root / "out.txt").symlink_to("/etc/passwd")
    os.mkfifo(root / "pipe.txt")
    with open_workspace(str(root), Policy(max_bytes=1_000)) as workspace:
        app = InProcess(create_gateway(workspace, RULES))
        yield app
        app.close()


@pytest.fixture(scope="module")
def rag(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcess]:
    project = Project(tmp_path_factory.mktemp("rag"))
    project.write("a.py", function("lighthouse"))
    project.commit()
    app = InProcess(create_rag(project.index, RULES))
    yield app
    app.close()


TEXTS = st.one_of(
    st.sampled_from((
        "", ".", "..", "/", "a.txt", "a.py", "sub", "latin.txt", "out.txt", "pipe.txt", "a.txt/b", "../x", "/etc/passwd",
        "x\0y", "\ud800", "~", "a" * 300, "a/" * 3_000, "💩" * 100, "\u202e.txt", ".env", ".git/x",
        "create", "append", "overwrite",
    )),
    st.text(max_size=20),
)  # fmt: skip
NUMBERS = st.one_of(st.integers(), st.floats(), st.sampled_from((10**400, -1, 0, 1, 2.0, 1_000_001)))
INNER = st.sampled_from(("path_prefix", "language", "added", "modified", "deleted", "renamed", "from", "to", "extra"))
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), NUMBERS, TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(INNER, inner, max_size=3)),
    max_leaves=6,
)
BYTES = st.one_of(
    st.binary(max_size=60),
    VALUES.map(lambda body: json.dumps(body).encode()),
    st.sampled_from((
        b"", b"null", b"{", b'{"path":', b"[" * 50_000, b'{"path":' * 10_000, b'{"path": "\xff"}', b"\xff\xfe{\0}\0",
        b'\xef\xbb\xbf{"path": "."}', b'{"path": NaN}', b'{"path": 1e999}', b'{"path": ".", "path": 7}',
        b'{"path": "' + b"a" * 90_000 + b'"}', b" " * (MAX_BODY + 1),
    )),
)  # fmt: skip
KINDS = st.sampled_from((b"application/json",) * 6 + (b"application/json; charset=utf-16", b"text/plain", b"", b"\xff"))


def judge(app: InProcess, data: st.DataObject) -> None:
    for route, fields in app.routes.items():
        names = st.sampled_from((*fields, *fields, "extra"))
        objects = st.dictionaries(names, VALUES, max_size=len(fields) + 1).map(lambda body: json.dumps(body).encode())
        body = data.draw(st.one_of(objects, objects, BYTES), label=route)
        status, answer = app.post(route, body, data.draw(KINDS))
        if status != 200:
            assert 400 <= status < 500 and set(answer) == {"error"}, (route, body[:200], status, answer)
            assert answer["error"]["code"] and answer["error"]["message"]


@given(data=st.data())
def test_every_route_of_the_gateway(gateway: InProcess, data: st.DataObject) -> None:
    judge(gateway, data)


@pytest.mark.slow
@given(data=st.data())
def test_every_route_of_the_index_server(rag: InProcess, data: st.DataObject) -> None:
    judge(rag, data)


@pytest.mark.parametrize("name", ["gateway", "rag"])
def test_the_openapi_has_every_model_it_refers_to(name: str, request: pytest.FixtureRequest) -> None:
    app: Any = request.getfixturevalue(name).app
    openapi = app.app.openapi()

    def references(part: Any) -> Iterator[str]:
        if isinstance(part, dict):
            yield from [part["$ref"]] if isinstance(part.get("$ref"), str) else []
            part = list(part.values())
        for each in part if isinstance(part, list) else ():
            yield from references(each)

    found = set(references(openapi))
    assert found >= {"#/components/schemas/ErrorReply", "#/components/schemas/ErrorDetail"}
    assert found <= {f"#/components/schemas/{model}" for model in openapi["components"]["schemas"]}


def test_a_route_about_no_file_needs_no_path(gateway: InProcess) -> None:
    assert gateway.post("/roll_back", b"{}") == (200, {"files": []})
    assert gateway.post("/roll_back", b'{"path": "a.txt"}')[0] == 422
