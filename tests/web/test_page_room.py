"""What has its place in every room: the choices of the composer in one row, things to begin with in one row or one column."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import browsing, make, row, until
from scripted_model import ScriptedModel

pytestmark = pytest.mark.slow

SIZES = [(1440, 900), (1280, 760), (1210, 800), (1100, 800), (960, 700), (390, 844)]
TOPS = "(found) => new Set([...document.querySelectorAll(found)].filter((each) => each.offsetParent).map((each) => Math.round(each.getBoundingClientRect().top))).size"
WITHIN = """() => { const box = document.querySelector("#composer .choices").getBoundingClientRect();
    return [...document.querySelectorAll("#composer .choices > *")].filter((each) => each.offsetParent)
        .every((each) => each.getBoundingClientRect().right <= box.right + 1 && each.getBoundingClientRect().bottom <= box.bottom + 1); }"""

UNCUT = """() => [...document.querySelectorAll("#composer .choices select")].every((each) => each.scrollWidth <= each.clientWidth)"""


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
async def test_nothing_wraps_however_wide_the_page_is(bench, locale):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await make(client, "then", await make(client, "first"))
        async with browsing(server, locale=locale, viewport={"width": 1440, "height": 900}) as page:
            await expect(page.locator("#transcript .cards")).to_be_visible()
            await page.focus("#model")  # its list is there, and with it the widest name
            await until(page, "document.querySelectorAll('#model option').length > 1")
            for width, height in SIZES:
                await page.set_viewport_size({"width": width, "height": height})
                await page.focus("#prompt")
                await page.evaluate(
                    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
                )
                assert await page.evaluate(TOPS, "#composer .choices > *") == 1, width
                assert await page.evaluate(WITHIN), width
                assert await page.evaluate(UNCUT), width
                assert await page.evaluate(TOPS, "#transcript .card") in (1, 3), width


async def test_a_list_of_choices_opens_on_a_phone_and_takes_what_is_pressed(bench):
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **phone) as page:
            await page.locator("#prompt").tap()
            await page.locator("#model").tap()  # the box loses the focus to the list, and the choices stay
            await page.locator("#model option").nth(1).tap()
            await expect(page.locator("#model")).not_to_have_value("")
            await expect(page.locator("#composer .choices")).to_be_visible()


async def test_an_open_list_has_the_keys_to_itself(bench):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport={"width": 1440, "height": 900}) as page:
            mode, sheet = page.locator("#mode"), page.locator("#dialog")
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await mode.press("Space")
            await expect(page.locator("#mode option").first).to_be_focused()
            await page.keyboard.press("b")  # elsewhere it opens backstage
            await page.keyboard.press("ArrowDown")
            await page.keyboard.press("Enter")
            await expect(mode).to_have_value("plan")
            await expect(mode).to_be_focused()
            await expect(page.locator("#backstage")).to_be_hidden()
            await page.locator("#race").press("Enter")
            judge = sheet.get_by_label("Judge")
            await judge.press("Space")
            await expect(judge.locator("option").first).to_be_focused()
            await page.keyboard.press("Escape")  # shuts the list, not the sheet
            await expect(judge).to_be_focused()
            await expect(sheet).to_be_visible()


async def test_the_conversation_keeps_its_room_beside_a_wide_graph_and_backstage(bench):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await make(client, "then", await make(client, "first"))
        async with browsing(server, viewport={"width": 1440, "height": 900}) as page:
            await (await row(page, "then")).click()
            edge = await page.locator('.edge[data-panel="graph"]').bounding_box()
            await page.mouse.move(edge["x"], 400)
            await page.mouse.down()
            await page.mouse.move(300, 400, steps=3)
            await page.mouse.up()
            await page.click("#toggle-backstage")
            await expect(page.locator("#backstage")).to_be_visible()
            assert (await page.locator("#talk").bounding_box())["width"] >= 320
            assert await page.evaluate("document.documentElement.scrollWidth") <= 1440
            sends = await page.locator("#composer .sends").bounding_box()
            for choice in await page.locator("#composer .choices > *").all():  # nothing lies below the arrow
                box = await choice.bounding_box()
                assert box is None or box["x"] + box["width"] <= sends["x"] + 1
