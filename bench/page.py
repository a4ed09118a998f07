"""The page and its server: a big flow beside cytoscape and vis-network, and events to 200 WebSocket clients.

The libraries draw the same nodes at the same places in the same run (`npm ci` has them); the clients stand beside one.

python bench/page.py [--clients 200] [--events 200] [--nodes 10000 50000]
"""

from __future__ import annotations

import argparse
import asyncio
import functools
import math
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from harness import bar, doing, place, table

# isort: split
from conftest import Bench
from conversation_rig import Server, serving, talk
from nebula.graph.disk.numbered_paths import path_of
from nebula.graph.formats.flow_yaml import dump_flow
from nebula.graph.formats.node_xml import dump_node
from nebula.graph.graph import Graph
from nebula.graph.ids import new_id, now
from nebula.graph.text_figures import measured as measured_text
from nebula.graph.values import Edge, Flow, FlowEntry, Node, Utterance
from page_browser import first_look, measured, weight_kb
from page_peers import DRAW, peer

FIRST_MS, COLD_MS, FPS, KEY_MS, LIVE_MS, WEIGHT_KB = 500, 1000, 55, 16, 100, 220
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
    """Shaped like conversations: long lines, a branch now and then. Written as it lies on the disk and not flushed:
    by the library each turn waits for the disk."""
    nodes = [turn(number) for number in range(count)]
    entries = tuple(FlowEntry(place, node.id) for place, node in enumerate(nodes, 1))
    edges = tuple(Edge(place if place % 12 else place // 3 + 1, place + 1) for place in range(1, count))
    flow = Flow(new_id(), "main", nodes[0].timestamp, nodes[-1].timestamp, "", entries, edges)
    write_all(folder / "nodes", "xml", [(node.id, node.timestamp, dump_node(node)) for node in nodes])
    write_all(folder / "flows", "yaml", [(flow.id, flow.updated, dump_flow(flow).encode())])


def turn(number: int) -> Node:
    moment = now()
    texts = (Utterance("user", f"prompt {number}"), Utterance("assistant", "answer " * 20))
    return Node(id=new_id(), timestamp=moment, texts=tuple(map(measured_text, texts)), last_built=moment)


def write_all(folder: Path, ending: str, files: list[tuple[str, str, bytes]]) -> None:
    index = ["relpath\tuuid\ttimestamp\n"]
    for number, (known, moment, data) in enumerate(files):
        path = folder / (name := path_of(number, 100, ending))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        index.append(f"{name}\t{known}\t{moment}\n")
    (folder / "index.tsv").write_text("".join(index), encoding="utf-8")


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


def page_with(nodes: int, beside: bool = False) -> dict[str, dict[str, Any]]:
    """What the page does with so many nodes, and what the libraries do with the same ones."""
    with place() as here:
        with doing(f"making {nodes:,} nodes"):
            big_flow(here.project / "data", nodes)
        start = functools.partial(serving, Bench(here.project, here.home), "vizprompt")
        cold, search = asyncio.run(first_look(start, "answer"))  # this home has no cache yet
        with start() as server:
            found = {"nebula": asyncio.run(measured(server)) | {"cold": cold, "search": search}}
        if beside:
            flow = flow_of(here.project / "data")
            served = here.project / "served"
            served.mkdir()
            for name in DRAW:
                with suppress(TimeoutError):  # it is said that it broke off; the others are there all the same
                    found[name] = asyncio.run(peer(name, served, flow))
    return found


def show_clients(clients: int, count: int) -> list[bool]:
    runs = {}
    for each in (1, clients):
        with doing(f"{count} events to {each} clients"):
            runs[each] = heard_by(each, count)
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


def search_row(found: dict[str, Any]) -> list[str]:
    return [found["told"], f"{found['answered_s']:.1f}", found["whole"], f"{found['whole_s']:.1f}"]


def found_in_all(found: dict[str, Any]) -> int:
    """How many nodes the search said it found when it was whole."""
    return int(found["whole"].split()[0].replace(",", ""))


def show_page(sizes: tuple[int, ...]) -> list[bool]:
    runs = {size: page_with(size, beside=size == sizes[0]) for size in sizes}
    names = ("first", "cold", "pan", "zoom", "pan_all", "scroll", "key", "live", "heap")
    table(
        "page",
        [
            "nodes",
            "first ms",
            "after a cold start ms",
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
    table(
        "a search for a word of every turn, right after a cold start",
        ["nodes", "first said", "after s", "in the end", "after s"],
        [[size, *search_row(run["nebula"]["search"])] for size, run in runs.items()],
    )
    first = runs[sizes[0]]
    table(
        f"first titles and panning of {sizes[0]} nodes at the same places",
        ["drawn by", "first titles ms", "pan fps", "heap MB"],
        [[name, *(f"{each[key]:.0f}" for key in ("first", "pan", "heap"))] for name, each in first.items()],
    )
    ours, peers = first["nebula"], [each["first"] for name, each in first.items() if name != "nebula"]
    at_once, whole = weight_kb()
    print(f"\nweight, compressed: {at_once:.0f} KB at first, {whole:.0f} KB with Markdown and code in five languages")
    return [
        bar("first titles after navigation", ours["first"], FIRST_MS, " ms"),
        *(bar(f"{size} nodes after a cold start", run["nebula"]["cold"], COLD_MS, " ms") for size, run in runs.items()),
        *(
            bar(f"of {size} nodes found at last", found_in_all(run["nebula"]["search"]) / size, 1, at_least=True)
            for size, run in runs.items()
        ),
        bar("first titles beside the best library", ours["first"] / min(peers, default=math.nan), 0.1, " times"),
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
