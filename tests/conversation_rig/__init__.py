"""The conversation server as a real process, and a WebSocket client to talk to it.

with serving(bench, "nebula", **model.env()) as server:
    async with talk(server) as client:
        node = await client.ask("create_node", prompt="question", response="answer")
        event = await client.event("node_created")
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

from websockets.asyncio.client import ClientConnection, connect

PATIENCE_S = 60.0
"""Much more than a busy machine takes, less than a test may."""
_MAINS = {
    "nebula": "import sys; from nebula.cli.nebula import main; sys.exit(main(['serve', *sys.argv[1:]]))",
    "vizprompt": (
        "import sys; from nebula.cli.vizprompt import main; "
        "sys.exit(main(['--data-dir', 'data', 'serve', *sys.argv[1:]]))"
    ),
}


@dataclass
class Server:
    process: subprocess.Popen[bytes]
    address: str
    """The first line it printed."""
    errors: list[bytes] = field(default_factory=list)

    @property
    def port(self) -> int:
        return urlsplit(self.address).port or 0

    @property
    def host(self) -> str:
        return urlsplit(self.address).netloc

    @property
    def token(self) -> str:
        return unquote(urlsplit(self.address).fragment.removeprefix("token="))

    @property
    def socket_url(self) -> str:
        return f"ws://{self.host}/"

    def stop(self, number: int = signal.SIGTERM) -> int:
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.process.wait(60)


def command(kind: str, *args: str) -> list[str]:
    return [sys.executable, "-c", _MAINS[kind], *args]


@contextmanager
def serving(bench: Any, kind: str, *args: str, **env: str) -> Iterator[Server]:
    process = subprocess.Popen(
        command(kind, "--port", "0", *args),
        cwd=bench.project,
        env=bench.env(**env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    server = Server(process, process.stdout.readline().decode().strip())
    listening = threading.Thread(target=lambda: server.errors.extend(process.stderr or ()))
    listening.start()
    try:
        if not server.address:
            listening.join()
            raise AssertionError(f"the server did not start: {b''.join(server.errors).decode()}")
        yield server
    finally:
        server.stop()
        listening.join()
        process.stdout.close()
        process.stderr.close()
    assert server.errors == [], b"".join(server.errors).decode()


class Failed(Exception):
    def __init__(self, error: dict[str, str]) -> None:
        super().__init__(f"{error['code']}: {error['message']}")
        self.code = error["code"]


class Talk:
    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.events: list[dict[str, Any]] = []
        self._count = 0

    async def send(self, action: str, /, **data: Any) -> int:
        self._count += 1
        await self.connection.send(json.dumps({"action": action, "data": data, "id": self._count}))
        return self._count

    async def ask(self, action: str, /, **data: Any) -> dict[str, Any]:
        """The whole answer. Raises Failed for an error."""
        return await self.answer(await self.send(action, **data))

    async def answer(self, number: int | None) -> dict[str, Any]:
        while True:
            message = await self.receive()
            if "event" in message:
                self.events.append(message)
            elif message.get("id") == number:
                if message["status"] == "error":
                    raise Failed(message["error"])
                return message

    async def receive(self, seconds: float = PATIENCE_S) -> dict[str, Any]:
        async with asyncio.timeout(seconds):
            return json.loads(await self.connection.recv())

    async def event(self, *names: str, seconds: float = PATIENCE_S, **match: Any) -> dict[str, Any]:
        """The next event of one of these names whose data matches, with everything else taken off the list."""
        async with asyncio.timeout(seconds):
            while True:
                while self.events:
                    found = self.events.pop(0)
                    same = all(found["data"].get(key) == value for key, value in match.items())
                    if found["event"] in names and same:
                        return found
                message = json.loads(await self.connection.recv())
                assert "event" in message, message
                self.events.append(message)

    async def turn(self, seconds: float = PATIENCE_S) -> list[dict[str, Any]]:
        """Every event up to and including the next `final`."""
        heard = []
        while not heard or heard[-1]["event"] != "final":
            if self.events:
                heard.append(self.events.pop(0))
            else:
                message = await self.receive(seconds)
                assert "event" in message, message
                heard.append(message)
        return heard

    async def quiet(self, seconds: float = 0.3) -> bool:
        """Whether nothing comes for a while."""
        try:
            async with asyncio.timeout(seconds):
                self.events.append(json.loads(await self.connection.recv()))
        except TimeoutError:
            return not self.events
        return False


@asynccontextmanager
async def talk(server: Server, *, path: str = "/", token: str | None = None, **options: Any) -> AsyncIterator[Talk]:
    shown = server.token if token is None else token
    headers = {"Authorization": f"Bearer {shown}"} if shown else {}
    url = f"ws://{server.host}{path}"
    calm = {"open_timeout": PATIENCE_S, "ping_interval": None, **options}
    async with connect(url, additional_headers=headers, proxy=None, max_size=64 << 20, **calm) as connection:
        yield Talk(connection)
