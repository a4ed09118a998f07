"""The gateway under weight: large bodies, many at once, and kill -9 while it writes."""

from __future__ import annotations

import json
import os
import random
import signal
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPException
from pathlib import Path

import pytest

from gateway_rig import Gateway, gateway_command

pytestmark = pytest.mark.slow

JSON = {"content-type": "application/json"}
MIB = 1 << 20


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "app"
    folder.mkdir()
    return folder


def peak_memory(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) * 1024
    raise AssertionError("this system tells no peak memory")


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="reads /proc")
def test_a_body_of_64_mib_does_not_stay_in_memory(root: Path) -> None:
    with gateway_command(root) as gateway:
        assert gateway.process is not None
        gateway.post("read_file", {"path": "none.txt"})
        before = peak_memory(gateway.process.pid)
        host = f"host: 127.0.0.1:{gateway.port}\r\ncontent-type: application/json\r\n"
        for framing in (f"content-length: {64 * MIB}\r\n", "transfer-encoding: chunked\r\n"):
            with socket.create_connection(("127.0.0.1", gateway.port), timeout=60) as connection:
                connection.sendall(f"POST /write_file HTTP/1.1\r\n{host}{framing}\r\n".encode())
                piece = b"x" * MIB
                for _ in range(64):
                    connection.sendall(piece if "length" in framing else b"100000\r\n" + piece + b"\r\n")
                if "chunked" in framing:
                    connection.sendall(b"0\r\n\r\n")
                assert connection.recv(65_536).startswith(b"HTTP/1.1 413")
        assert peak_memory(gateway.process.pid) - before < 64 * MIB
        assert [line["status"] for line in gateway.audited()] == [404, 413, 413]
        assert gateway.ask("GET", "/healthz").status == 200


def test_200_appends_at_once_are_200_lines(root: Path) -> None:
    with gateway_command(root) as gateway:
        body = [{"path": "lines.txt", "content": f"line {number}\n", "mode": "append"} for number in range(200)]
        with ThreadPoolExecutor(32) as threads:
            statuses = list(threads.map(lambda asked: gateway.post("write_file", asked).status, body))
        assert statuses == [200] * 200
        lines = (root / "lines.txt").read_text(encoding="utf-8").splitlines()
        assert sorted(lines) == sorted(f"line {number}" for number in range(200))
        assert len(gateway.audited()) == 200


def test_one_winner_for_each_create(root: Path) -> None:
    with gateway_command(root) as gateway:
        for round_ in range(5):
            asked = [{"path": f"new{round_}.txt", "content": str(n), "mode": "create"} for n in range(16)]
            with ThreadPoolExecutor(16) as threads:
                statuses = list(threads.map(lambda body: gateway.post("write_file", body).status, asked))
            assert sorted(statuses) == [200] + [409] * 15
            assert (root / f"new{round_}.txt").read_text(encoding="utf-8") == str(statuses.index(200))


class Writer(threading.Thread):
    """Writes one file over and over, whole versions only, and remembers what was acknowledged."""

    def __init__(self, port: int, name: str, first: int) -> None:
        super().__init__(daemon=True)
        self.port = port
        self.path = name
        self.acknowledged = self.tried = first

    def run(self) -> None:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            while True:
                self.tried += 1
                body = json.dumps({"path": self.path, "content": version(self.tried), "mode": "overwrite"})
                connection.request("POST", "/write_file", body, JSON)
                if connection.getresponse().read() and connection.sock is not None:
                    self.acknowledged = self.tried
        except (OSError, HTTPException):
            return  # it was killed, as planned
        finally:
            connection.close()


def version(number: int) -> str:
    return f"{number}\n" + f"{number:08d}" * 2_000 + f"\n{number}"


def version_of(text: str) -> int:
    number = int(text.partition("\n")[0])
    assert text == version(number), "a torn file"
    return number


def test_kill_9_while_writing(root: Path) -> None:
    chance = random.Random(7)
    newest = {"one.txt": 0, "two.txt": 0}
    for kill in range(30):
        with gateway_command(root) as gateway:
            assert gateway.process is not None
            writers = [Writer(gateway.port, name, newest[name]) for name in newest]
            for writer in writers:
                writer.start()
            while any(writer.acknowledged == newest[writer.path] and writer.is_alive() for writer in writers):
                time.sleep(0.001)  # each writes once at least, however slow the machine is
            time.sleep(chance.random() * 0.25)
            gateway.process.send_signal(signal.SIGKILL)
            gateway.process.wait()
            for writer in writers:
                writer.join(60)
        for writer in writers:
            file = root / writer.path
            if writer.acknowledged == 0 and not file.exists():
                continue
            found = version_of(file.read_text(encoding="utf-8"))
            assert writer.acknowledged <= found <= writer.tried, f"kill {kill}: an acknowledged write was lost"
            newest[writer.path] = found
    assert min(newest.values()) >= 30
    with gateway_command(root) as gateway:
        gateway.post("write_file", {"path": "last.txt", "content": "", "mode": "create"})
    assert sorted(os.listdir(root)) == [".nebula", "last.txt", "one.txt", "two.txt"]
    staging = root / ".nebula" / "journal" / "staging"
    assert not staging.exists() or not list(staging.iterdir()), "litter of the killed ones stayed"
    for line in (root / ".nebula" / "audit.jsonl").read_text(encoding="utf-8").splitlines():
        json.loads(line)


def mixed(number: int, chance: random.Random) -> tuple[str, dict[str, object], frozenset[int]]:
    name = f"d{number % 7}/f{number % 50}.txt"
    kind = chance.randrange(10)
    if kind < 4:
        return "read_file", {"path": name}, frozenset({200, 404})
    if kind < 6:
        return "list_files", {"path": f"d{number % 7}"}, frozenset({200, 404})
    if kind < 8:
        return "write_file", {"path": name, "content": f"{number}\n" * 50, "mode": "overwrite"}, frozenset({200})
    if kind < 9:
        return "write_file", {"path": f"new/{number}.md", "content": "x", "mode": "create"}, frozenset({200})
    return "read_file", {"path": chance.choice(["../x.txt", "x.exe", ".git/config", 7])}, frozenset({400, 403, 422})


def test_10_000_mixed_requests_64_at_once(root: Path) -> None:
    total, at_once = 10_000, 64
    with gateway_command(root) as gateway:
        failures: list[str] = []
        statuses: Counter[int] = Counter()
        threads = [
            threading.Thread(
                target=_send_share, args=(gateway, range(first, total, at_once), statuses, failures.append)
            )
            for first in range(at_once)
        ]
        started = time.monotonic()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(380)
        seconds = time.monotonic() - started
        assert not any(thread.is_alive() for thread in threads), "a request hangs"
        assert failures == []
        assert statuses.total() == total
        assert len(gateway.audited()) == total
    print(f"\n{total} requests, {at_once} at once: {total / seconds:.0f}/s, {dict(statuses)}")


def _send_share(gateway: Gateway, share: range, statuses: Counter[int], fail: Callable[[str], None]) -> None:
    chance = random.Random(share.start)
    connection = HTTPConnection("127.0.0.1", gateway.port, timeout=120)
    for number in share:
        endpoint, body, good = mixed(number, chance)
        try:
            connection.request("POST", f"/{endpoint}", json.dumps(body), JSON)
            response = connection.getresponse()
            answer = response.read()
        except (OSError, HTTPException) as problem:
            fail(f"{endpoint} {body}: {problem!r}")
            return
        statuses[response.status] += 1
        if response.status not in good:
            fail(f"{endpoint} {body}: {response.status} {answer[:200]!r}")
    connection.close()
