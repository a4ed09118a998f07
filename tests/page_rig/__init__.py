"""The page in a real browser (Debian's chromium, headless).

async with browsing(server) as page:
    await (await row(page, "a title")).click()
"""

from __future__ import annotations

import asyncio
import threading
from contextlib import AsyncExitStack, asynccontextmanager

from playwright.async_api import Browser, Page, async_playwright, expect

WIDE = {"width": 1400, "height": 900}
SELECTED = '[aria-selected="true"] .title'
ARGS = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
# Notes where the picture shows which words, so that a test can point at what a person sees.
WORDS_SEEN = """(() => { const pen = CanvasRenderingContext2D.prototype; const { fillText, clearRect } = pen;
    const isPicture = (canvas) => canvas.matches?.("#graph .picture"); window.wordsSeen = new Map();
    pen.clearRect = function (...box) { if (isPicture(this.canvas)) window.wordsSeen.clear(); clearRect.apply(this, box); };
    pen.fillText = function (text, x, y) { if (isPicture(this.canvas)) window.wordsSeen.set(text, [x, y]);
        fillText.call(this, text, x, y); }; })()"""
PATIENCE_MS = 30_000  # only a failure waits that long; a busy machine may need some of it
LONGEST_S = 60  # a page that never answers has no limit of its own: `evaluate` waits for ever
expect.set_options(timeout=PATIENCE_MS)


class Held:
    """A reply that the model gives only when the test lets it."""

    def __init__(self, turn):
        self._turn = turn
        self._gate = threading.Event()

    def __call__(self, _):
        assert self._gate.wait(PATIENCE_MS / 1000)
        return self._turn

    def release(self):
        self._gate.set()


class SharedBrowser:
    """One Chromium for all tests of a run, each with a context of its own: to start it takes longer than most of them."""

    def __init__(self) -> None:
        self._open = AsyncExitStack()
        self._browser: Browser | None = None

    async def get(self) -> Browser:
        if self._browser is None or not self._browser.is_connected():
            await self.close()
            playwright = await self._open.enter_async_context(async_playwright())
            launching = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=ARGS, timeout=PATIENCE_MS)
            self._browser = await self._open.enter_async_context(await launching)
        return self._browser

    async def close(self) -> None:
        self._browser = None
        await self._open.aclose()


BROWSER = SharedBrowser()
"""Lives in the event loop that the tests of the page share, and is closed at its end (tests/web/conftest.py)."""


@asynccontextmanager
async def browsing(server, *, locale="en-US", path="", **options):
    """A page that must end without complaint: no console error, no policy violation, no request to another host."""
    complaints: list[str] = []
    hosts: set[str] = set()
    async with asyncio.timeout(LONGEST_S), await (await BROWSER.get()).new_context(locale=locale, **options) as context:
        await context.add_init_script(WORDS_SEEN)
        page = await context.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on(
            "console", lambda message: complaints.append(message.text) if message.type in ("error", "warning") else None
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        page.on("websocket", lambda socket: hosts.add(socket.url.split("/")[2]))
        await page.goto(server.address + path)
        page.complaints = complaints  # type: ignore[attr-defined]
        await expect(page.locator("#composer button[type=submit]")).to_be_attached()  # it was drawn once
        yield page
    assert hosts == {server.host}
    assert complaints == [], complaints


async def row(page: Page, title: str):
    return page.locator('[role="treeitem"]', has=page.locator(".title", has_text=title))


async def until(page: Page, expression: str, seconds: float = PATIENCE_MS / 1000) -> None:
    """Waits for what no locator can see; the page's policy lets it not watch by itself."""
    async with asyncio.timeout(seconds):
        while not await page.evaluate(expression):
            await page.evaluate("new Promise(requestAnimationFrame)")


async def first_look_refused(page: Page) -> None:
    """Waits for the browser's own remark that a page without the right token got no first look, and lets it pass."""
    while not page.complaints:  # type: ignore[attr-defined]
        await page.evaluate("new Promise(requestAnimationFrame)")
    assert ["401" in each for each in page.complaints] == [True]  # type: ignore[attr-defined]
    page.complaints.clear()  # type: ignore[attr-defined]


async def asked(model, count: int = 1, seconds: float = PATIENCE_MS / 1000) -> None:
    """Waits until the model was asked so often: the page says that work goes on a little before."""
    async with asyncio.timeout(seconds):
        while len(model.turns) < count:  # noqa: ASYNC110 - the model runs in a thread of its own
            await asyncio.sleep(0.02)


async def make(client, title, *parents):
    return (await client.ask("create_node", prompt=title, response=f"answer to {title}", parents=list(parents)))[
        "node_id"
    ]


AT_REST = """async (words) => {
  let seen = null;
  for (let still = 0; still < 8; still++) {
    await new Promise(requestAnimationFrame);
    const now = window.wordsSeen.get(words);
    if (String(now) !== String(seen)) still = 0;
    seen = now;
  }
  return seen;
}"""
"""Where words were drawn, the same in some frames one after the other."""


async def spot(page, words, right=0):
    """Where words stand in the picture, on the screen, once it is at rest: `right` pixels into them."""
    await until(page, f"window.wordsSeen.has({words!r})")
    x, y = await page.evaluate(AT_REST, words)
    box = await page.locator("#graph .picture").bounding_box()
    return box["x"] + x + right, box["y"] + y - 4


async def branched(client):
    first = await make(client, "one")
    second = await make(client, "two", first)
    await make(client, "three", second)
    side = await make(client, "side", first)
    return first, second, side


async def send(page: Page, prompt: str) -> None:
    await page.fill("#prompt", prompt)
    await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
    await page.keyboard.press("Enter")


async def agree(page: Page) -> None:
    """Answers the question before the reader with what its main button says."""
    await page.locator(".question .agree").click()


async def answered(page: Page, words: str) -> None:
    """Waits for the end of the turn that says this: while it goes on its words are there, but not its node."""
    await expect(page.locator("#transcript .turn.selected")).to_contain_text(words)
