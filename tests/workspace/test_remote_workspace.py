"""One suite for every workspace: on this disk, behind our gateway, behind one with the seed's endpoints alone."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway_rig import Gateway, gateway_in_thread, served
from nebula.events import new_trace_id
from nebula.server.asgi import Receive, Scope, Send
from nebula.server.serving import listen
from nebula.workspace.contract import ABSENT, FileEntry, Workspace
from nebula.workspace.errors import (
    AlreadyExists,
    ExtensionRefused,
    Forbidden,
    MalformedRequest,
    NotKept,
    NotUtf8,
    PathEscape,
    PathNotFound,
    PathRefused,
    ProtectedPath,
    ReadOnly,
    SecretPath,
    Stale,
    TooLarge,
    WorkspaceError,
)
from nebula.workspace.guard.judge import Policy
from nebula.workspace.local import open_workspace
from nebula.workspace.remote.client import GatewayClient, GatewayFailed, _dropped
from nebula.workspace.remote.composed import MAX_FOLDERS
from nebula.workspace.remote.workspace import RemoteWorkspace
from rows import each_row
from scripted_model import refused_url

POLICY = Policy(extensions=(".py", ".md", ".txt", ".json"), max_bytes=1_000)


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class WithoutExtras(GatewayClient):
    """Our gateway, met as if it had the seed's three endpoints alone."""

    def extras(self, trace_id: str) -> frozenset[str]:
        return frozenset()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    (folder / "src" / "deep").mkdir(parents=True)
    (folder / "src" / "main.py").write_text("print('hello')\n", encoding="utf-8")
    (folder / "src" / "deep" / "notes.md").write_text("日本語のメモ\n", encoding="utf-8")
    (folder / "a.txt").write_text("alpha\n", encoding="utf-8")
    (folder / ".git").mkdir()
    (folder / ".git" / "config.txt").write_text("[core]\n", encoding="utf-8")
    return folder


@pytest.fixture
def gateway(root: Path) -> Iterator[Gateway]:
    with open_workspace(str(root), POLICY) as inner, gateway_in_thread(inner, root) as running:
        yield running


@pytest.fixture(params=["local", "remote", "seed"])
def workspace(request: pytest.FixtureRequest, root: Path) -> Iterator[Workspace]:
    if request.param == "local":
        with open_workspace(str(root), POLICY) as local:
            yield local.for_turn(new_trace_id())
        return
    gateway: Gateway = request.getfixturevalue("gateway")
    kind = GatewayClient if request.param == "remote" else WithoutExtras
    remote = RemoteWorkspace(gateway.url, trace_id=new_trace_id(), client=kind(gateway.url))
    yield remote
    remote.close()


class TestReading:
    def test_gives_the_whole_text_with_its_hash_and_size(self, workspace: Workspace) -> None:
        text = workspace.read_file("./src/deep/notes.md")
        assert (text.path, text.content) == ("src/deep/notes.md", "日本語のメモ\n")
        assert (text.sha256, text.size) == (sha("日本語のメモ\n"), len("日本語のメモ\n".encode()))

    @pytest.mark.parametrize("content", ["", "\ufeffmarked\r\n", "a\rb\x00c", "𝄞\u2028\U0010ffff"])
    def test_text_comes_back_exactly(self, workspace: Workspace, root: Path, content: str) -> None:
        (root / "odd.txt").write_bytes(content.encode())
        assert workspace.read_file("odd.txt").content == content

    @pytest.mark.parametrize(
        ("path", "error"),
        [
            ("missing.txt", PathNotFound),
            ("no/such/dir.txt", PathNotFound),
            ("../outside.txt", PathEscape),
            ("/etc/passwd.txt", PathRefused),
            ("a\x00b.txt", PathRefused),
            ("src/main.rs", ExtensionRefused),
            (".env.txt", SecretPath),
            ("latin.txt", NotUtf8),
            ("large.txt", TooLarge),
            ("\ud800.txt", MalformedRequest),
            (None, MalformedRequest),
            (7, MalformedRequest),
        ],
    )
    def test_refusals_are_the_same_exceptions(
        self, workspace: Workspace, root: Path, path: str, error: type[WorkspaceError]
    ) -> None:
        (root / "latin.txt").write_bytes(b"\xe9")
        (root / "large.txt").write_bytes(b"x" * 1_001)
        (root / ".env.txt").write_text("KEY=1", encoding="utf-8")
        with pytest.raises(error) as caught:
            workspace.read_file(path)
        assert str(root.parent) not in str(caught.value)


class TestAGatewayWithTheSeedsEndpoints:
    @pytest.mark.slow
    def test_says_where_it_has_not_looked_into_every_folder(self, gateway: Gateway, root: Path) -> None:
        for number in range(MAX_FOLDERS + 5):
            (root / f"d{number:03}").mkdir()
        remote = RemoteWorkspace(gateway.url, trace_id=new_trace_id(), client=WithoutExtras(gateway.url))
        listing, hits = remote.list_files(".", recursive=True), remote.search(".", "alpha")
        remote.close()
        assert (listing.truncated, hits.truncated) == (True, True)
        assert (
            listing.remark == hits.remark == f"Only {MAX_FOLDERS} directories were looked into; choose a smaller one."
        )


class TestRollingBack:
    @pytest.fixture(params=["local", "remote"])
    def workspace(self, request: pytest.FixtureRequest, root: Path) -> Iterator[Workspace]:
        with open_workspace(str(root), POLICY) as local:
            if request.param == "local":
                yield local.for_turn(new_trace_id())
                return
            with gateway_in_thread(local, root) as running:
                remote = RemoteWorkspace(running.url, trace_id=new_trace_id())
                yield remote
                remote.close()

    def test_puts_back_what_the_turn_changed_and_nothing_else(self, workspace: Workspace, root: Path) -> None:
        workspace.for_turn(new_trace_id()).write_file("other.txt", "of another task\n")
        workspace.write_file("a.txt", "changed\n", "overwrite")
        workspace.write_file("new/b.txt", "made\n")
        assert workspace.roll_back() == ("a.txt", "new/b.txt")
        assert (root / "a.txt").read_text() == "alpha\n" and not (root / "new").exists()
        assert (root / "other.txt").read_text() == "of another task\n"

    def test_asked_twice_it_does_it_once(self, workspace: Workspace, root: Path) -> None:
        assert workspace.roll_back() == ()
        workspace.write_file("a.txt", "changed\n", "overwrite")
        assert [workspace.roll_back(), workspace.roll_back()] == [("a.txt",), ()]

    def test_touches_nothing_where_somebody_else_wrote_since(self, workspace: Workspace, root: Path) -> None:
        workspace.write_file("a.txt", "changed\n", "overwrite")
        workspace.write_file("b.txt", "made\n")
        (root / "b.txt").write_text("mine now\n")
        with pytest.raises(Stale, match=r"b\.txt"):
            workspace.roll_back()
        assert (root / "a.txt").read_text() == "changed\n"

    def test_without_a_turn_nothing_is_anybodys(self, root: Path) -> None:
        with open_workspace(str(root), POLICY) as local:
            local.write_file("a.txt", "changed\n", "overwrite")
            assert local.roll_back() == ()

    def test_a_gateway_without_a_journal_is_named_as_such(self, gateway: Gateway) -> None:
        with pytest.raises(NotKept, match="no journal"):
            RemoteWorkspace(gateway.url, client=WithoutExtras(gateway.url)).roll_back()


class TestListing:
    def test_names_the_entries_of_a_folder(self, workspace: Workspace) -> None:
        listing = workspace.list_files("src/")
        assert listing.path == "src"
        assert listing.files == (
            FileEntry("deep", "src/deep", True),
            FileEntry("main.py", "src/main.py", False, 15),
        )

    def test_recursive_names_everything_below_but_git(self, workspace: Workspace) -> None:
        listing = workspace.list_files(recursive=True)
        assert [entry.path for entry in listing.files] == [
            "a.txt",
            "src",
            "src/deep",
            "src/deep/notes.md",
            "src/main.py",
        ]
        assert [entry.is_dir for entry in listing.files] == [False, True, True, False, False]

    def test_extensions_and_caps(self, workspace: Workspace) -> None:
        assert [entry.name for entry in workspace.list_files(extensions=[".txt"]).files] == ["a.txt"]
        assert [entry.name for entry in workspace.list_files("src", recursive=True, extensions=[".md"]).files] == [
            "deep/notes.md"
        ]
        capped = workspace.list_files("src", max_items=1)
        assert len(capped.files) == 1 and capped.truncated and capped.remark

    def test_refusals(self, workspace: Workspace) -> None:
        with pytest.raises(PathNotFound):
            workspace.list_files("nowhere")
        with pytest.raises(PathEscape):
            workspace.list_files("..")
        with pytest.raises(MalformedRequest):
            workspace.list_files(".", max_items=0)


class TestWriting:
    def test_create_tells_what_it_did(self, workspace: Workspace, root: Path) -> None:
        result = workspace.write_file("new/b.txt", "ねこ")
        assert (result.path, result.before, result.after, result.size) == ("new/b.txt", None, sha("ねこ"), 6)
        assert (root / "new" / "b.txt").read_text(encoding="utf-8") == "ねこ"

    def test_overwrite_and_append(self, workspace: Workspace, root: Path) -> None:
        first = workspace.write_file("a.txt", "one\n", "overwrite")
        second = workspace.write_file("a.txt", "two\n", "append")
        assert (first.before, first.after) == (sha("alpha\n"), sha("one\n"))
        assert (second.before, second.after, second.size) == (sha("one\n"), sha("one\ntwo\n"), 8)
        assert (root / "a.txt").read_text(encoding="utf-8") == "one\ntwo\n"

    def test_create_of_an_existing_file(self, workspace: Workspace, root: Path) -> None:
        with pytest.raises(AlreadyExists):
            workspace.write_file("a.txt", "other")
        assert (root / "a.txt").read_text(encoding="utf-8") == "alpha\n"

    def test_bound_to_what_was_seen(self, workspace: Workspace, root: Path) -> None:
        seen = workspace.read_file("a.txt")
        (root / "a.txt").write_text("changed\n", encoding="utf-8")
        with pytest.raises(Stale):
            workspace.write_file("a.txt", "mine", "overwrite", expected=seen.sha256)
        with pytest.raises(Stale):
            workspace.write_file("a.txt", "mine", "overwrite", expected=ABSENT)
        assert (root / "a.txt").read_text(encoding="utf-8") == "changed\n"
        workspace.write_file("a.txt", "mine", "overwrite", expected=sha("changed\n"))
        workspace.write_file("fresh.txt", "", "create", expected=ABSENT)
        assert (root / "a.txt").read_text(encoding="utf-8") == "mine"

    @pytest.mark.parametrize(
        ("path", "content", "mode", "error"),
        [
            ("../x.txt", "x", "create", PathEscape),
            ("x.exe", "x", "create", ExtensionRefused),
            (".git/x.txt", "x", "create", ProtectedPath),
            (".nebula/x.txt", "x", "create", ProtectedPath),
            (".vscode/settings.json", "{}", "create", ProtectedPath),
            ("x.txt", "x" * 1_001, "create", TooLarge),
            ("a.txt", "x" * 1_000, "append", TooLarge),
            ("x.txt", "x", "replace", MalformedRequest),
            ("x.txt", "\udc80", "create", MalformedRequest),
            ("x.txt", None, "create", MalformedRequest),
        ],
    )
    def test_refusals_change_nothing(
        self, workspace: Workspace, root: Path, path: str, content: str, mode: str, error: type[WorkspaceError]
    ) -> None:
        before = sorted(path for path in root.rglob("*") if ".nebula" not in path.parts)
        with pytest.raises(error):
            workspace.write_file(path, content, mode)  # type: ignore[arg-type]
        assert sorted(path for path in root.rglob("*") if ".nebula" not in path.parts) == before
        assert (root / "a.txt").read_text(encoding="utf-8") == "alpha\n"


class TestLooking:
    def test_search(self, workspace: Workspace) -> None:
        assert workspace.search(".", "メモ").files == ("src/deep/notes.md",)
        assert workspace.search("src", "hello").files == ("src/main.py",)
        assert workspace.search(".", "core").files == ()
        with pytest.raises(MalformedRequest):
            workspace.search(".", "")
        with pytest.raises(PathNotFound):
            workspace.search("nowhere", "x")

    def test_search_is_capped_with_a_remark(self, workspace: Workspace, root: Path) -> None:
        for number in range(4):
            (root / f"same{number}.txt").write_text("needle", encoding="utf-8")
        hits = workspace.search(".", "needle", max_files=2)
        assert len(hits.files) == 2 and hits.truncated and hits.remark

    def test_probe(self, workspace: Workspace) -> None:
        assert workspace.probe("a.txt").kind == "file"
        assert workspace.probe("src").kind == "directory"
        assert workspace.probe("nope.txt").kind == "missing"
        assert workspace.probe("src/x.unheard").kind == "missing"
        with pytest.raises(PathEscape):
            workspace.probe("../x.txt")

    def test_check_write_raises_what_the_write_would(self, workspace: Workspace) -> None:
        missing = workspace.check_write("fresh.txt", "create", "x")
        assert (missing.kind, missing.expected) == ("missing", ABSENT)
        present = workspace.check_write("a.txt", "overwrite", "x")
        assert (present.kind, present.expected) == ("file", sha("alpha\n"))
        with pytest.raises(AlreadyExists):
            workspace.check_write("a.txt", "create", "x")
        with pytest.raises(PathEscape):
            workspace.check_write("../a.txt", "create", "x")
        with pytest.raises(ExtensionRefused):
            workspace.check_write("a.exe", "create", "x")


class TestRemoteAlone:
    def test_the_trace_id_is_passed_on(self, gateway: Gateway) -> None:
        trace_id = new_trace_id()
        remote = RemoteWorkspace(gateway.url).for_turn(trace_id)
        remote.read_file("a.txt")
        remote.write_file("b.txt", "x")
        with pytest.raises(PathNotFound):
            remote.read_file("c.txt")
        lines = [line for line in gateway.audited() if line["path"] in {"a.txt", "b.txt", "c.txt"}]
        assert [(line["trace_id"], line["method"], line["status"]) for line in lines] == [
            (trace_id, "read_file", 200),
            (trace_id, "write_file", 200),
            (trace_id, "read_file", 404),
        ]

    def test_a_read_only_one_sends_no_write(self, gateway: Gateway, root: Path) -> None:
        remote = RemoteWorkspace(gateway.url, read_only=True).for_turn(new_trace_id())
        assert remote.read_only
        for attempt in (lambda: remote.write_file("b.txt", "x"), lambda: remote.check_write("b.txt", "create")):
            with pytest.raises(ReadOnly):
                attempt()
        assert not (root / "b.txt").exists()
        assert list(gateway.audited()) == []

    def test_a_secret_file_stays_secret(self, gateway: Gateway, root: Path) -> None:
        (root / ".env.txt").write_text("KEY=1", encoding="utf-8")
        with pytest.raises(SecretPath):
            RemoteWorkspace(gateway.url).read_file(".env.txt")

    def test_token(self, root: Path) -> None:
        with open_workspace(str(root), POLICY) as inner, gateway_in_thread(inner, root, token="s3cret") as gateway:
            assert RemoteWorkspace(gateway.url, "s3cret").read_file("a.txt").content == "alpha\n"
            with pytest.raises(Forbidden, match="EC_TOKEN"):
                RemoteWorkspace(gateway.url, "wrong").read_file("a.txt")

    def test_nobody_there(self) -> None:
        with pytest.raises(GatewayFailed, match="cannot be reached"):
            RemoteWorkspace(refused_url()).read_file("a.txt")

    @each_row("url", ["ftp://x", "http://", "http://a:b@c", "http://h:port", "http://h?q=1"])
    def test_an_address_that_is_none(self, url: str) -> None:
        with pytest.raises(MalformedRequest, match="EC_MCP_URL"):
            RemoteWorkspace(url)

    def test_a_connection_closed_while_idle_is_replaced(self, root: Path) -> None:
        with open_workspace(str(root), POLICY) as inner:
            with gateway_in_thread(inner, root) as gateway:
                remote = RemoteWorkspace(gateway.url)
                remote.write_file("a.txt", "1\n", "append")
                remote.write_file("a.txt", "2\n", "append")
                assert len(remote._client._idle) == 1, "one connection serves one caller"
            assert all(_dropped(connection) for connection in remote._client._idle)
            with gateway_in_thread(inner, root, at=gateway.port):
                remote.write_file("a.txt", "3\n", "append")
        assert (root / "a.txt").read_text(encoding="utf-8") == "alpha\n1\n2\n3\n"

    def test_many_threads_share_it(self, gateway: Gateway, root: Path) -> None:
        remote = RemoteWorkspace(gateway.url)
        (root / "lines.txt").write_text("", encoding="utf-8")

        def add(number: int) -> None:
            remote.for_turn(new_trace_id()).write_file("lines.txt", f"{number}\n", "append")

        threads = [threading.Thread(target=add, args=(number,)) for number in range(40)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(map(int, (root / "lines.txt").read_text(encoding="utf-8").split())) == list(range(40))


class TestStrangers:
    """Servers that are no gateway, or one with other manners."""

    def test_something_else_answers(self, tmp_path: Path) -> None:
        with _stranger(404, b"<html>", "text/html") as url, pytest.raises(GatewayFailed, match="another server"):
            RemoteWorkspace(url).read_file("a.txt")

    def test_other_words_for_the_same_codes(self) -> None:
        for status, error in ((404, PathNotFound), (409, AlreadyExists), (413, TooLarge), (415, NotUtf8)):
            body = b'{"detail": "no"}'
            with _stranger(status, body, "application/json") as url, pytest.raises(error, match="no"):
                RemoteWorkspace(url).read_file("a.txt")

    def test_an_answer_without_its_field(self) -> None:
        with _stranger(200, b'{"contents": "x"}', "application/json") as url, pytest.raises(GatewayFailed):
            RemoteWorkspace(url).read_file("a.txt")


@contextmanager
def _stranger(status: int, body: bytes, kind: str) -> Iterator[str]:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            for phase in ("startup", "shutdown"):
                await receive()
                await send({"type": f"lifespan.{phase}.complete"})
            return
        headers = [(b"content-type", kind.encode()), (b"content-length", str(len(body)).encode())]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    listener = listen("127.0.0.1", 0)
    with served(app, listener):
        yield listener.url
