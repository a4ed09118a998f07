"""The conversation server and its page: events to 200 WebSocket clients, and first paint of a big flow.

Each is held beside the same with one client, and with a small flow, in the same run.

python bench/page.py [--clients 200] [--events 200] [--nodes 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from pathlib import Path

from harness import bar, place, table

# isort: split
from conftest import Bench
from conversation_rig import Server, serving, talk
from nebula.graph.graph import Graph

FEW_NODES = 20
MOST_TIMES_SLOWER = 4
"""A big flow beside a small one: what is in sight is as much in both."""


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


async def first_paint(server: Server) -> dict[str, float]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
        )
        page = await browser.new_page(viewport={"width": 1280, "height": 800})
        await page.goto(server.address)
        await page.wait_for_selector('[role="treeitem"] .title:text("prompt")')
        await page.reload()  # warm: modules compiled, the server has read the flow
        shown = await page.evaluate(
            """new Promise((done) => { const look = () => {
                const title = document.querySelector('[role="treeitem"] .title');
                if (title && title.textContent.startsWith("prompt")) done(performance.now());
                else requestAnimationFrame(look); }; look(); })"""
        )
        frames = await page.evaluate(
            """new Promise((done) => { const picture = document.querySelector('#graph .picture');
                const times = []; let last = performance.now(); let left = 60;
                const step = (now) => { times.push(now - last); last = now;
                    const deltaY = left % 30 < 15 ? 60 : -60;
                    picture.dispatchEvent(new WheelEvent("wheel", { deltaY, cancelable: true }));
                    if (--left) requestAnimationFrame(step); else done(times.slice(5)); };
                requestAnimationFrame(step); })"""
        )
        await page.locator("#outline .tree").evaluate("(tree) => { tree.scrollTop = tree.scrollHeight; }")
        async with talk(server) as client:
            started = time.monotonic()
            await client.ask("create_node", prompt="a new root")
            await page.evaluate("document.querySelector('#outline .tree').scrollTop = 1e9")
            await page.wait_for_selector('[role="treeitem"] .title:text("a new root")')
            live = time.monotonic() - started
        heap = await page.evaluate("performance.memory.usedJSHeapSize / 1048576")
        await browser.close()
    return {"first": shown, "fps": 1000 / statistics.mean(frames), "live": live * 1000, "heap": heap}


def heard_by(clients: int, count: int) -> tuple[list[float], float, float]:
    """Sorted latencies in ms, messages a second, and the server's memory."""
    with place() as here, serving(Bench(here.project, here.home), "vizprompt") as server:
        latencies, took = asyncio.run(events(server, clients, count))
        return sorted(each * 1000 for each in latencies), len(latencies) / took, memory_mib(server)


def page_with(nodes: int) -> dict[str, float]:
    with place() as here:
        big_flow(here.project / "data", nodes)
        with serving(Bench(here.project, here.home), "vizprompt") as server:
            return asyncio.run(first_paint(server))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=10_000)
    options = parser.parse_args()
    runs = {clients: heard_by(clients, options.events) for clients in (1, options.clients)}
    table(
        f"{options.events} events",
        ["clients", "heard", "p50 ms", "p99 ms", "messages a second", "server MiB"],
        [
            [clients, len(ms), f"{ms[len(ms) // 2]:.1f}", f"{ms[int(len(ms) * 0.99)]:.1f}", f"{rate:.0f}", f"{mib:.0f}"]
            for clients, (ms, rate, mib) in runs.items()
        ],
    )
    pages = {nodes: page_with(nodes) for nodes in (FEW_NODES, options.nodes)}
    table(
        "page",
        ["nodes", "first rows ms", "graph pan fps", "new node seen ms", "heap MB"],
        [
            [nodes, f"{seen['first']:.0f}", f"{seen['fps']:.0f}", f"{seen['live']:.0f}", f"{seen['heap']:.0f}"]
            for nodes, seen in pages.items()
        ],
    )
    small, big = pages.values()
    (_, one, _), (heard, many, _) = runs.values()
    held = [
        bar("every client heard every event", len(heard), options.clients * options.events, at_least=True),
        bar("messages a second, beside one client", many / one, 1, " times", at_least=True),
        bar("a new node is seen, beside a small flow", big["live"] / small["live"], MOST_TIMES_SLOWER, " times"),
        bar("first rows, beside a small flow", big["first"] / small["first"], MOST_TIMES_SLOWER, " times"),
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
