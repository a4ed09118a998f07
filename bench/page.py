"""The page and its server: a big flow beside cytoscape and vis-network, and events to 200 WebSocket clients.

The libraries draw the same nodes at the same places in the same run (`npm ci` has them); the clients stand beside one.

python bench/page.py [--clients 200] [--events 200] [--nodes 10000 50000]
"""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from pathlib import Path

from harness import bar, place, table

# isort: split
from conftest import Bench
from conversation_rig import Server, serving, talk
from nebula.graph.graph import Graph
from page_browser import measured, weight_kb
from page_peers import DRAW, peer

FIRST_MS, FPS, KEY_MS, LIVE_MS, WEIGHT_KB = 500, 55, 16, 100, 220
MOVES = ("pan", "zoom", "pan_all", "scroll")


async def listen(server: Server, count: int, ready: asyncio.Semaphore) -> list[float]:
    """When each of so many events arrived at one client."""
    async with talk(server) as client:
        await client.ask("subscribe", event="node_updated")
        ready.release()
        heard = []
        while len(heard) < count:
            await client.connection.recv()
            heard.append(time.monotonic())
        return heard


async def events(server: Server, clients: int, count: int) -> tuple[list[float], float]:
    """Seconds from asking for a change to each client's hearing of it, and the time for all."""
    ready = asyncio.Semaphore(0)
    listeners = [asyncio.create_task(listen(server, count, ready)) for _ in range(clients)]
    for _ in range(clients):
        await ready.acquire()
    sent = []
    async with talk(server) as writer:
        node_id = (await writer.ask("create_node", prompt="p"))["node_id"]
        started = time.monotonic()
        for number in range(count):
            sent.append(time.monotonic())
            await writer.ask("update_node", node_id=node_id, response=str(number))
        arrivals = await asyncio.gather(*listeners)
    took = time.monotonic() - started
    return [heard[number] - sent[number] for heard in arrivals for number in range(count)], took


def big_flow(folder: Path, count: int) -> None:
    """Shaped like conversations: long lines, a branch now and then."""
    graph = Graph(folder)
    ids: list[str] = []
    for number in range(count):
        parent = [ids[-1 if number % 12 else number // 3]] if ids else []
        ids.append(graph.create_node(f"prompt {number}", "answer " * 20, parents=parent).id)
    graph.close()


def memory_mib(server: Server) -> float:
    status = Path(f"/proc/{server.process.pid}/status").read_text(encoding="ascii")
    return int(status.split("VmRSS:")[1].split()[0]) / 1024


def heard_by(clients: int, count: int) -> tuple[list[float], float, float]:
    """Sorted latencies in ms, messages a second, and the server's memory."""
    with place() as here, serving(Bench(here.project, here.home), "vizprompt") as server:
        latencies, took = asyncio.run(events(server, clients, count))
        return sorted(each * 1000 for each in latencies), len(latencies) / took, memory_mib(server)


def flow_of(folder: Path) -> dict[str, object]:
    """The flow as libraries get it: ids, pairs of places, titles."""
    graph = Graph(folder)
    try:
        flow = graph.get_flow()
        place = {entry.index: number for number, entry in enumerate(flow.entries)}
        pairs = [[place[edge.source], place[edge.target]] for edge in flow.edges]
        return {"ids": flow.nodes, "pairs": pairs, "titles": [f"prompt {number}" for number in range(len(flow.nodes))]}
    finally:
        graph.close()


def page_with(nodes: int, beside: bool = False) -> dict[str, dict[str, float]]:
    """What the page does with so many nodes, and what the libraries do with the same ones."""
    with place() as here:
        big_flow(here.project / "data", nodes)
        with serving(Bench(here.project, here.home), "vizprompt") as server:
            found = {"nebula": asyncio.run(measured(server))}
        if beside:
            flow = flow_of(here.project / "data")
            served = here.project / "served"
            served.mkdir()
            found |= {name: asyncio.run(peer(name, served, flow)) for name in DRAW}
    return found


def show_clients(clients: int, count: int) -> list[bool]:
    runs = {each: heard_by(each, count) for each in (1, clients)}
    table(
        f"{count} events",
        ["clients", "heard", "p50 ms", "p99 ms", "messages a second", "server MiB"],
        [
            [each, len(ms), f"{ms[len(ms) // 2]:.1f}", f"{ms[int(len(ms) * 0.99)]:.1f}", f"{rate:.0f}", f"{mib:.0f}"]
            for each, (ms, rate, mib) in runs.items()
        ],
    )
    (_, one, _), (heard, many, _) = runs.values()
    return [
        bar("every client heard every event", len(heard), clients * count, at_least=True),
        bar("messages a second, beside one client", many / one, 1, " times", at_least=True),
    ]


def show_page(sizes: tuple[int, ...]) -> list[bool]:
    runs = {size: page_with(size, beside=size == sizes[0]) for size in sizes}
    names = ("first", "pan", "zoom", "pan_all", "scroll", "key", "live", "heap")
    table(
        "page",
        [
            "nodes",
            "first ms",
            "pan fps",
            "zoom fps",
            "all seen fps",
            "outline fps",
            "key ms",
            "live ms",
            "heap MB",
        ],
        [[size, *(f"{run['nebula'][name]:.0f}" for name in names)] for size, run in runs.items()],
    )
    first = runs[sizes[0]]
    table(
        f"first titles and panning of {sizes[0]} nodes at the same places",
        ["drawn by", "first titles ms", "pan fps", "heap MB"],
        [[name, *(f"{each[key]:.0f}" for key in ("first", "pan", "heap"))] for name, each in first.items()],
    )
    ours, peers = first["nebula"], [each["first"] for name, each in first.items() if name != "nebula"]
    at_once, whole = weight_kb()
    print(f"\nweight, compressed: {at_once:.0f} KB at first, {whole:.0f} KB with Markdown and colours")
    return [
        bar("first titles after navigation", ours["first"], FIRST_MS, " ms"),
        bar("first titles beside the best library", ours["first"] / min(peers), 0.1, " times"),
        *(bar(f"{name}, frames a second", ours[name], FPS, at_least=True) for name in MOVES),
        bar("an arrow key until it is drawn, CPU", ours["key"], KEY_MS, " ms"),
        bar("a node made elsewhere is seen", ours["live"], LIVE_MS, " ms"),
        bar("weight, compressed", whole, WEIGHT_KB, " KB"),
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200, help="0 leaves them out")
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--nodes", type=int, nargs="*", default=[10_000, 50_000], help="the first beside the libraries")
    options = parser.parse_args()
    held = show_page(tuple(options.nodes)) if options.nodes else []
    held += show_clients(options.clients, options.events) if options.clients else []
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
