"""Real gateways for tests: one in a thread, quick to start, and one as the command itself."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import uvicorn

from nebula.server.asgi import App
from nebula.server.connections import ConnectionLimits, LimitedConfig
from nebula.server.gateway.app import create_gateway
from nebula.server.serving import Listener, listen, rules_for
from nebula.workspace.audit import AuditLog
from nebula.workspace.contract import Workspace

STARTING_S = 60.0
MIB = 1 << 20
EXTENSIONS = (".py", ".md", ".txt", ".json", ".yaml", ".yml")
"""The default of EC_ALLOW_EXT."""
SEEN_BY_THEN = 5
"""Rounds of the event loop until a connection that its client has closed is known to be."""


@dataclass(frozen=True)
class Reply:
    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def code(self) -> str:
        """Of an error; checks its form on the way."""
        error = self.json["error"]
        assert set(self.json) == {"error"} and set(error) == {"code", "message", "trace_id"}
        assert error["trace_id"] == self.headers["x-trace-id"]
        return str(error["code"])


@dataclass
class Gateway:
    port: int
    root: Path
    audit: Path
    token: str = ""
    process: subprocess.Popen[str] | None = None
    _local: threading.local = field(default_factory=threading.local)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def ask(self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None) -> Reply:
        """One request on a connection of its own."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body, dict(headers or {}))
            response = connection.getresponse()
            found = {name.lower(): value for name, value in response.getheaders()}
            return Reply(response.status, found, response.read())
        finally:
            connection.close()

    def post(self, endpoint: str, body: Any, headers: Mapping[str, str] | None = None) -> Reply:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        own = {"content-type": "application/json"} | ({"authorization": f"Bearer {self.token}"} if self.token else {})
        return self.ask("POST", f"/{endpoint}", data, own | dict(headers or {}))

    def audited(self) -> list[dict[str, Any]]:
        if not self.audit.exists():
            return []
        return [json.loads(line) for line in self.audit.read_text(encoding="utf-8").splitlines()]


class QuickServer(uvicorn.Server):
    """Stops at once; uvicorn's own looks ten times a second and then sleeps, which each test would wait for."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.running = threading.Event()

    async def main_loop(self) -> None:
        self._loop, self._wish = asyncio.get_running_loop(), asyncio.Event()
        await self.on_tick(0)
        self.running.set()
        while not self.should_exit:
            await self._wish.wait()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for _ in range(SEEN_BY_THEN):
            await asyncio.sleep(0)
        if self.server_state.connections or self.server_state.tasks:
            return await super().shutdown(sockets)
        for server in self.servers:
            server.close()
        return await self.lifespan.shutdown()

    def stop(self) -> None:
        self.should_exit = True
        self._loop.call_soon_threadsafe(self._wish.set)


def run_in_thread(
    app: App, listener: Listener, limits: ConnectionLimits | None = None
) -> tuple[QuickServer, threading.Thread]:
    server = QuickServer(LimitedConfig(app, websocket_bytes=MIB, limits=limits))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener.socket]}, daemon=True)
    thread.start()
    assert server.running.wait(STARTING_S), "the server did not start"
    return server, thread


@contextmanager
def served(app: App, listener: Listener, limits: ConnectionLimits | None = None) -> Iterator[None]:
    server, thread = run_in_thread(app, listener, limits)
    try:
        yield
    finally:
        server.stop()
        thread.join(STARTING_S)
        listener.socket.close()


@contextmanager
def gateway_in_thread(
    workspace: Workspace, root: Path, *, token: str = "", at: int = 0, **rules: Any
) -> Iterator[Gateway]:
    listener = listen("127.0.0.1", at)
    audit = root / ".nebula" / "audit.jsonl"
    log = AuditLog("", str(audit))
    app = create_gateway(workspace, rules_for(listener, token=token, **rules), log)
    with served(app, listener):
        yield Gateway(listener.port, root, audit, token)
    log.close()


def start_command(
    *arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None
) -> subprocess.Popen[str]:
    """`evercontext …` as a user starts it, in a process group of its own."""
    code = "import sys; from nebula.cli.evercontext import main; sys.exit(main())"
    cleaned = {name: value for name, value in os.environ.items() if not name.startswith("EC_")}
    return subprocess.Popen(
        [sys.executable, "-P", "-c", code, *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        encoding="utf-8",
        env=cleaned | dict(env or {}),
        cwd=cwd,
    )


@contextmanager
def gateway_command(root: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Gateway]:
    with server_command("gateway", root, *arguments, env=env) as gateway:
        yield gateway


@contextmanager
def server_command(name: str, root: Path, *arguments: str, env: Mapping[str, str] | None = None) -> Iterator[Gateway]:
    """`evercontext gateway` or `evercontext rag`, listening."""
    process = start_command(name, "--root", str(root), "--port", "0", *arguments, env=env)
    try:
        assert process.stdout is not None
        first = process.stdout.readline().strip()
        assert first.startswith("http://"), (first, process.stderr and process.stderr.read())
        audit = Path((env or {}).get("EC_AUDIT_LOG", str(root / ".nebula" / "audit.jsonl")))
        token = (env or {}).get("EC_TOKEN", "")
        yield Gateway(int(first.rpartition(":")[2]), root, audit, token, process)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.communicate()
