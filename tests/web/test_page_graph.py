"""The graph as a person uses it: look, drag, zoom, click, keys."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import SELECTED, WIDE, branched, browsing, make, row, spot, until

pytestmark = pytest.mark.slow


async def test_a_click_on_a_node_or_its_label_selects_that_node(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, viewport=WIDE) as page:
            await expect(await row(page, "three")).to_be_visible()
            for title in ("three", "side", "two"):
                for right in (-6, 3, 90):
                    await page.mouse.click(*await spot(page, title, right))
                    await expect(page.locator(SELECTED)).to_have_text(title)
                await page.mouse.click(*await spot(page, "one"))
                await expect(page.locator(SELECTED)).to_have_text("one")
            await expect(page.locator("#transcript")).to_contain_text("answer to one")


async def test_dragging_moves_the_picture_and_wheel_with_ctrl_zooms_it(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, viewport=WIDE) as page:
            await expect(await row(page, "three")).to_be_visible()
            x, y = await spot(page, "two", 60)
            await page.mouse.move(x, y + 250)
            await page.mouse.down()
            await page.mouse.move(x + 80, y + 170, steps=5)
            await page.mouse.up()
            await page.mouse.click(x + 80, y - 80)
            await expect(page.locator(SELECTED)).to_have_text("two")
            await page.keyboard.press("Control+Home")
            await page.mouse.move(x + 80, y - 80)
            await page.keyboard.down("Control")
            await page.mouse.wheel(0, 700)
            await page.keyboard.up("Control")
            await expect(page.locator("#graph .minimap")).to_be_hidden()
            await page.mouse.click(x + 80, y - 80)
            await expect(page.locator(SELECTED)).to_have_text("two")
            await page.get_by_role("button", name="Fit everything").click()
            await page.mouse.click(*await spot(page, "side", 60))
            await expect(page.locator(SELECTED)).to_have_text("side")


async def test_the_selection_stays_in_view_and_blank_space_has_a_way_back(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            node = await make(client, "turn 0")
            for number in range(1, 60):
                node = await make(client, f"turn {number}", node)
        async with browsing(server, viewport=WIDE) as page:
            await expect(page.locator("#graph .minimap")).to_be_visible()
            await page.locator('[role="tree"]').focus()
            await page.keyboard.press("End")
            await expect(page.locator(SELECTED)).to_have_text("turn 59")
            box = await page.locator("#graph .picture").bounding_box()
            middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
            x, y = await spot(page, "turn 59")
            assert box["x"] < x < box["x"] + box["width"] and box["y"] < y < box["y"] + box["height"]
            await page.mouse.click(x, y)
            await expect(page.locator(SELECTED)).to_have_text("turn 59")
            await page.mouse.move(*middle)
            for _ in range(20):
                await page.mouse.wheel(5000, 5000)
            painted = """(() => { const c = document.querySelector('#graph .picture');
                return c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((value) => value !== 0); })()"""
            await until(page, painted)


async def in_picture(page, title):
    await spot(page, title)
    return await page.evaluate("(words) => window.wordsSeen.get(words)", title)


async def test_a_new_turn_moves_nothing(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server, viewport=WIDE) as page, talk(server) as client:
            first, _second, side = await branched(client)
            await expect(await row(page, "side")).to_be_visible()
            await page.keyboard.press("f")
            await page.mouse.click(*await spot(page, "side"))
            await expect(page.locator(SELECTED)).to_have_text("side")
            titles = ("one", "two", "three", "side")
            before = [await in_picture(page, title) for title in titles]
            for title, parents in (("another start", ()), ("other side", (first,)), ("further", (side,))):
                await make(client, title, *parents)
                await expect(await row(page, title)).to_be_visible()
            assert [await in_picture(page, title) for title in titles] == before
            await (await row(page, "further")).click()
            await page.keyboard.press("Delete")
            await expect(await row(page, "further")).to_have_count(0)
            assert [await in_picture(page, title) for title in titles] == before
            await page.keyboard.press("Control+z")
            await expect(await row(page, "further")).to_be_visible()
            assert [await in_picture(page, title) for title in titles] == before


async def test_runs_fold_and_open(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            node = await make(client, "turn 0")
            for number in range(1, 8):
                node = await make(client, f"turn {number}", node)
        async with browsing(server, viewport=WIDE) as page:
            await expect(await row(page, "turn 7")).to_be_visible()
            await page.keyboard.press("z")
            await page.keyboard.press("f")
            await expect(page.get_by_role("button", name="Fold runs")).to_have_attribute("aria-pressed", "true")
            await page.mouse.click(*await spot(page, "turn 7", 10))
            await expect(page.locator(SELECTED)).to_have_text("turn 7")
            await page.mouse.click(*await spot(page, "6 turns", 10))  # the run: it opens
            await page.keyboard.press("f")
            await page.mouse.click(*await spot(page, "turn 4", 10))
            await expect(page.locator(SELECTED)).to_have_text("turn 4")


async def test_along_the_lines_by_keyboard(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            _first, second, side = await branched(client)
            await make(client, "both", second, side)
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "one")).click()
            await page.locator("#graph .picture").focus()
            for key, title in (
                ("ArrowDown", "two"), ("ArrowRight", "side"), ("ArrowDown", "both"), ("ArrowUp", "two"), ("[", "one"), ("]", "two"), ("k", "one"), ("j", "two"),
            ):  # fmt: skip
                await page.keyboard.press(key)
                await expect(page.locator(SELECTED)).to_have_text(title)
            label = await page.locator("#graph .picture").get_attribute("aria-label")
            assert "two" in label


async def test_the_outline_tells_lines_branches_merges_and_conversations_apart(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            _first, second, side = await branched(client)
            await make(client, "both", second, side)
            await make(client, "another start")
        async with browsing(server, viewport=WIDE) as page:
            await expect(await row(page, "another start")).to_be_visible()
            shown = await page.locator('[role="treeitem"]').evaluate_all(
                "(rows) => rows.map((row) => [row.ariaLevel, row.querySelector('.title').textContent])"
            )
            assert shown == [
                ["1", "another start"], ["1", "one"], ["2", "two"], ["2", "three"], ["2", "side"], ["2", "both"]
            ]  # fmt: skip
            await expect(await row(page, "both")).to_contain_text("Merges side")
            await expect(await row(page, "side")).to_contain_text("Branch, leaves one")
            await (await row(page, "both")).click()
            await expect(page.locator("#transcript .merged")).to_contain_text("Merges side")
            await page.locator(".fork").last.get_by_role("button", name="Previous branch").click()
            await expect(page.locator(SELECTED)).to_have_text("three")
