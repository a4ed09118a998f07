"""The conversation server and its page: events to 200 WebSocket clients, and first paint of a big flow.

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

FIRST_PAINT_MS = 500
LIVE_MS = 1000


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
            """new Promise((done) => { const scroller = document.querySelector('#graph .scroller');
                const times = []; let last = performance.now(); let left = 60;
                const step = (now) => { times.push(now - last); last = now; scroller.scrollTop += 120;
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


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--nodes", type=int, default=10_000)
    options = parser.parse_args()
    with place() as here:
        bench = Bench(here.project, here.home)
        with serving(bench, "vizprompt") as server:
            latencies, took = asyncio.run(events(server, options.clients, options.events))
            memory = memory_mib(server)
    latencies.sort()
    p50, p99 = latencies[len(latencies) // 2] * 1000, latencies[int(len(latencies) * 0.99)] * 1000
    rate = options.clients * options.events / took
    table(
        f"{options.events} events to {options.clients} clients",
        ["heard", "p50 ms", "p99 ms", "all in s", "messages a second", "server MiB"],
        [[len(latencies), f"{p50:.1f}", f"{p99:.1f}", f"{took:.2f}", f"{rate:.0f}", f"{memory:.0f}"]],
    )
    with place() as here:
        bench = Bench(here.project, here.home)
        big_flow(here.project / "data", options.nodes)
        with serving(bench, "vizprompt") as server:
            seen = asyncio.run(first_paint(server))
    table(
        f"page with {options.nodes} nodes",
        ["first rows ms", "graph scroll fps", "new node seen ms", "heap MB"],
        [[f"{seen['first']:.0f}", f"{seen['fps']:.0f}", f"{seen['live']:.0f}", f"{seen['heap']:.0f}"]],
    )
    held = [
        bar("every client heard every event", len(latencies), options.clients * options.events, at_least=True),
        bar("an event reaches a client, p50", p50, LIVE_MS, " ms"),
        bar("a node made elsewhere is seen on the page", seen["live"], LIVE_MS, " ms"),
        bar(f"first paint of {options.nodes} nodes", seen["first"], FIRST_PAINT_MS, " ms"),
    ]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
