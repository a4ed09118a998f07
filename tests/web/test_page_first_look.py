"""What the page shows before its line to the server is open, and how it goes on from there."""

from __future__ import annotations

import asyncio
from urllib.parse import urlsplit

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import browsing, make, row, until

pytestmark = pytest.mark.slow

HELD_LINE = """(() => { const Real = WebSocket; const held = []; window.openLine = () => held.splice(0).forEach((go) => go());
    window.WebSocket = class { static OPEN = 1; readyState = 0;
        constructor(url) { held.push(() => { const real = (this.real = new Real(url));
            real.onopen = () => { this.readyState = 1; this.onopen(); };
            real.onmessage = (message) => this.onmessage(message);
            real.onclose = (closing) => { this.readyState = 3; this.onclose(closing); }; }); }
        send(text) { this.real.send(text); }
        close() { this.real?.close(); } }; })()"""
"""A line that opens when the test says so."""


def asked_for(page):
    """The first looks that the page asks for from now on."""
    found = []
    page.on("request", lambda request: urlsplit(request.url).path == "/first" and found.append(request))
    return found


@pytest.mark.parametrize("kind", ["nebula", "vizprompt"])
async def test_titles_are_seen_before_there_is_a_line_and_nothing_is_missed(bench, kind):
    with serving(bench, kind) as server:
        async with talk(server) as client, browsing(server) as page:
            first = await make(client, "the first")
            await make(client, "the second", first)
            await page.context.add_init_script(HELD_LINE)
            await page.reload()
            await expect(await row(page, "the first")).to_be_visible()
            await until(page, "window.wordsSeen.has('the second')")
            await expect(page.locator("#banner")).to_be_hidden()
            await (await row(page, "the second")).click()  # its text is asked for as soon as there is a line
            await make(client, "made meanwhile", first)
            await expect(await row(page, "made meanwhile")).to_have_count(0)
            await page.evaluate("openLine()")
            await expect(page.locator("#transcript")).to_contain_text("answer to the second")
            await expect(await row(page, "made meanwhile")).to_be_visible()
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()


async def test_the_browser_asks_for_it_by_itself_and_once(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server) as page:
            node = await make(client, "a turn")
            asked = asked_for(page)
            await page.goto(f"{server.address}?flow=main&node={node}")
            await expect(page.locator("#transcript")).to_contain_text("answer to a turn")
            assert [urlsplit(each.url).query for each in asked] == [f"flow=main&node={node}"]


async def test_nothing_is_painted_before_the_look_is_decided(bench):
    """Whoever chose the dark look on a light machine would see a flash."""

    async def slow(route):
        await asyncio.sleep(0.5)
        await route.continue_()

    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server, color_scheme="light") as page:
            await make(client, "a turn")
            await page.evaluate("localStorage.setItem('nebula.theme', 'dark')")
            await page.route("**/line.js", slow)
            await page.reload()
            await expect(await row(page, "a turn")).to_be_visible()
            painted = await page.evaluate("performance.getEntriesByName('first-paint')[0].startTime")
            scripts = "performance.getEntriesByType('resource').filter(({ name }) => name.endsWith('/line.js'))"
            assert painted > await page.evaluate(f"{scripts}[0].responseEnd")


async def test_the_token_is_shown_for_it(bench):
    with serving(bench, "nebula") as server:
        async with talk(server) as client, browsing(server) as page:
            await make(client, "a turn")
            asked = asked_for(page)
            await page.reload()
            await expect(await row(page, "a turn")).to_be_visible()
            assert [(await each.all_headers())["authorization"] for each in asked] == [f"Bearer {server.token}"]


async def test_a_page_without_it_asks_over_the_line(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server) as page:
            await make(client, "a turn")
            refused = asyncio.Event()

            async def refuse(route):
                refused.set()
                await route.fulfill(status=204)

            await page.route("**/first*", refuse)
            await page.reload()
            await expect(await row(page, "a turn")).to_be_visible()
            assert refused.is_set()
            await make(client, "one more")
            await expect(await row(page, "one more")).to_be_visible()
