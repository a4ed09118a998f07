"""What is typed while a turn is at work goes into it, and is never lost. Real browser, real server."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving
from page_rig import Held, asked, browsing, send
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

LOOK = Turn("Looking around.", [Call("list", {"path": "."})])


async def say_now(page, text):
    await page.fill("#prompt", text)
    await expect(page.locator("#composer button[data-act=steer]")).to_be_enabled()
    await page.keyboard.press("Enter")


async def test_a_turn_at_work_hears_what_is_typed_and_everybody_sees_it(bench):
    first = Held(LOOK)
    with ScriptedModel([first, Turn("Done.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page, browsing(server) as other:
            await expect(other.locator("#composer button[data-act=send]")).to_be_enabled()
            await send(page, "look around")
            await asked(model)
            await expect(page.locator("#composer .chips")).to_contain_text("Goes into the turn at work")
            await say_now(page, "mind the tests")
            await expect(page.locator(".unheard")).to_contain_text("mind the tests")
            await expect(page.locator("#prompt")).to_have_value("")
            await other.get_by_role("button", name="Go there").click()
            await expect(other.locator(".unheard")).to_contain_text("mind the tests")
            await page.reload()
            await expect(page.locator(".unheard")).to_contain_text("mind the tests")
            first.release()
            await expect(page.locator("#transcript")).to_contain_text("Done.")
            await expect(page.locator(".unheard")).to_have_count(0)
            await expect(page.locator("#transcript .turn.selected .meanwhile")).to_contain_text("mind the tests")
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await expect(page.locator("#composer .chips")).to_contain_text("Continues")
            for each in (page, other):
                await expect(each.locator("#prompt")).to_have_value("")
        assert "mind the tests" in str(model.turns[1].json)


async def test_what_came_too_late_goes_back_to_who_typed_it(bench):
    last = Held(Turn("All done."))
    with ScriptedModel([last]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page, browsing(server) as other:
            await expect(other.locator("#composer button[data-act=send]")).to_be_enabled()
            await send(page, "just answer")
            await asked(model)
            await other.get_by_role("button", name="Go there").click()
            await say_now(page, "and in French")
            await expect(page.locator(".unheard")).to_contain_text("and in French")
            last.release()
            await expect(page.locator("#transcript")).to_contain_text("All done.")
            await expect(page.locator("#prompt")).to_have_value("and in French")
            await expect(other.locator("#transcript")).to_contain_text("All done.")
            assert await other.input_value("#prompt") == "", "only who typed it gets it back"


async def test_plain_chat_has_no_turn_to_talk_into(bench):
    answer = Held(Turn("Hello."))
    with ScriptedModel([answer]) as model, serving(bench, "vizprompt", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "hello")
            await asked(model)
            await expect(page.locator("#composer button[data-act=send]")).to_be_disabled()
            answer.release()
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
