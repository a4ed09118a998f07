"""Turns on the page: several at once, several browsers, and servers that go away. Real browser, real server."""

from __future__ import annotations

import asyncio
import re
from contextlib import ExitStack

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import agree, answered, asked, browsing, first_look_refused, make, row, send
from ports import steady_port
from scripted_model import Call, Fault, ScriptedModel, Turn

pytestmark = pytest.mark.slow

SLOW = Turn("late", fault=Fault.slow(60))
WRITE = [Turn("I'll write it.", [Call("writeFile", {"path": "a.txt", "content": "one\\n"})]), Turn("Written.")]


async def test_a_server_that_restarts_in_the_middle_of_a_turn(bench):
    script = [SLOW, Turn("second try")]
    with ScriptedModel(script) as model, ExitStack() as servers:
        again = "--token", "t", "--port", str(steady_port())
        server = servers.enter_context(serving(bench, "nebula", *again, **model.env()))
        async with browsing(server) as page:
            await send(page, "Take your time")
            await expect(page.locator("#transcript .working")).to_contain_text("waiting for the model")
            await asked(model)
            server.process.kill()
            await expect(page.locator("#banner")).to_contain_text("connection is lost")
            servers.enter_context(serving(bench, "nebula", *again, **model.env()))
            await expect(page.locator("#banner")).to_be_hidden()
            await expect(page.locator("#transcript .working")).to_have_count(0)
            await expect(page.locator("#transcript")).to_contain_text("The server was restarted")
            await expect(page.locator("#prompt")).to_have_value("Take your time")
            await page.click("#composer button[type=submit]")
            await expect(page.locator("#transcript")).to_contain_text("second try")
            await expect(page.locator("#prompt")).to_have_value("")
            page.complaints.clear()  # the browser's own remark that nobody answered


async def test_what_was_typed_about_a_turn_outlives_the_server(bench):
    with ExitStack() as servers:
        again = "--token", "t", "--port", str(steady_port())
        server = servers.enter_context(serving(bench, "vizprompt", *again))
        async with talk(server) as client:
            node = await make(client, "one")
        async with browsing(server) as page:
            await page.locator(".first-view li button").click()
            await expect(page.locator("#transcript .selected")).to_contain_text("answer to one")
            await page.keyboard.press("E")
            answer, note = page.locator(".correcting [name=response]"), page.locator("#dialog [name=note]")
            await answer.fill("a better answer")
            server.process.kill()
            server.process.wait()
            await expect(page.locator("#banner")).to_contain_text("connection is lost")
            await page.keyboard.press("Control+Enter")
            await expect(answer).to_have_value("a better answer")
            await page.locator("#transcript").focus()
            await page.keyboard.press("N")
            await note.fill("ask Aoi")
            await page.locator("#dialog button.primary").click()
            await expect(page.locator("#dialog .told")).to_contain_text("connection is lost")
            await page.keyboard.press("Escape")
            name = page.get_by_label("Name of the flow")
            await page.keyboard.press("Control+k")
            await page.keyboard.type("Rename the flow")
            await page.keyboard.press("Enter")
            await name.fill("by and by")
            await name.press("Enter")
            await expect(name).to_have_value("by and by")
            server = servers.enter_context(serving(bench, "vizprompt", *again))
            await expect(page.locator("#banner")).to_be_hidden()
            await name.press("Enter")
            await expect(page.locator("#dialog")).to_be_hidden()
            await answer.press("Control+Enter")
            await expect(answer).to_have_count(0)
            await page.locator("#transcript").focus()
            await page.keyboard.press("N")
            await expect(note).to_have_value("ask Aoi")
            await page.locator("#dialog button.primary").click()
            await expect(page.locator("#dialog")).to_be_hidden()
            await expect(page.locator("#transcript .selected .response")).to_contain_text("a better answer")
            async with talk(server) as client:
                kept = (await client.ask("get_node", node_id=node))["data"]
                flows = (await client.ask("list_flows"))["data"]["flows"]
            assert (kept["response"], kept["note"]) == ("a better answer", "ask Aoi")
            assert sorted(each["name"] for each in flows) == ["by and by"]
            page.complaints.clear()  # the browser's own remark that nobody answered


async def test_a_tab_with_an_old_token_takes_the_new_address(bench):
    with serving(bench, "nebula", "--token", "right") as server:
        address, server.address = server.address, server.address.replace("right", "wrong")
        async with browsing(server) as page:
            await expect(page.locator("#banner")).to_contain_text("needs the token")
            await page.goto(address)  # the same page with another hash: the browser loads nothing
            await expect(page.locator("#banner")).to_be_hidden()
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await expect(page).not_to_have_url(re.compile("#"))
            await first_look_refused(page)


async def test_the_prompt_of_a_failed_turn_goes_back_to_the_box(bench):
    with (
        ScriptedModel([Fault.status_code(400), Turn("fine")]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with browsing(server) as page, browsing(server) as other:
            await expect(other.locator("#composer button[data-act=send]")).to_be_enabled()
            await send(page, "Do it well")
            await expect(page.locator("#prompt")).to_have_value("Do it well")
            await expect(page.locator("#transcript .remark")).not_to_have_count(0)
            assert await other.input_value("#prompt") == "", "only who typed it gets it back"
            await page.click("#composer button[type=submit]")
            await expect(page.locator("#transcript")).to_contain_text("fine")


async def test_a_second_browser_sees_a_question_that_waits(bench):
    with ScriptedModel(WRITE) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "Write a.txt")
            await expect(page.locator(".question")).to_contain_text("Write a.txt")
            async with browsing(server) as other:
                await expect(other.locator(".question")).to_contain_text("Write a.txt")
                await agree(other)
                await expect(other.locator("#transcript")).to_contain_text("Written.")
            await expect(page.locator(".question")).to_have_count(0)
            await expect(page.locator("#transcript")).to_contain_text("Written.")
    assert (bench.project / "a.txt").exists()


AT_WORK = re.compile("Working|waiting for the model")


async def test_another_branch_is_free_while_one_is_at_work(bench):
    script = [Turn("root answer"), SLOW, Turn("from the start")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page, talk(server) as client:
            await send(page, "root")
            await answered(page, "root answer")
            await send(page, "slow branch")
            await expect(page.locator("#transcript .working")).to_contain_text(AT_WORK)
            await page.get_by_role("button", name="New conversation").click()
            await expect(page.locator("#stage")).to_contain_text("A turn is at work in another branch")
            await send(page, "elsewhere")
            await answered(page, "from the start")
            await (await row(page, "root")).click()
            await expect(page.locator("#transcript .working")).to_contain_text(AT_WORK)
            await expect(page.locator("#transcript .live")).to_contain_text("slow branch")
            [turn] = (await client.ask("hello"))["data"]["turns"]
            await page.get_by_role("button", name="Stop").click()
            await expect(page.locator("#transcript .working")).to_have_count(0)
            assert turn["prompt"] == "slow branch"


async def test_a_new_conversation_is_new_while_another_is_being_begun(bench):
    with ScriptedModel([SLOW, Turn("answer to two")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "one")
            await expect(page.locator("#transcript .live")).to_contain_text("one")
            await asked(model)
            await page.get_by_role("button", name="New conversation").click()
            await expect(page.locator("#composer .chips")).to_contain_text("Starts a new conversation")
            await send(page, "two")
            await answered(page, "answer to two")
            await page.get_by_role("button", name="Go there").click()
            await expect(page.locator("#transcript .live")).to_contain_text("one")
            await page.get_by_role("button", name="Stop").click()
            await expect(page.locator("#transcript .working")).to_have_count(0)
            await expect(page.locator("#prompt")).to_have_value("one")
            await expect(page.locator("#transcript .remark")).to_have_count(1)
            await expect(page.locator(".failed")).to_have_count(0)  # who stops a turn need not be told that it failed


async def test_a_second_turn_begins_beside_one_at_work_from_the_same_node(bench):
    script = [Turn("root answer"), SLOW, Turn("quick answer")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page, talk(server) as client:
            await send(page, "root")
            await answered(page, "root answer")
            await send(page, "slow")
            await asked(model, 2)
            await page.get_by_role("button", name="Start beside it").click()
            await send(page, "quick")
            await answered(page, "quick answer")
            [turn] = (await client.ask("hello"))["data"]["turns"]
            assert turn["prompt"] == "slow"
            await expect(page.locator("#stage")).to_contain_text("A turn is at work in another branch")


async def test_trusted_types_hold(bench):
    """Even a mistake in the page cannot turn a string into markup."""
    with serving(bench, "nebula") as server:
        async with browsing(server) as page:
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            for attempt in (
                "document.body.innerHTML = '<b>x</b>'",
                "document.body.insertAdjacentHTML('beforeend', '<b>x</b>')",
                "document.createElement('script').text = '1'",
                "new DOMParser().parseFromString('<b>x</b>', 'text/html')",
            ):
                outcome = await page.evaluate(
                    "(code) => { try { (0, eval)(code); return 'done'; } catch (e) { return e.name; } }", attempt
                )
                assert outcome in ("TypeError", "EvalError"), attempt
            refused = await page.evaluate(
                "(() => { try { document.body.innerHTML = '<b>x</b>'; return 'done'; } catch (e) { return e.name; } })()"
            )
            assert refused == "TypeError"
            page.complaints.clear()  # the policy's own remarks


async def test_a_terminal_and_two_browsers_see_each_other(bench):
    script = [Turn("from the terminal"), Turn("from the page")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page, browsing(server) as other:
            for each in (page, other):
                await expect(each.locator("#composer button[data-act=send]")).to_be_enabled()
            ran = await asyncio.to_thread(bench.run, "nebula", "-p", "asked in a terminal", **model.env())
            assert ran.code == 0, ran
            for each in (page, other):
                await expect(await row(each, "asked in a terminal")).to_be_visible()
            await (await row(page, "asked in a terminal")).click()
            await send(page, "asked on the page")
            await expect(await row(other, "asked on the page")).to_be_visible()
            shown = await asyncio.to_thread(
                bench.run, "vizprompt", "--data-dir", ".nebula/graph", "flow", "show", "main"
            )
            assert shown.code == 0 and "→" in shown.out, shown
