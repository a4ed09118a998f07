"""`evercontext rag` from outside: the real command, real HTTP, real git."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from gateway_rig import Gateway, server_command, start_command
from index.embedding_server import EmbeddingServer
from index.project import Project, function
from nebula.agent.figures.gather import gather
from nebula.agent.figures.kpis import kpis
from nebula.index.in_step.hook import install

TRACE = "0192f0c1-2345-7abc-8def-0123456789ab"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.write("src/light.py", function("lighthouse", "beacon"))
    project.write("src/boat.py", function("anchor"))
    project.write("docs/read.md", "# Harbour\n\nHow the harbour is run.\n")
    project.write(".gitignore", "ignored.py\n")
    project.write("ignored.py", function("lighthouse_ignored"))
    project.write(".env", "LIGHTHOUSE_KEY=abcdefghij\n")
    project.commit()
    return project


@pytest.fixture
def rag(project: Project) -> Iterator[Gateway]:
    with server_command("rag", project.root, env={"NEBULA_HOME": str(project.home)}) as server:
        yield server


def found(rag: Gateway, query: str, **more: Any) -> list[str]:
    reply = rag.post("search", {"query": query, **more})
    assert reply.status == 200, reply.body
    return [chunk["path"] for chunk in reply.json["chunks"]]


def eventually(holds: Callable[[], bool], seconds: float = 60) -> None:
    """Waits for what a thread of the server does by itself."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_search_finds_lines_with_their_evidence(rag: Gateway, project: Project) -> None:
    reply = rag.post("search", {"query": "where is the lighthouse?", "top_k": 1}, {"x-trace-id": TRACE})
    (chunk,) = reply.json["chunks"]
    assert (chunk["path"], chunk["symbol"], chunk["language"]) == ("src/light.py", "lighthouse", "python")
    first, last = (int(end[1:]) for end in chunk["span"].split("-"))
    lines = (project.root / "src/light.py").read_text().splitlines(keepends=True)
    assert chunk["text"] == "".join(lines[first - 1 : last]).removesuffix("\n")
    assert chunk["commit"] == project.git("rev-parse", "HEAD").strip()
    assert chunk["score"] > 0
    assert reply.headers["x-trace-id"] == TRACE
    assert [(each["trace_id"], each["method"], each["status"]) for each in rag.audited()] == [(TRACE, "search", 200)]


def test_filters(rag: Gateway) -> None:
    assert found(rag, "harbour lighthouse", filters={"path_prefix": "docs/"}) == ["docs/read.md"]
    assert all(hit.startswith("src/") for hit in found(rag, "harbour lighthouse", filters={"language": "python"}))


def test_an_outline_names_the_files_that_count_most(rag: Gateway) -> None:
    files = rag.post("outline", {}).json["files"]
    assert {"path": "src/light.py", "symbols": "lighthouse"} in files
    paths = [each["path"] for each in files]
    assert paths == ["src/boat.py", "src/light.py"], "no prose, no settings of tools, nothing secret or ignored"
    asked = rag.post("outline", {"query": "how the harbour is run", "limit": 1}).json["files"]
    assert [each["path"] for each in asked] == ["docs/read.md"]
    recent = rag.post("outline", {"recent": ["src/light.py"], "limit": 1}).json["files"]
    assert [each["path"] for each in recent] == ["src/light.py"]


def test_secret_and_ignored_files_never_appear(rag: Gateway) -> None:
    everything = found(rag, "LIGHTHOUSE_KEY abcdefghij lighthouse_ignored", top_k=100)
    assert not [hit for hit in everything if hit.startswith((".env", "ignored.py"))]
    reply = rag.post("ingest", {"paths": [".env", "ignored.py"]}).json
    assert reply["ingested"] == 0
    assert {each["path"]: each["reason"] for each in reply["skipped"]} == {
        ".env": "it may hold secrets",
        "ignored.py": "it is ignored, or not a plain file",
    }
    assert not [hit for hit in found(rag, "abcdefghij lighthouse_ignored", top_k=100) if hit in (".env", "ignored.py")]


def test_an_edit_is_seen_without_being_announced(rag: Gateway, project: Project) -> None:
    assert found(rag, "lighthouse", top_k=1) == ["src/light.py"]
    project.write("src/light.py", "import sea\n\n\n" + function("lighthouse", "pharos"))
    (chunk,) = rag.post("search", {"query": "lighthouse", "top_k": 1}).json["chunks"]
    assert "pharos_call()" in chunk["text"]
    (project.root / "src/light.py").unlink()
    assert "src/light.py" not in str(found(rag, "lighthouse"))


def test_ingest_answers_when_the_change_is_searchable(rag: Gateway, project: Project) -> None:
    project.write("src/new.py", function("windmill"))
    project.write("src/picture.png", b"\x89PNG\0\0\1")
    project.write("src/huge.py", b"x = 1\n" * 2_000_000)
    reply = rag.post("ingest", {"paths": ["src"]}).json
    assert (reply["ingested"], reply["deleted"], reply["renamed"]) == (3, 0, 0)
    assert {each["path"] for each in reply["skipped"]} == {"src/picture.png", "src/huge.py"}
    assert rag.post("ingest", {"paths": ["src"]}).json == reply, "asked twice it says the same"
    assert found(rag, "windmill", top_k=1) == ["src/new.py"]
    status = rag.ask("GET", "/status").json
    assert (status["files"], status["skipped"], status["ready"]) == (5, 2, True)


def test_a_diff_with_everything_in_it(rag: Gateway, project: Project) -> None:
    project.write("src/added.py", function("windmill"))
    project.write("docs/read.md", "# Quay\n")
    (project.root / "src/boat.py").unlink()
    (project.root / "src/light.py").rename(project.root / "src/tower.py")
    diff = {
        "added": ["src/added.py"],
        "modified": ["docs/read.md"],
        "deleted": ["src/boat.py"],
        "renamed": [{"from": "src/light.py", "to": "src/tower.py"}],
    }
    assert rag.post("ingest", {"diff": diff}).json == {"ingested": 2, "skipped": [], "deleted": 1, "renamed": 1}
    assert found(rag, "lighthouse", top_k=1) == ["src/tower.py"]
    assert found(rag, "anchor") == []


def test_prune(rag: Gateway) -> None:
    assert rag.post("prune", {"paths": ["src"]}).json == {"deleted": 2}
    assert found(rag, "lighthouse anchor") == []
    assert rag.post("ingest", {"paths": ["src/light.py"]}).json["ingested"] == 1
    assert found(rag, "lighthouse", top_k=1) == ["src/light.py"]


def test_a_path_outside_the_root(rag: Gateway) -> None:
    for path in ("../x", "/etc/passwd", "src/../../x", "a\0b"):
        for endpoint in ("ingest", "prune"):
            reply = rag.post(endpoint, {"paths": ["src/light.py", path]})
            assert (reply.status, reply.code) == (400, "path_escape")
    assert found(rag, "lighthouse", top_k=1) == ["src/light.py"], "nothing of the request was done"


MALFORMED = [
    ("search", {"query": "x", "topk": 3}),
    ("search", {"query": "x", "filters": {"prefix": "a"}}),
    ("search", {"query": ""}),
    ("search", {"query": "x", "top_k": 0}),
    ("search", {"query": "x", "top_k": 1_001}),
    ("search", {}),
    ("ingest", {}),
    ("ingest", {"paths": [], "diff": {}}),
    ("ingest", {"diff": {"renamed": [{"from": "a"}]}}),
    ("prune", {"paths": "src"}),
    ("prune", b"{"),
]


def test_malformed_requests(rag: Gateway) -> None:
    for endpoint, body in MALFORMED:
        reply = rag.post(endpoint, body)
        assert (reply.status, reply.code) == (422, "malformed_request"), body


def test_what_is_odd_in_a_question_is_no_error(rag: Gateway) -> None:
    for query in ("\0", "?!", "x" * 100_000, "灯台は何処ですか🏠", "a OR (b", '"'):
        assert rag.post("search", {"query": query}).status == 200


def test_doors_and_guards(rag: Gateway) -> None:
    assert rag.ask("GET", "/healthz").json == {"status": "ok"}
    assert rag.ask("GET", "/nothing").status == 404
    assert rag.ask("GET", "/search").status == 405
    assert rag.post("search", {"query": "x"}, {"origin": "http://127.0.0.1:1"}).status == 403
    assert rag.post("search", {"query": "x"}, {"x-trace-id": "1"}).status == 400
    described = rag.ask("GET", "/openapi.json").json["paths"]
    assert set(described) == {"/ingest", "/prune", "/search", "/outline", "/status", "/healthz"}
    assert b"POST /search" in rag.ask("GET", "/docs").body


def test_the_token(project: Project) -> None:
    env = {"NEBULA_HOME": str(project.home), "EC_TOKEN": "s3cret"}
    with server_command("rag", project.root, env=env) as rag:
        assert rag.ask("GET", "/status").status == 401
        assert rag.ask("GET", "/healthz").status == 200
        assert rag.post("search", {"query": "x"}).status == 200
    refused = start_command("rag", "--root", str(project.root), "--host", "0.0.0.0", "--port", "0")
    assert "EC_TOKEN" in refused.communicate()[1]
    assert refused.returncode == 64


def test_a_running_server_takes_in_commits_by_itself(rag: Gateway, project: Project) -> None:
    install(str(project.root), str(project.home))
    project.write("src/new.py", function("windmill"))
    project.commit()
    eventually(lambda: found(rag, "windmill", top_k=1) == ["src/new.py"])
    project.git("checkout", "-q", "HEAD~1")
    eventually(lambda: rag.ask("GET", "/status").json["files"] == 4)
    project.git("checkout", "-q", "main")
    eventually(lambda: rag.ask("GET", "/status").json["files"] == 5)


def test_vectors_follow_and_a_rename_needs_none(project: Project) -> None:
    with closing(EmbeddingServer()) as embedding:
        config = project.home / "config.json"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text('{"embedder": "openai/some-model"}')
        env = {"NEBULA_HOME": str(project.home), "OPENAI_BASE_URL": f"{embedding.url}/v1", "OPENAI_API_KEY": "k"}
        with server_command("rag", project.root, env=env) as rag:

            def status() -> Any:
                return rag.ask("GET", "/status").json

            eventually(lambda: status()["embedded"] == status()["chunks"] > 0)
            embedded = status()["embedded_total"]
            project.git("mv", "src/light.py", "src/tower.py")
            diff = {"renamed": [{"from": "src/light.py", "to": "src/tower.py"}]}
            assert rag.post("ingest", {"diff": diff}).json["renamed"] == 1
            assert found(rag, "lighthouse", top_k=1) == ["src/tower.py"]
            project.write("src/new.py", function("windmill"))
            rag.post("ingest", {"paths": ["src/new.py"]})
            eventually(lambda: status()["embedded"] == status()["chunks"])
            assert status()["embedded_total"] == embedded + 1, "only the new file's text was sent"


def test_renames_are_measured(rag: Gateway, project: Project) -> None:
    (project.root / "src/boat.py").rename(project.root / "src/ship.py")
    moves = [{"from": "src/boat.py", "to": "src/ship.py"}, {"from": "src/never.py", "to": "src/nowhere.py"}]
    assert rag.post("ingest", {"diff": {"renamed": moves}}, {"x-trace-id": TRACE}).json["renamed"] == 1
    assert [each["renames"] for each in rag.audited() if each["trace_id"] == TRACE] == [{"asked": 2, "held": 1}]
    assert kpis(gather([str(project.root)]))["rename_accuracy"].value == 0.5


@pytest.mark.slow
def test_a_server_that_is_told_to_stop_leaves_its_first_look_at_that(project: Project) -> None:
    for number in range(100):
        project.write(f"many/file{number}.py", function("many", *(f"name_{number}_{each}" for each in range(2_000))))
    with (
        server_command("rag", project.root, env={"NEBULA_HOME": str(project.home)}) as server,
        ThreadPoolExecutor() as asking,
    ):
        answer = asking.submit(server.post, "search", {"query": "name"})
        assert server.ask("GET", "/status").json["ready"] is False
        server.process.send_signal(signal.SIGTERM)
        began = time.monotonic()
        assert server.process.wait(60) == 0
        assert time.monotonic() - began < 8, "requests under way have ten seconds"
        assert answer.result().status == 503
        assert server.process.stderr is not None and server.process.stderr.read() == ""
