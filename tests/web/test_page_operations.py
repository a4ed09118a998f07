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
            turn = page.locator("#transcript .selected")
            await expect(turn.get_by_label("Prompt")).to_be_focused()
            await turn.get_by_label("Answer").fill("a better answer")
            await (await row(page, "one")).click()  # what was typed waits there
            await expect(page.locator("#transcript .correcting")).to_have_count(0)
            await (await row(page, "two")).click()
            await expect(turn.get_by_label("Answer")).to_have_value("a better answer")
            await turn.get_by_label("Summary").fill("in short")
            await turn.get_by_label("Tags").fill("a, b")
            await page.keyboard.press("Control+Enter")
            await expect(page.locator("#transcript .correcting")).to_have_count(0)
            await expect(page.locator("#transcript")).to_contain_text("a better answer")
            node = (await client.ask("get_node", node_id=second))["data"]
            assert (node["prompt"], node["summary"], node["tags"]) == ("two", "in short", ["a", "b"])
            await page.keyboard.press("Control+z")
            await expect(page.locator("#transcript")).to_contain_text("answer to two")
            await page.keyboard.press("E")
            await page.keyboard.type("no, ")
            await page.keyboard.press("Escape")
            await expect(page.locator("#transcript .selected .prompt")).to_have_text("Youtwo")


async def test_a_branch_is_named_moved_and_deleted_at_once(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            third = (await client.ask("get_flow", compact=True))["data"]["ids"][2]
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
                await (await row(page, "three")).click()
                await command(page, "Move or copy")
                await client.ask("move_branch", node_id=third, to="research")  # meanwhile, by somebody else
                await expect(await row(page, "three")).to_have_count(0)
                await page.locator("#dialog button.primary").click()
                await expect(page.locator("#dialog")).to_contain_text("That turn is not there any more.")
                await page.keyboard.press("Escape")
                assert (await client.ask("get_flow", compact=True))["data"]["ids"] != []
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
                await page.get_by_role("button", name="Delete this flow", exact=True).click()
                await expect(await row(page, "three")).to_have_count(0)
                assert (await client.ask("list_flows"))["data"]["flows"] == []
                await page.locator("#outline .tree").focus()
                await page.keyboard.press("Control+z")
                await expect(await row(page, "three")).to_be_visible()


async def test_two_turns_are_connected_by_keys_or_the_menu_alone(bench):
    """What a line drawn in the graph does, for those who cannot draw one."""
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            first, second, side = await branched(client)

            async def pairs():
                flow = (await client.ask("get_flow"))["data"]
                return {(each["source"], each["target"]) for each in flow["connections"]}

            await (await row(page, "side")).click()
            await expect(page.locator("#transcript .selected")).to_contain_text("answer to side")
            await page.locator("#outline .tree").focus()
            await page.keyboard.press("l")
            offered = page.locator("#palette-list li")
            await expect(offered.locator(".label")).to_have_text(
                ["three", "two"]
            )  # neither itself nor what it comes from
            await page.keyboard.type("tw")
            await expect(offered).to_have_count(1)
            await page.keyboard.press("Enter")
            await expect(page.locator("#banner")).to_contain_text("Connected")
            assert await pairs() >= {(first, second), (side, second)}
            await page.keyboard.press("Control+z")
            await expect(page.locator("#banner")).to_contain_text("Undone")
            assert (side, second) not in await pairs()
            await page.locator("#transcript .selected [popovertarget=turn-menu]").click()
            await page.get_by_role("button", name="Connect this turn to another").click()
            await offered.filter(has_text="two").click()
            await expect(page.locator("#banner")).to_contain_text("Connected")
            assert (side, second) in await pairs()


async def test_a_turn_opens_a_flow_that_is_there_and_none_any_more(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            await client.ask("create_flow", name="research")
            async with browsing(server, viewport=WIDE) as page:
                await (await row(page, "two")).click()
                opens = (await row(page, "two")).locator(".marks .icon")
                await expect(opens).to_have_count(0)
                for name, count in (("research", 1), ("None any more", 0)):
                    await command(page, "Let this turn open a flow")
                    await page.locator("#palette-list li", has_text=name).click()
                    await expect(opens).to_have_count(count)
                await page.locator("#outline .tree").focus()
                await page.keyboard.press("Control+z")
                await expect(opens).to_have_count(1)
                await page.keyboard.press("o")
                await expect(page.locator("#flows option:checked")).to_have_text("research")
