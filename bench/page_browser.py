"""What a reader of the page notices, in a real browser: first titles, frames, keys, live news, searching, memory."""

from __future__ import annotations

import asyncio
import gzip
import re
import statistics
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.routing import Route
from starlette.testclient import TestClient

import nebula
from conversation_rig import Server, talk
from harness import doing
from nebula.server.conversation.pages import Pages

WEB = Path(nebula.__file__).parent / "web"
PAGES = Pages()
KEYS, LIVE = 40, 5
LATER = (
    *("markdown-it/markdown-it", "highlight/highlight", "highlight/languages"),
    *(f"highlight/languages/{name}" for name in ("python", "javascript", "bash", "json", "diff")),
    *(f"highlight/languages/{name}" for name in ("xml", "css", "graphql")),  # may stand inside JavaScript
)
RELOADS = 9
"""Titles come with a frame, which is a sixth of our time: fewer tell which frame they met, and not how long it took."""
LONGEST_S = 120
"""Of one step: a page that never shows what is waited for has no limit of its own."""
SIZE = {"width": 1280, "height": 800}
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--enable-precise-memory-info"]

# The same for whoever draws: from navigation until the frame that shows titles is painted. The libraries say when they
# have drawn (`titled()`); we are asked for a title on the canvas and one in the outline.
TITLES_SEEN = """(() => { const pen = CanvasRenderingContext2D.prototype; const fillText = pen.fillText;
    window.first = new Promise((done) => {
        const painted = new MessageChannel();
        painted.port2.onmessage = () => done(performance.now());
        window.titled = () => requestAnimationFrame(() => painted.port1.postMessage("")); });
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
# What is new stands at the top.
LOOK_OUT = """(title) => { window.seenAt = new Promise((done) => { const look = () => {
    const tree = document.querySelector("#outline .tree"); tree.scrollTop = 0;
    if (tree.textContent.includes(title)) done(Date.now());
    else requestAnimationFrame(look); }; look(); }); }"""


@asynccontextmanager
async def step(what: str) -> AsyncIterator[None]:
    with doing(what):
        async with asyncio.timeout(LONGEST_S):
            yield


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
    """Milliseconds after navigation, the best of several: with a warm cache, and a server that has read the flow."""
    await page.add_init_script(TITLES_SEEN)
    await page.goto(address, wait_until="commit")
    await page.evaluate("window.first")
    firsts = []
    for _ in range(RELOADS):
        await page.reload(wait_until="commit")
        firsts.append(float(await page.evaluate("window.first")))
    return min(firsts)


async def search_through(page: Any, words: str) -> dict[str, Any]:
    """What the page says first of a search right after the start, what it says last, and seconds until then."""
    count = page.locator("#outline .count")
    began = time.monotonic()
    await page.locator("#search").fill(words)
    while not (told := await count.inner_text()):
        await page.evaluate("new Promise(requestAnimationFrame)")
    first, answered = told, time.monotonic() - began
    while "still reading" in told:
        await asyncio.sleep(0.1)
        told = await count.inner_text()
    return {"told": first, "answered_s": answered, "whole": told, "whole_s": time.monotonic() - began}


async def first_look(start: Callable[[], AbstractContextManager[Server]], words: str) -> tuple[float, dict[str, Any]]:
    """Milliseconds after navigation to a server that has just been started, with a browser that was never there; then
    what a search for these words comes to."""
    async with chromium() as browser:
        page = await browser.new_page(viewport=SIZE)
        await page.add_init_script(TITLES_SEEN)
        with start() as server:
            async with step("a first look after a cold start"):
                await page.goto(server.address, wait_until="commit")
                first = float(await page.evaluate("window.first"))
            async with step("a search right after it"):
                return first, await search_through(page, words)


async def measured(server: Server) -> dict[str, float]:
    async with chromium() as browser:
        page = await browser.new_page(viewport=SIZE)
        async with step("first titles"):
            found = {"first": await first_titles(page, server.address)}
        picture = "#graph .picture"
        async with step("frames of panning, zooming and scrolling"):
            found["pan"] = await frames_a_second(page, picture, "pan")
            found["zoom"] = await frames_a_second(page, picture, "zoom")
            found["scroll"] = await frames_a_second(page, "#outline .tree", "scroll")
        async with step("keys"):
            found["key"] = await cpu_of_a_key(page)
        async with step("panning with everything in sight"):
            await page.get_by_role("button", name="Fit everything").click()
            await page.wait_for_timeout(300)
            found["pan_all"] = await frames_a_second(page, picture, "pan")
        async with step("nodes made elsewhere"):
            found["live"] = await seen_live(page, server)
        found["heap"] = float(await page.evaluate("performance.memory.usedJSHeapSize / 1048576"))
        return found


def weight_kb() -> tuple[float, float]:
    """Compressed kilobytes: what a first look loads, and with what an answer with code in five languages asks for."""
    client = TestClient(Starlette(routes=[Route("/", PAGES.index), Route("/web/{path:path}", PAGES.file)]))

    def packed(path: str) -> int:
        return len(gzip.compress(client.get(path, headers={"accept-encoding": "identity"}).content))

    named = re.findall(r'(?:href|src)="(/web/[^"]+)"', client.get("/").text)
    at_once = sum(map(packed, {"/", *named}))
    later = sum(packed(f"/web/vendor/{name}.js") for name in LATER)
    return at_once / 1000, (at_once + later) / 1000
