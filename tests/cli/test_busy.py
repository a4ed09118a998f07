"""What a terminal says while a command works and has nothing to print yet."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from conftest import Bench
from in_process import run_here
from scripted_model import Fault, ScriptedModel, Turn
from slow_git import hurry_git, slow_git
from terminal_driver import CTRL_D, Terminal

pytestmark = pytest.mark.slow


class SlowServer:
    """Lists its models only when somebody lets it."""

    def __init__(self) -> None:
        self.go_on = threading.Event()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.go_on.wait()
                body = b'{"data": [{"id": "some-model"}], "models": [{"name": "some-model"}]}'
                self.send_response(200)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        threading.Thread(target=self._http.serve_forever).start()

    def close(self) -> None:
        self.go_on.set()
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def slow_server() -> Iterator[SlowServer]:
    server = SlowServer()
    yield server
    server.close()


def at_terminal(bench: Bench, *argv: str, **env: str) -> Terminal:
    return Terminal(bench.argv("nebula", *argv), bench.project, bench.env(TERM="xterm-256color", **env))


@pytest.mark.parametrize(
    ("argv", "lang", "meanwhile"),
    [
        (("models",), "en", "working · 0 s"),
        (("models", "--json"), "ja", "作業中 · 0 秒"),
        (("doctor",), "en", "asking the providers · 0 s"),
        (("-p", "hi"), "en", "working · 0 s"),
    ],
)
def test_a_server_that_takes_its_time(
    bench: Bench, slow_server: SlowServer, argv: tuple[str, ...], lang: str, meanwhile: str
) -> None:
    with at_terminal(bench, *argv, NEBULA_LANG=lang, OLLAMA_HOST=slow_server.address) as screen:
        screen.wait(meanwhile)
        slow_server.go_on.set()
        screen.ended()
        assert meanwhile.partition(" · ")[0] not in screen.text  # it is gone with the first word


def test_a_session_that_opens_slowly(bench: Bench, slow_server: SlowServer) -> None:
    with at_terminal(bench, OLLAMA_HOST=slow_server.address) as screen:
        screen.wait("opening the session · 0 s")
        slow_server.go_on.set()
        screen.prompt()
        assert "opening the session" not in screen.text
        screen.send(CTRL_D)
        assert screen.ended() == 0


def test_one_task_speaks_while_its_context_is_built(bench: Bench) -> None:
    path, _ = slow_git(bench, 1.5)
    with ScriptedModel([Turn("Done.")]) as server, at_terminal(bench, "-p", "x", PATH=path, **server.env()) as screen:
        screen.wait("looking at the project · ")
        hurry_git(bench)
        assert not server.turns
        screen.wait("Done.")
        assert screen.ended() == 0 and "looking" not in screen.text


def test_one_task_says_that_it_waits_for_a_hook_at_its_end(bench: Bench) -> None:
    config = bench.home / ".nebula/config.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"hooks": {"turn_end": ["sleep 1"]}}))
    with ScriptedModel([Turn("Done.")]) as server, at_terminal(bench, "-p", "x", **server.env()) as screen:
        screen.wait("finishing · ")
        assert "Done." in screen.text
        assert screen.ended() == 0 and "finishing" not in screen.text


def test_the_line_is_there_again_after_a_remark(bench: Bench) -> None:
    config = bench.home / ".nebula/config.json"
    config.parent.mkdir(exist_ok=True)
    config.write_text(json.dumps({"mcp_servers": {"lost": {"command": "no-such-program"}}}))
    server, argv = ScriptedModel([Turn("Done.", fault=Fault.slow(1))]), ("-p", "x", "--output-format", "json")
    with server, at_terminal(bench, *argv, **server.env()) as screen:
        screen.wait("The MCP server lost cannot be used")
        screen.wait("working · ")
        screen.wait('"final"')
        assert screen.ended() == 0 and "working" not in screen.text


def test_one_task_counts_down_until_the_model_is_asked_again(bench: Bench) -> None:
    limited = Fault.status_code(429, retry_after="2")
    with ScriptedModel([limited, Turn("Done.")]) as server, at_terminal(bench, "-p", "x", **server.env()) as screen:
        screen.wait("nebula: rate limited, again in 2 s, 2 of 4")
        screen.wait("⠋ rate limited, again in ")
        screen.wait("Done.")
        assert screen.ended() == 0


def test_one_task_says_that_its_summary_is_written(bench: Bench) -> None:
    bench.write(".nebula/config.json", '{"auto_summary": true}')
    server = ScriptedModel([Turn("Done."), Turn("A summary.", fault=Fault.slow(1))])
    with server, at_terminal(bench, "-p", "x", **server.env()) as screen:
        screen.wait("Summarising this turn")
        screen.wait("writing summaries · 0 s")
        assert screen.ended() == 0 and "writing summaries" not in screen.text


def test_no_word_of_it_reaches_a_pipe(bench: Bench, slow_server: SlowServer) -> None:
    slow_server.go_on.set()
    ran = run_here(bench, "nebula", "models", OLLAMA_HOST=slow_server.address)
    assert "working" not in ran.err + ran.out and "some-model" in ran.out


def test_what_is_written_line_by_line_comes_after_it(bench: Bench) -> None:
    bench.write("a.txt", "one\ntwo\n")
    path, _ = slow_git(bench, 1.5)
    with at_terminal(bench, "blame", "a.txt", PATH=path) as screen:
        screen.wait("working · ")
        hurry_git(bench)
        assert screen.ended() == 0
    assert [line.split()[-1] for line in screen.lines] == ["one", "two"]


def test_an_index_that_is_built_slowly(bench: Bench) -> None:
    path, _ = slow_git(bench, 1.5)
    with at_terminal(bench, "index", "sync", PATH=path) as screen:
        screen.wait("reading the files · ")
        hurry_git(bench)
        screen.wait("files indexed, 0 removed, 0 renamed")
        assert screen.ended() == 0 and "reading" not in screen.text
