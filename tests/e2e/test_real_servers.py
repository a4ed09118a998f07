"""Five MCP servers of others, configured and used as a user would. The model sees what they answer."""

from __future__ import annotations

import http.server
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from conftest import BIN, Bench
from in_process import run_here, sit_down_here
from scripted_model import Call, ScriptedModel, Turn
from terminal_driver import Person

pytestmark = pytest.mark.slow

SCRIPTS = Path(__file__).parents[2] / "node_modules" / "@modelcontextprotocol"
NODE = shutil.which("node") or str(BIN / "node")


def script(name: str) -> tuple[str, str]:
    return NODE, str(SCRIPTS / f"server-{name}" / "dist" / "index.js")


def add(bench: Bench, name: str, *command: str, **env: str) -> None:
    """Configure the server, and see that its tools are found."""
    variables = [word for key, value in env.items() for word in ("--env", f"{key}={value}")]
    added = run_here(bench, "nebula", "mcp", "add", name, *variables, "--", *command)
    assert added.code == 0, added.err
    tested = run_here(bench, "nebula", "mcp", "test", name)
    assert tested.code == 0 and f"✓ {name}" in tested.out, tested.out + tested.err


def results(bench: Bench, name: str, *calls: tuple[str, dict[str, Any]]) -> tuple[list[str], dict[str, Any]]:
    """Return what the model is told of each call, made one after the other, and its last request."""
    turns = [Turn("", [Call(f"{name}__{tool}", args)]) for tool, args in calls]
    with ScriptedModel([*turns, Turn("Done.")]) as server:
        ran = run_here(bench, "nebula", "-p", "use it", "--yes", **server.env())
        request: dict[str, Any] = server.turns[-1].json
    assert (ran.code, ran.out) == (0, "Done.\n"), ran.err
    return [each["content"] for each in request["messages"] if each["role"] == "tool"], request


def test_everything(bench: Bench) -> None:
    add(bench, "every", *script("everything"))
    said, request = results(
        bench,
        "every",
        ("echo", {"message": "hello"}),
        ("get-tiny-image", {}),
        ("get-structured-content", {"location": "New York"}),
        ("get-resource-links", {"count": 2}),
        ("readResource", {}),
        ("readResource", {"uri": "demo://resource/dynamic/text/1"}),
        ("readResource", {"uri": "nobody://nothing"}),
        ("get-sum", {"a": "no number"}),
    )
    echo, image, structured, links, listed, resource, missing, wrong = said
    assert echo == "Echo: hello"
    assert "image/png" in image and "shown below the results" in image
    assert [each for each in request["messages"] if "image_url" in str(each["content"])]
    assert '"temperature"' in structured and links.count("(a resource: ") == 2
    assert "demo://resource" in listed and "Resource 1" in resource
    assert '{"error":' in missing and '{"error":' in wrong


def test_the_prompts_and_the_progress_of_everything(bench: Bench) -> None:
    def person(screen: Person) -> None:
        screen.prompt()
        screen.line("/every__args-prompt city=Kyoto")
        screen.wait("Kyoto")
        screen.wait("Rainy.")
        screen.prompt(times=2)
        screen.line("work")
        screen.wait("every__trigger-long-running-operation: 1/4")
        screen.wait("Worked.")
        screen.prompt(times=3)
        screen.line("exit")

    add(bench, "every", *script("everything"))
    work = Call("every__trigger-long-running-operation", {"duration": 4, "steps": 4})
    with ScriptedModel([Turn("Rainy."), Turn("", [work]), Turn("Worked.")]) as server:
        sit_down_here(bench, person, "--yes", **server.env())
        first, *_, last = server.turns
    assert "Kyoto" in str(first.json["messages"][-1])
    assert "completed" in str(last.json["messages"][-1])


def test_filesystem(bench: Bench) -> None:
    path = bench.write("a.txt", "of a file\n")
    add(bench, "files", *script("filesystem"), str(bench.project))
    listed, read, outside = results(
        bench,
        "files",
        ("list_directory", {"path": str(bench.project)}),
        ("read_text_file", {"path": str(path)}),
        ("read_text_file", {"path": "/etc/hostname"}),
    )[0]
    assert "a.txt" in listed and "of a file" in read
    assert '{"error":' in outside and "denied" in outside


def test_memory(bench: Bench, tmp_path: Path) -> None:
    add(bench, "memory", *script("memory"), MEMORY_FILE_PATH=str(tmp_path / "memory.jsonl"))
    entity = {"name": "nebula", "entityType": "agent", "observations": ["it remembers"]}
    calls = ("create_entities", {"entities": [entity]}), ("search_nodes", {"query": "nebula"})
    created, found = results(bench, "memory", *calls)[0]
    assert "nebula" in created and "it remembers" in found
    again = results(bench, "memory", ("search_nodes", {"query": "nebula"}))[0]
    assert again == [found], "in a session of its own, with a server of its own"


def test_git(bench: Bench) -> None:
    git = ["git", "-C", str(bench.project), "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "init", "--quiet", bench.project], check=True)
    subprocess.run([*git, "commit", "--quiet", "--allow-empty", "-m", "the first one"], check=True)
    bench.write("a.txt", "new\n")
    add(bench, "git", str(BIN / "mcp-server-git"))
    here = {"repo_path": str(bench.project)}
    log, status, nowhere = results(
        bench, "git", ("git_log", here), ("git_status", here), ("git_log", {"repo_path": "/nowhere"})
    )[0]
    assert "the first one" in log and "a.txt" in status and '{"error":' in nowhere


def test_fetch(bench: Bench) -> None:
    with page() as url:
        add(bench, "fetch", str(BIN / "mcp-server-fetch"), "--ignore-robots-txt", "--allow-private-ips")
        fetched, raw, closed = results(
            bench,
            "fetch",
            ("fetch", {"url": url}),
            ("fetch", {"url": url, "raw": True, "max_length": 20}),
            ("fetch", {"url": "http://127.0.0.1:9/"}),
        )[0]
    assert "A page" in fetched and "<h1>" not in fetched
    assert "<html>" in raw and '{"error":' in closed


@contextmanager
def page() -> Iterator[str]:
    class OnePage(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(b"<html><body><h1>A page</h1><p>with words</p></body></html>")

        def log_message(self, *_: Any) -> None:
            return

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), OnePage) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
