"""Commands after a slash, on the page: offered, completed by keys, sent as what they stand for."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving
from page_rig import WIDE, answered, browsing
from scripted_model import ScriptedModel, Turn

pytestmark = pytest.mark.slow


async def test_a_command_of_a_file_is_offered_completed_and_sent(bench):
    bench.write(".nebula/commands/fix.md", "---\ndescription: Repairs a file\n---\nRepair $1 please.")
    bench.write(".nebula/commands/ship.md", "Ship it.")
    with ScriptedModel([Turn("Repaired.")]) as model, serving(bench, "nebula", "--trust", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await page.focus("#prompt")
            await page.keyboard.type("/")
            rows = page.locator("#slash-list [role=option]")
            await expect(rows).to_have_count(3)
            await expect(rows.first).to_contain_text("/fix Repairs a file")
            await page.keyboard.press("ArrowDown")
            await expect(rows.nth(1)).to_have_attribute("aria-selected", "true")
            await expect(page.locator("#prompt")).to_have_attribute("aria-activedescendant", "slash-1")
            await page.keyboard.type("fi")
            await expect(rows).to_have_count(1)
            await page.keyboard.press("Enter")
            await expect(page.locator("#prompt")).to_have_value("/fix ")
            await expect(rows).to_have_count(0)
            await page.keyboard.type("a.py")
            await page.keyboard.press("Enter")
            await answered(page, "Repaired.")
            await expect(page.locator(".selected .prompt")).to_contain_text("Repair a.py please.")
            await expect(page.locator("#prompt")).to_have_value("")
    assert "Repair a.py please." in model.turns[0].json["messages"][-1]["content"]


async def test_a_name_that_nothing_has_is_told_and_kept(bench):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE, locale="ja-JP") as page:
            await page.focus("#prompt")
            await page.keyboard.type("/nothing here")
            before = await page.locator("#transcript").bounding_box()
            await page.keyboard.press("Enter")
            await expect(page.locator("#banner")).to_contain_text("コマンド /nothing はありません")
            assert await page.locator("#transcript").bounding_box() == before  # it stands over the page
            await expect(page.locator("#prompt")).to_have_value("/nothing here")
    assert model.turns == []


async def test_escape_shuts_the_offer_and_leaves_what_was_typed(bench):
    bench.write(".nebula/commands/ship.md", "Ship it.")
    bench.write("src/speed limits.py", "RATE = 5\n")
    with ScriptedModel([]) as model, serving(bench, "nebula", "--trust", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await page.focus("#prompt")
            await page.keyboard.type("/s")
            await expect(page.locator("#slash-list")).to_be_visible()
            await page.keyboard.press("Escape")
            await expect(page.locator("#slash-list")).to_have_count(0)
            await expect(page.locator("#prompt")).to_be_focused()
            await expect(page.locator("#prompt")).to_have_value("/s")
            await page.keyboard.press("Control+A")
            await page.keyboard.press("Delete")
            await page.keyboard.type("/")
            await page.locator("#slash-list li").first.click()
            await expect(page.locator("#prompt")).to_have_value("/ship ")
            await page.keyboard.type("with @limi")  # a file of the project, in the middle of a text
            await expect(page.get_by_role("listbox", name="Files").locator("li")).to_have_text(["speed limits.py src/"])
            await page.keyboard.press("Enter")
            await expect(page.locator("#prompt")).to_have_value('/ship with @"src/speed limits.py" ')
            await expect(page.locator("#slash-list")).to_have_count(0)
