"""What the guard costs: gateway beside plain FastAPI (and nginx), workspace beside open(), search beside ripgrep.

    python bench/gateway.py [--rounds 7] [--requests 300]

Servers run as processes of their own on the loopback, all in one run and in turns, so that a busy machine is busy for
each alike. A ratio is the median over the rounds; the bars are those of the project, and a missed one ends in exit 1.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CONNECTIONS = 4
SIZES = {"4 KB": 4_096, "256 KB": 262_144}
SEARCHED_FILES = 6_000
NEEDLE = "needle_in_the_hay"

GATEWAY = """
import sys
from nebula.server.gate import body_limit
from nebula.server.gateway.app import create_gateway
from nebula.server.serving import listen, rules_for, serve
from nebula.workspace.audit import AuditLog
from nebula.workspace.local import open_workspace
from nebula.config import load_settings
from nebula.workspace.guard.judge import Policy
root, audited = sys.argv[1], sys.argv[2] == "audit"
listener = listen("127.0.0.1", 0)
audit = AuditLog.of_project(root) if audited else None
serve(create_gateway(open_workspace(root, Policy(load_settings(root).allow_ext)), rules_for(listener), audit), listener)
"""

PLAIN = """
import json, sys
from pathlib import Path
from fastapi import FastAPI, Request, Response
from nebula.server.serving import listen, serve
texts = {path.name: json.dumps({"content": path.read_text()}).encode() for path in Path(sys.argv[1]).glob("*.txt")}
app = FastAPI()

@app.post("/read_file")
async def read_file(request: Request) -> Response:
    size = int(request.headers["x-size"])
    return Response(texts[f"{size}.txt"], media_type="application/json")

@app.post("/write_file")
async def write_file(request: Request) -> Response:
    await request.body()
    return Response(b'{"status":"ok","path":"w.txt"}', media_type="application/json")

serve(app, listen("127.0.0.1", 0))
"""


@dataclass
class Server:
    name: str
    port: int
    writes: bool = True
    plain_get: bool = False
    pid: int = 0
    cpu_us: dict[str, list[float]] = field(default_factory=dict)
    """Processor time of the server for one request: the figure that a busy machine distorts least."""
    rates: dict[str, list[float]] = field(default_factory=dict)
    latencies: dict[str, list[float]] = field(default_factory=dict)


@contextmanager
def python_server(name: str, code: str, *arguments: str) -> Iterator[Server]:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield Server(name, int(process.stdout.readline().strip().rpartition(":")[2]), pid=process.pid)
    finally:
        process.terminate()
        process.wait()


@contextmanager
def nginx_server(root: Path) -> Iterator[Server]:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    config = root.parent / "nginx.conf"
    config.write_text(
        f"daemon off; pid {root.parent}/nginx.pid; error_log /dev/null; events {{}} http {{ access_log off; "
        f"server {{ listen 127.0.0.1:{port}; root {root}; }} }}",
        encoding="utf-8",
    )
    process = subprocess.Popen(["nginx", "-c", str(config)], stderr=subprocess.DEVNULL)
    try:
        time.sleep(0.5)
        yield Server("nginx (static)", port, writes=False, plain_get=True)
    finally:
        process.terminate()
        process.wait()


def request_for(server: Server, task: str, size: int) -> bytes:
    host = f"Host: 127.0.0.1:{server.port}\r\n"
    if server.plain_get:
        return f"GET /{size}.txt HTTP/1.1\r\n{host}\r\n".encode()
    if task == "read":
        body, path = json.dumps({"path": f"{size}.txt"}).encode(), "/read_file"
    else:
        body = json.dumps({"path": "w.txt", "content": "x" * size, "mode": "overwrite"}).encode()
        path = "/write_file"
    head = f"POST {path} HTTP/1.1\r\n{host}Content-Type: application/json\r\nX-Size: {size}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


def receive(connection: socket.socket) -> None:
    data = connection.recv(1 << 20)
    while b"\r\n\r\n" not in data:
        data += connection.recv(1 << 20)
    head, _, rest = data.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"the server answered {data[:300]!r}")
    length = next(int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    missing = length - len(rest)
    while missing > 0:
        missing -= len(connection.recv(1 << 20))


def cpu_seconds(pid: int) -> float:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def measure(server: Server, task: str, label: str, size: int, requests: int) -> float:
    """Some connections, each with one request under way at any time, as callers are."""
    request = request_for(server, task, size)
    connections = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(CONNECTIONS)]
    latencies = server.latencies.setdefault(f"{task} {label}", [])
    for connection in connections:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(request)
        receive(connection)
    cpu = cpu_seconds(server.pid)
    started = time.perf_counter()
    sent = []
    for connection in connections:
        sent.append(time.perf_counter())
        connection.sendall(request)
    for number in range(requests):
        turn = number % CONNECTIONS
        receive(connections[turn])
        now = time.perf_counter()
        latencies.append(now - sent[turn])
        sent[turn] = now
        connections[turn].sendall(request)
    rate = requests / (time.perf_counter() - started)
    for connection in connections:
        receive(connection)
        connection.close()
    server.cpu_us.setdefault(f"{task} {label}", []).append(
        (cpu_seconds(server.pid) - cpu) / (requests + CONNECTIONS) * 1e6
    )
    server.rates.setdefault(f"{task} {label}", []).append(rate)
    return rate


def bench_servers(root: Path, rounds: int, requests: int) -> list[Server]:
    with ExitStack() as stack:
        servers = [
            stack.enter_context(python_server("gateway", GATEWAY, str(root), "audit")),
            stack.enter_context(python_server("gateway, no audit", GATEWAY, str(root), "silent")),
            stack.enter_context(python_server("plain FastAPI", PLAIN, str(root))),
        ]
        if shutil.which("nginx"):
            servers.append(stack.enter_context(nginx_server(root)))
        for server in servers:
            measure(server, "read", "4 KB", 4_096, 200)
            server.rates.clear()
            server.latencies.clear()
            server.cpu_us.clear()
        for turn in range(rounds):
            for task, (label, size) in ((task, entry) for task in ("read", "write") for entry in SIZES.items()):
                count = requests if size < 100_000 and task == "read" else max(requests // 4, 20)
                for server in servers if turn % 2 else reversed(servers):
                    if task == "read" or server.writes:
                        measure(server, task, label, size, count)
        return servers


def print_servers(servers: list[Server]) -> float:
    plain = next(server for server in servers if server.name == "plain FastAPI")
    print(f"{'':14}{'server':20}{'req/s':>8}{'p50 ms':>9}{'p95 ms':>9}{'p99 ms':>9}{'cpu µs':>9}{'× plain':>9}")
    bar = 0.0
    for task in (f"{kind} {label}" for kind in ("read", "write") for label in SIZES):
        for server in servers:
            if task not in server.rates:
                continue
            cuts = statistics.quantiles(server.latencies[task], n=100)
            ratio = statistics.median(
                mine / theirs for mine, theirs in zip(server.rates[task], plain.rates[task], strict=True)
            )
            if (task, server.name) == ("read 4 KB", "gateway"):
                bar = ratio
            figures = (
                "".join(f"{cuts[at] * 1000:9.2f}" for at in (49, 94, 98))
                + f"{statistics.mean(server.cpu_us[task]):9.0f}"
            )
            print(f"{task:14}{server.name:20}{statistics.median(server.rates[task]):8.0f}{figures}{ratio:9.2f}")
    name = "read 4 KB"
    cpu = statistics.mean(plain.cpu_us[name]) / max(statistics.mean(servers[0].cpu_us[name]), 1e-9)
    print(f"By processor time alone a small read of the gateway has {cpu:.2f} × the rate of plain FastAPI, which")
    print("returns the bytes from memory and writes nothing; the gateway's writes are durable.\n")
    return bar


Work = Callable[[], object]


def in_turns(first: Work, second: Work, rounds: int, repeat: int) -> tuple[float, float, float]:
    """Seconds of each, and the median of their ratio over the rounds."""
    seconds: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for times, work in zip(seconds, (first, second), strict=True):
            started = time.perf_counter()
            for _ in range(repeat):
                work()
            times.append((time.perf_counter() - started) / repeat)
    ratio = statistics.median(a / b for a, b in zip(*seconds, strict=True))
    return statistics.median(seconds[0]), statistics.median(seconds[1]), ratio


def bench_in_process(root: Path, rounds: int) -> dict[str, float]:
    from nebula.workspace.local import open_workspace

    workspace = open_workspace(str(root))
    ratios = {}
    for label, size in SIZES.items():
        path = str(root / f"{size}.txt")

        def bare(path: str = path) -> str:
            with open(path, encoding="utf-8") as file:
                return file.read()

        ours, theirs, ratio = in_turns(lambda size=size: workspace.read_file(f"{size}.txt"), bare, rounds * 3, 300)
        ratios[label] = ratio
        told = f"workspace {ours * 1e6:8.1f} µs   open().read() {theirs * 1e6:8.1f} µs   × {ratio:.2f}"
        print(f"in-process read {label:7}  {told}")
    return ratios


def make_tree(folder: Path) -> None:
    line = "def function_{n}(argument: int) -> int:\n    return argument * {n}  # ordinary text\n"
    for number in range(SEARCHED_FILES):
        place = folder / f"package{number % 60}" / f"part{number % 7}"
        place.mkdir(parents=True, exist_ok=True)
        text = "".join(line.replace("{n}", str(number + extra)) for extra in range(30))
        if number % 400 == 0:
            text += f"{NEEDLE} = 1\n"
        (place / f"module{number}.py").write_text(text, encoding="utf-8")


def bench_search(folder: Path, rounds: int) -> float | None:
    from nebula.workspace.local import open_workspace

    if not shutil.which("rg"):
        print("search: ripgrep is not installed, nothing to compare with")
        return None
    make_tree(folder)
    workspace = open_workspace(str(folder))

    def ripgrep() -> int:
        found = subprocess.run(
            ["rg", "--files-with-matches", "--fixed-strings", "--sort", "none", NEEDLE, "."],
            cwd=folder, capture_output=True, check=True,
        )  # fmt: skip
        return len(found.stdout.splitlines())

    hits = len(workspace.search(".", NEEDLE).files)
    if hits != ripgrep():
        raise SystemExit(f"the search found {hits} files, ripgrep {ripgrep()}")
    ours, theirs, ratio = in_turns(lambda: workspace.search(".", NEEDLE), ripgrep, rounds * 2, 3)
    told = f"workspace {ours * 1e3:8.1f} ms   rg {theirs * 1e3:12.1f} ms   × {ratio:.2f}"
    print(f"search {SEARCHED_FILES} files        {told}")
    return ratio


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--requests", type=int, default=300, help="per round, of the small reads")
    options = parser.parse_args()
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}\n")
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "root"
        root.mkdir()
        for size in SIZES.values():
            (root / f"{size}.txt").write_text("x" * size, encoding="utf-8")
        small_read = print_servers(bench_servers(root, options.rounds, options.requests))
        in_process = bench_in_process(root, options.rounds)["4 KB"]
        searching = bench_search(Path(place) / "tree", options.rounds)
    bars = [
        ("gateway read 4 KB, × plain FastAPI", small_read, ">=", 0.7),
        ("in-process read 4 KB, × open().read()", in_process, "<=", 4.0),
        *([("search, × ripgrep", searching, "<=", 1.5)] if searching is not None else []),
    ]
    print()
    missed = 0
    for name, found, sign, bar in bars:
        good = found >= bar if sign == ">=" else found <= bar
        missed += not good
        print(f"{'PASS' if good else 'FAIL'}  {name}: {found:.2f} (bar {sign} {bar})")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
