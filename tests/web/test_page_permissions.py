"""What goes without asking in a conversation is seen on the page, and taken back there without a pointer."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, agree, answered, browsing, send
from page_rig.axe import AXE, FIND
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow


async def test_a_yes_to_all_is_marked_where_it_counts_and_taken_back_by_keys(bench):
    write = [Turn("", [Call("writeFile", {"path": f"{name}.txt", "content": "x\n"})]) for name in "abc"]
    online = Turn("", [Call("runCommand", {"command": "true", "network": True})])
    script = [write[0], online, Turn("One."), write[1], Turn("Two."), write[2], Turn("Three.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE, locale="ja-JP") as page, talk(server) as client:
            mark, rows = page.locator("#allowed"), page.locator("ul.allowed li")
            await send(page, "first")
            for _ in range(2):
                await page.locator(".question .more").click()
                await page.locator("#always button").click()
            await answered(page, "One.")
            await expect(mark).to_have_text("すべて確認なし")

            # A new conversation has none of it: it is asked about.
            await page.locator("#transcript").focus()
            await page.keyboard.press("n")
            await expect(mark).to_have_count(0)
            await send(page, "second")
            await agree(page)
            await answered(page, "Two.")
            await expect(mark).to_have_count(0)

            # Back in the first, it is taken back by keys alone, one and then all.
            await page.locator('[role="treeitem"]', has_text="first").click()
            await expect(mark).to_be_visible()
            await page.fill("#prompt", "/perm")
            await expect(page.locator("#slash-list")).to_contain_text("/permissions revoke [NAME]確認なしに行うもの")
            await page.keyboard.press("Enter")
            await expect(page.locator("#prompt")).to_have_value("/permissions ")
            await page.keyboard.press("Enter")
            await expect(rows).to_have_count(2)
            await page.evaluate(AXE)
            assert await page.evaluate(FIND) == []
            await page.keyboard.press("Tab")
            await page.keyboard.press("Tab")
            await expect(rows.first.locator("button")).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(rows).to_have_count(1)
            await expect(page.locator("#dialog .told")).to_contain_text("以後は再び確認します: *")
            await page.keyboard.press("Escape")
            await expect(mark).to_have_text("network は確認なし")
            await page.fill("#prompt", "/permissions revoke network")
            await page.keyboard.press("Enter")
            await expect(mark).to_have_count(0)
            assert (await client.ask("list_permissions"))["data"] == {"permissions": []}
            await expect(page.locator("#prompt")).to_have_value("")
            await send(page, "third")
            await agree(page)
            await answered(page, "Three.")
    assert len(model.turns) == len(script), "no word of it went to the model"
