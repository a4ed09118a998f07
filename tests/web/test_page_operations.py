"""What can be done with turns, branches and flows on the page; each is one step of undo."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, branched, browsing, row

pytestmark = pytest.mark.slow


def read(path: Path) -> str:
    return path.read_text("utf-8")


async def command(page, words):
    await page.locator("#outline .tree").focus()
    await page.keyboard.press("Control+k")
    await page.keyboard.type(words)
    await page.keyboard.press("Enter")


async def test_a_turn_is_corrected_in_place(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            _, second, _ = await branched(client)
            await (await row(page, "two")).click()
            await expect(page.locator("#transcript")).to_contain_text("answer to two")
            await command(page, "Correct this turn")
            await page.locator("#dialog textarea[name=response]").fill("a better answer")
            await page.locator("#dialog textarea[name=summary]").fill("in short")
            await page.locator("#dialog input[name=tags]").fill("a, b")
            await page.locator("#dialog button.primary").click()
            await expect(page.locator("#transcript")).to_contain_text("a better answer")
            node = (await client.ask("get_node", node_id=second))["data"]
            assert (node["prompt"], node["summary"], node["tags"]) == ("two", "in short", ["a", "b"])
            await page.keyboard.press("Control+z")
            await expect(page.locator("#transcript")).to_contain_text("answer to two")


async def test_a_branch_is_named_moved_and_deleted_at_once(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            await client.ask("create_flow", name="research")
            async with browsing(server, viewport=WIDE) as page:
                await (await row(page, "two")).click()
                await command(page, "Name this branch")
                await page.keyboard.type("the long way")
                await page.keyboard.press("Enter")
                await expect(page.locator("#outline .named")).to_have_text("the long way")
                await command(page, "Delete this turn and all")
                await expect(await row(page, "three")).to_have_count(0)
                await page.keyboard.press("Control+z")
                await expect(await row(page, "three")).to_be_visible()
                await (await row(page, "two")).click()
                await command(page, "Move or copy")
                await page.locator("#dialog button.primary").click()
                await expect(await row(page, "three")).to_have_count(0)
                assert (await client.ask("count_flow", flow_id="research"))["data"]["turns"] == 2


async def test_a_flow_is_counted_and_deleted_and_a_branch_shared(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            async with browsing(server, viewport=WIDE) as page:
                await (await row(page, "three")).click()
                async with page.expect_download() as waiting:
                    await command(page, "Save this branch")
                text = read(await (await waiting.value).path())
                assert "answer to three" in text and "answer to side" not in text
                await command(page, "What this flow comes to")
                await expect(page.locator("#dialog")).to_contain_text("Turns4")
                await page.keyboard.press("Escape")
                await command(page, "Delete this flow")
                await page.get_by_role("button", name="Yes", exact=True).click()
                await expect(await row(page, "three")).to_have_count(0)
                assert (await client.ask("list_flows"))["data"]["flows"] == []
                await page.locator("#outline .tree").focus()
                await page.keyboard.press("Control+z")
                await expect(await row(page, "three")).to_be_visible()
