"""The project map of an index in a database or on another machine: what was last heard of it, and never a wait."""

from __future__ import annotations

import json
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gateway_rig import server_command
from nebula.agent.code.project_map import OutlineFetch, map_readers, project_map
from nebula.config import Settings
from nebula.events import EventStream, Final, Notice, Task
from nebula.language import Sentence
from nebula.tools.code.code_index import RemoteCode, open_index
from nebula.tools.code.code_outline import NAME
from nebula.value import replace
from scripted_model import Call, ScriptedModel, Turn

if TYPE_CHECKING:
    from conftest import Bench

TRACE = "0192f0c1-2345-7abc-8def-0123456789ab"
HEADING = "# The files that count most"

pytestmark = pytest.mark.slow


@pytest.fixture
def files(bench: Bench) -> Path:
    bench.write("core.py", "def heart():\n    pass\n\n\nclass Engine:\n    pass\n")
    for number in range(60):
        bench.write(f"part{number}.py", f"from core import heart\n\n\ndef helper_{number}():\n    heart()\n")
    bench.write("windmill.py", "def grind_flour():\n    pass\n")
    return bench.project


@pytest.fixture
def in_database(files: Path, tmp_path: Path, postgres_url: str) -> Settings:
    return Settings(root=str(files), home=str(tmp_path / "home"), index_url=postgres_url)


def hears_the_model(reader: OutlineFetch) -> None:
    """One turn, as far as the reader's thread is done."""
    stream = EventStream("session", recorders=(reader,))
    stream.emit(Task("go", "agent", "m", "p"))
    stream.emit(Notice(Sentence("The model is asked now.")))
    assert reader.thread is None, "the request goes first"
    stream.emit(Final("first", "ok", 0))
    started = reader.thread
    assert started is not None
    stream.emit(Final("second", "ok", 0))
    assert reader.thread is started, "once a turn"
    started.join(60)
    assert not started.is_alive()


def test_of_a_database_it_is_what_a_sync_left(in_database: Settings, files: Path) -> None:
    with open_index(in_database) as index:
        assert project_map(in_database, "hello", ()) == ()
        index.sync()
        lines = project_map(in_database, "hello", ())
        assert lines[0] == "core.py: heart, Engine"
        assert len("\n".join(lines).encode()) <= 4_000
        assert "windmill.py: grind_flour" in project_map(in_database, "How is flour ground in the windmill?", ())[:2]
        assert "windmill.py: grind_flour" in project_map(in_database, "風車 windmill の処理", ())[:2]
        assert "part57.py: helper_57" in project_map(in_database, "hello", ["part57.py"])[:2]
        (files / "core.py").unlink()
        assert "core.py: heart, Engine" not in project_map(in_database, "hello", ()), "what is gone is not shown"
        (files / "sail.py").write_text("def sail():\n    pass\n")
        index.sync()
        assert "sail.py: sail" in project_map(in_database, "sail", ()), "left anew"


def test_of_a_database_that_others_keep_in_step_the_next_turn_has_it(in_database: Settings, tmp_path: Path) -> None:
    with open_index(in_database) as index:
        index.sync()
    elsewhere = replace(in_database, home=str(tmp_path / "other"))
    (reader,) = map_readers(elsewhere)
    assert isinstance(reader, OutlineFetch)
    assert project_map(elsewhere, "hello", ()) == ()
    hears_the_model(reader)
    assert project_map(elsewhere, "hello", ())[0] == "core.py: heart, Engine"


def search(settings: Settings) -> None:
    """As the tool does, and waits for what is asked in passing."""
    code = RemoteCode(settings)
    try:
        code.search("heart", 1, "", TRACE)
    finally:
        if code.asking is not None:
            code.asking.join(60)
        code.close()


def test_of_a_server_it_is_there_after_a_search(files: Path, tmp_path: Path) -> None:
    settings = Settings(root=str(files), home=str(tmp_path / "home"), token="s3cret")
    env = {"EC_TOKEN": "s3cret", "NEBULA_HOME": str(tmp_path / "there")}
    with server_command("rag", files, env=env) as rag:
        settings = replace(settings, rag_url=rag.url)
        assert map_readers(settings) == ()
        assert project_map(settings, "hello", ()) == ()
        search(settings)
        assert project_map(settings, "hello", ())[0] == "core.py: heart, Engine"
        assert "windmill.py: grind_flour" in project_map(settings, "grind flour", ())[:2]
        assert project_map(replace(settings, rag_url=f"{rag.url}/other"), "hello", ()) == (), "of another server"
        (file,) = Path(settings.home).rglob(NAME)
        before = file.stat().st_ino
        search(settings)
        assert file.stat().st_ino == before, "the same state is not asked for again"
        (files / "sail.py").write_text("def sail():\n    pass\n")
        rag.post("ingest", {"paths": ["sail.py"]}, {"authorization": "Bearer s3cret"})
        search(settings)
        assert "sail.py: sail" in project_map(settings, "sail", ())
        assert {(line["trace_id"], line["method"]) for line in rag.audited()} >= {(TRACE, "search"), (TRACE, "outline")}


def test_a_server_that_names_no_state_is_asked_for_nothing_more(files: Path, tmp_path: Path) -> None:
    asked = []

    class Seed(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers["content-length"]))
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"chunks": []}')

        def log_message(self, *_: object) -> None: ...

    with HTTPServer(("127.0.0.1", 0), Seed) as server:
        serving = threading.Thread(target=server.serve_forever)
        serving.start()
        try:
            url = f"http://127.0.0.1:{server.server_port}"
            settings = Settings(root=str(files), home=str(tmp_path / "home"), rag_url=url)
            search(settings)
        finally:
            server.shutdown()
            serving.join()
    assert asked == ["/search"]
    assert project_map(settings, "hello", ()) == ()


@pytest.mark.parametrize(
    "kept", [b"", b"{", b"[]", b'{"source": 1}', b'{"files": [[1]], "source": "SOURCE", "mark": 1}']
)
def test_a_damaged_copy_is_none(in_database: Settings, kept: bytes) -> None:
    with open_index(in_database) as index:
        index.sync()
    (file,) = Path(in_database.home).rglob(NAME)
    file.write_bytes(kept.replace(b"SOURCE", json.loads(file.read_text())["source"].encode()))
    assert project_map(in_database, "hello", ()) == ()


def test_a_turn_does_not_wait_for_a_server_that_does_not_answer(bench: Bench, files: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, ScriptedModel([Turn("ok")]) as model:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        ran = bench.run("nebula", "-p", "hello", EC_RAG_URL=url, timeout=30, **model.env())
        assert (ran.code, ran.out) == (0, "ok\n"), ran.err
        assert HEADING not in model.turns[0].json["messages"][0]["content"]


def test_a_turn_after_a_sync_has_the_map_at_once(bench: Bench, files: Path, postgres_url: str) -> None:
    assert bench.run("nebula", "index", "sync", EC_INDEX_URL=postgres_url).code == 0
    call = Turn("", [Call("searchCode", {"query": "windmill", "top_k": 1})])
    with ScriptedModel([call, Turn("ok")]) as model:
        ran = bench.run("nebula", "-p", "hello", EC_INDEX_URL=postgres_url, **model.env())
        assert ran.code == 0, ran.err
        sent = model.turns[0].json["messages"][0]["content"]
    assert sent.partition(HEADING)[2].splitlines()[2] == "core.py: heart, Engine"
