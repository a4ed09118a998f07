"""Nothing jumps: what shifts on the page from sending over a question to the answer, as the browser counts it."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, Held, agree, answered, browsing, make, send
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

MOST_SHIFT = 0.02
WATCH = """() => { window.shifts = []; new PerformanceObserver((list) => { for (const entry of list.getEntries())
    window.shifts.push([entry.value, ...entry.sources.map(({ node }) => node?.id || node?.className || node?.nodeName)]); })
    .observe({ type: "layout-shift" }); }"""
PHONE = {"width": 390, "height": 844}
ANSWER = "Done:\n\n```python\nRATE = 10\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThat is $x^2$."


async def watch(page):
    """From here on everything counts, what comes of one's own keys as well."""
    await page.focus("#prompt")
    await page.wait_for_timeout(300)
    await page.evaluate(WATCH)


async def change(page, asks, ends):
    """A prompt, the change that it asks for, and the answer, each when the test lets it come."""
    await send(page, "Make it ten")
    await expect(page.locator("#transcript .live")).to_be_visible()
    asks.release()
    await expect(page.locator(".question")).to_be_visible()
    await agree(page)
    await expect(page.locator(".question")).to_be_hidden()
    ends.release()
    await answered(page, "That is")
    await expect(page.locator(".selected .changed")).to_be_visible()
    await page.wait_for_timeout(300)  # what comes a little later counts, too
    shifts = await page.evaluate("window.shifts")
    assert sum(value for value, *_ in shifts) <= MOST_SHIFT, shifts


def script():
    asks = Held(Turn("I change it.", [Call("writeFile", {"path": "more.py", "content": "RATE = 10\n"})]))
    return asks, Held(Turn(ANSWER))


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
async def test_nothing_jumps_from_sending_to_the_answer(bench, size):
    asks, ends = script()
    with (
        ScriptedModel([Turn("It is five."), asks, ends]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with talk(server) as client:
            await make(client, "then", await make(client, "first"))
        async with browsing(server, viewport=size) as page:
            await page.locator(".first-view li button").click()
            await answered(page, "answer to then")
            await watch(page)
            await send(page, "What is it?")
            await answered(page, "It is five.")
            await change(page, asks, ends)


@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
async def test_nothing_jumps_from_the_first_view_to_the_first_answer(bench, size):
    asks, ends = script()
    with ScriptedModel([asks, ends]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=size) as page:
            await expect(page.locator(".first-view .cards")).to_be_visible()
            await watch(page)
            await change(page, asks, ends)
