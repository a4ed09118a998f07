"""What a reader of the page notices, measured in a real browser: first titles, frames, keys, live news, memory."""

from __future__ import annotations

import gzip
import re
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

import nebula
from conversation_rig import Server, talk
from nebula.server.conversation.pages import Pages

WEB = Path(nebula.__file__).parent / "web"
PAGES = Pages()
KEYS, LIVE = 40, 5
SIZE = {"width": 1280, "height": 800}
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-precise-memory-info"]

# The same for whoever draws: from navigation to the frame after titles are drawn. The libraries say when they have
# drawn (`titled()`); we are asked for a title on the canvas and one in the outline.
TITLES_SEEN = """(() => { const pen = CanvasRenderingContext2D.prototype; const fillText = pen.fillText;
    window.first = new Promise((done) => {
        window.titled = () => requestAnimationFrame(() => done(performance.now())); });
    const outlined = () => document.querySelector('[role="treeitem"] .title')?.textContent.startsWith("prompt");
    const ours = () => outlined() ? window.titled() : requestAnimationFrame(ours);
    pen.fillText = function (text, ...at) { fillText.call(this, text, ...at);
        if (!text.startsWith("prompt")) return;
        pen.fillText = fillText;
        if (this.canvas.matches("#graph .picture")) ours(); };
    })()"""
FRAMES = """([selector, kind, count]) => new Promise((done) => { const target = document.querySelector(selector);
    const wheel = (more) => target.dispatchEvent(new WheelEvent("wheel", { cancelable: true, bubbles: true, ...more }));
    const moves = { pan: (down) => wheel({ deltaY: down ? 60 : -60 }),
        zoom: (down) => wheel({ deltaY: down ? 20 : -20, ctrlKey: true, clientX: 900, clientY: 400 }),
        scroll: (down) => { target.scrollTop += down ? 90 : -90; } };
    const times = []; let last = performance.now(); let left = count;
    const step = (now) => { times.push(now - last); last = now; moves[kind](left % 40 >= 20);
        if (--left) requestAnimationFrame(step); else done(times.slice(5)); };
    requestAnimationFrame(step); })"""
LOOK_OUT = """(title) => { window.seenAt = new Promise((done) => { const look = () => {
    const tree = document.querySelector("#outline .tree"); tree.scrollTop = 1e9;
    if (tree.textContent.includes(title)) done(Date.now());
    else requestAnimationFrame(look); }; look(); }); }"""


@asynccontextmanager
async def chromium() -> AsyncIterator[Any]:
    from playwright.async_api import async_playwright

    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGS)
        try:
            yield browser
        finally:
            await browser.close()


async def frames_a_second(page: Any, selector: str, kind: str, count: int = 100) -> float:
    return 1000 / statistics.mean(await page.evaluate(FRAMES, [selector, kind, count]))


async def cpu_of_a_key(page: Any) -> float:
    """Milliseconds of the page's main thread for one arrow key in the outline, drawing included."""
    session = await page.context.new_cdp_session(page)
    await session.send("Performance.enable", {"timeDomain": "threadTicks"})  # of this thread, whatever else runs
    await page.locator("#outline .tree").focus()
    await page.keyboard.press("Home")
    await page.wait_for_timeout(500)

    async def busy() -> float:
        metrics = (await session.send("Performance.getMetrics"))["metrics"]
        return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration") * 1000

    before = await busy()
    for _ in range(KEYS):
        await page.keyboard.press("ArrowDown")
        await page.evaluate("new Promise(requestAnimationFrame)")
    return (await busy() - before) / KEYS


async def seen_live(page: Any, server: Server) -> float:
    """Milliseconds from asking for a node elsewhere to its row on the page: the middle of several."""
    times = []
    async with talk(server) as client:
        for number in range(LIVE):
            title = f"made elsewhere {number}"
            await page.evaluate(LOOK_OUT, title)
            started = time.time() * 1000
            await client.ask("create_node", prompt=title)
            times.append(float(await page.evaluate("window.seenAt")) - started)
    return statistics.median(times)


async def first_titles(page: Any, address: str) -> float:
    """Milliseconds after navigation, the best of three: with a warm cache, and a server that has read the flow."""
    await page.add_init_script(TITLES_SEEN)
    await page.goto(address, wait_until="commit")
    await page.evaluate("window.first")
    firsts = []
    for _ in range(3):
        await page.reload(wait_until="commit")
        firsts.append(float(await page.evaluate("window.first")))
    return min(firsts)


async def measured(server: Server) -> dict[str, float]:
    async with chromium() as browser:
        page = await browser.new_page(viewport=SIZE)
        found = {"first": await first_titles(page, server.address)}
        picture = "#graph .picture"
        found["pan"] = await frames_a_second(page, picture, "pan")
        found["zoom"] = await frames_a_second(page, picture, "zoom")
        found["scroll"] = await frames_a_second(page, "#outline .tree", "scroll")
        found["key"] = await cpu_of_a_key(page)
        await page.get_by_role("button", name="Fit everything").click()
        await page.wait_for_timeout(300)
        found["pan_all"] = await frames_a_second(page, picture, "pan")
        found["live"] = await seen_live(page, server)
        found["heap"] = float(await page.evaluate("performance.memory.usedJSHeapSize / 1048576"))
        return found


def weight_kb() -> tuple[float, float]:
    """Compressed kilobytes: what a first look loads, and with what comes on demand (Markdown, colours)."""
    client = TestClient(Starlette(routes=[Route("/", PAGES.index), Route("/web/{path:path}", PAGES.file)]))

    def packed(path: str) -> int:
        return len(gzip.compress(client.get(path, headers={"accept-encoding": "identity"}).content))

    named = re.findall(r'(?:href|src)="(/web/[^"]+)"', client.get("/").text)
    at_once = sum(map(packed, {"/", *named}))
    later = sum(map(packed, ("/web/vendor/markdown-it/markdown-it.js", "/web/vendor/highlight/highlight.js")))
    return at_once / 1000, (at_once + later) / 1000
