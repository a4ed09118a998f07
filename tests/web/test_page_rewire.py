"""Working on the conversation itself: again, otherwise, connect, take apart, delete, name, find."""

from __future__ import annotations

import signal

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import SELECTED, WIDE, Held, answered, branched, browsing, make, row, send, spot, until
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow


async def connections(client):
    flow = (await client.ask("get_flow"))["data"]
    return {(each["source"], each["target"]) for each in flow["connections"]}


async def test_backstage_of_an_old_turn_after_a_reload(bench):
    bench.write("app.py", "the content\n")
    script = [Turn("Looking.", [Call("readFile", {"path": "app.py"})]), Turn("Seen."), Turn("Plain.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "Look at it")
            await answered(page, "Seen.")
            await send(page, "Say something")
            await answered(page, "Plain.")
            await page.reload()
            await page.click("#toggle-backstage")
            await expect(page.locator("#backstage")).to_contain_text("No tools were used")
            await (await row(page, "Look at it")).click()
            await expect(page.locator("#backstage summary")).to_have_text(["readFileapp.pySuccess"])
            await page.locator("#backstage summary").last.click()
            await expect(page.locator("#backstage pre").last).to_contain_text("the content")
            await expect(page.locator("#graph .picture")).to_be_visible()


async def test_retry_and_edit_make_turns_beside(bench):
    script = [Turn("root"), Turn("first answer"), Turn("second answer"), Turn("third answer")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page, talk(server) as client:
            for prompt, answer in (("start", "root"), ("question", "first answer")):
                await send(page, prompt)
                await answered(page, answer)
            await expect(page.locator(SELECTED)).to_have_text("question")
            await page.locator(".selected").get_by_role("button", name="Retry").click()
            await answered(page, "second answer")
            await expect(page.locator(".fork").last).to_contain_text("2 of 2 from here")
            await page.locator(".selected").get_by_role("button", name="Edit and branch").click()
            await expect(page.locator("#prompt")).to_have_value("question")
            await expect(page.locator(".chip")).to_contain_text("start")
            await send(page, "another question")
            await answered(page, "third answer")
            await expect(page.locator(".fork").last).to_contain_text("3 of 3 from here")
            assert len({source for source, _ in await connections(client)}) == 1
            assert len(await connections(client)) == 3


async def test_retry_and_edit_of_a_first_prompt_make_tries_of_one(bench):
    script = [Turn("first answer"), Turn("second answer"), Turn("third answer"), Turn("elsewhere")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page, talk(server) as client:
            await send(page, "question")
            await answered(page, "first answer")
            await page.locator(".selected").get_by_role("button", name="Retry").click()
            await answered(page, "second answer")
            await expect(page.locator(".fork")).to_contain_text("2 of 2 from here")
            await page.locator(".fork").get_by_role("button", name="previous").click()
            await expect(page.locator(".transcript, #transcript").first).to_contain_text("first answer")
            await expect(page.locator(".fork")).to_contain_text("1 of 2 from here")
            await page.locator(".selected").get_by_role("button", name="Edit and branch").click()
            await send(page, "another question")
            await answered(page, "third answer")
            await expect(page.locator(".fork")).to_contain_text("3 of 3 from here")
            await expect(page.locator("#outline .row.try")).to_have_count(2)
            await page.reload()
            await expect(page.locator("#outline .row.try")).to_have_count(2)
            await expect(page.locator("#outline .row.try").first).to_contain_text("Another try of question")
            flow = (await client.ask("get_flow"))["data"]
            first, *others = flow["nodes"]
            bodies = [(await client.ask("get_node", node_id=each["id"]))["data"] for each in (first, *others)]
            assert [body.get("beginning", "") for body in bodies] == ["", bodies[0]["id"], bodies[0]["id"]]
            assert all(body["beside"] == [each["id"] for each in bodies] for body in bodies)
            assert await connections(client) == set()


async def test_drag_to_connect_undo_redo_and_no_circles(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            before = await connections(client)
            async with browsing(server, viewport=WIDE) as page:
                await expect(await row(page, "side")).to_be_visible()

                async def drag(start, end):
                    await page.mouse.move(*await spot(page, start, 10))
                    await page.mouse.down()
                    await page.mouse.move(*await spot(page, end, 10), steps=6)
                    await page.mouse.up()

                await drag("side", "three")
                await expect(page.locator("#banner")).to_contain_text("Connected")
                await expect(await row(page, "three")).to_contain_text("Merges side")
                assert len(await connections(client) - before) == 1
                await drag("three", "one")
                await expect(page.locator("#banner")).to_contain_text("circle")
                await page.keyboard.press("Control+z")
                await expect(await row(page, "three")).not_to_contain_text("Merges side")
                assert await connections(client) == before
                await page.keyboard.press("Control+Shift+z")
                await expect(await row(page, "three")).to_contain_text("Merges side")
                await (await row(page, "three")).click()
                await page.get_by_role("button", name="No longer merge side").click()
                await expect(await row(page, "three")).not_to_contain_text("Merges side")
                assert await connections(client) == before


async def test_delete_tags_and_names(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            first = await make(client, "one")
            await make(client, "two", first)
            async with browsing(server, viewport=WIDE) as page:
                await (await row(page, "two")).click()
                await expect(page.locator("#transcript")).to_contain_text("answer to two")
                await page.keyboard.press("t")
                await page.keyboard.type("alpha, beta")
                await page.keyboard.press("Enter")
                await expect(page.locator("#transcript .tag")).to_have_text(["alpha", "beta"])
                await page.locator("#transcript").focus()
                await page.keyboard.press("Delete")
                await expect(await row(page, "two")).to_have_count(0)
                await page.keyboard.press("Control+z")
                await expect(await row(page, "two")).to_be_visible()
                await page.keyboard.press("Control+k")
                await page.keyboard.type("New flow")
                await page.keyboard.press("Enter")
                await page.keyboard.type("research")
                await page.keyboard.press("Enter")
                await expect(page.locator("#flows option:checked")).to_have_text("research")
                names = [flow["name"] for flow in (await client.ask("list_flows"))["data"]["flows"]]
                assert sorted(names) == ["main", "research"]


async def test_a_search_counts_all_hits_and_starts_at_the_top(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for number in range(1030):
                await client.send("create_node", prompt=f"needle {number}")
            await client.ask("create_node", prompt="other")
        async with browsing(server, viewport=WIDE) as page:
            await page.locator('[role="tree"]').focus()
            await page.keyboard.press("End")
            await page.fill("#search", "needle")
            await expect(page.locator(".count")).to_have_text("1030 found, the newest 1000 shown")
            await until(page, "document.querySelector('.tree').scrollTop === 0")
            await page.fill("#search", "other")
            await expect(page.locator(".count")).to_have_text("1 found")


async def test_a_frozen_server_is_noticed_and_recovered_from(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "before")
        async with browsing(server) as page:
            await expect(await row(page, "before")).to_be_visible()
            server.process.send_signal(signal.SIGSTOP)
            try:  # how soon is held by link.test.js
                await expect(page.locator("#banner")).to_contain_text("connection is lost")
            finally:
                server.process.send_signal(signal.SIGCONT)
            await expect(page.locator("#banner")).to_be_hidden()
            async with talk(server) as client:
                await make(client, "after")
            await expect(await row(page, "after")).to_be_visible()
            page.complaints.clear()  # the browser's own remarks on lines that were given up


async def test_summaries_are_asked_for_counted_and_stopped(bench):
    reply = Turn('{"summary": "a summary", "tags": ["t"]}')
    held = Held(reply)
    with (
        ScriptedModel([reply, reply, held, held, reply, reply]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with talk(server) as client:
            for number in range(6):
                await make(client, f"turn {number}")
        async with browsing(server, viewport=WIDE) as page:
            await page.get_by_role("button", name="Build summaries").click()
            await expect(page.locator("#dialog")).to_contain_text("summarise 6 turns")
            assert model.turns == []
            await page.get_by_role("button", name="Build", exact=True).click()
            await expect(page.locator(".below")).to_contain_text("Building 2 of 6")
            await page.locator(".below").get_by_role("button", name="Stop").click()
            held.release()
            await expect(page.locator("#banner")).to_contain_text("4 summaries built")
            assert len(model.turns) == 4


async def test_the_context_is_shown_before_it_is_sent(bench):
    with ScriptedModel([Turn("answer")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            first = await make(client, "one")
            await make(client, "two", first)
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "two")).click()
            await page.fill("#prompt", "and then?")
            await page.get_by_role("button", name="Context", exact=True).click()
            await expect(page.locator(".preview summary")).to_have_count(2)
            await expect(page.locator(".preview summary").last).to_contain_text("twoin full")
            await page.locator(".preview summary").last.click()
            await expect(page.locator(".preview pre").last).to_contain_text("answer to two")
            assert model.turns == []
            await (await row(page, "one")).click()
            await expect(page.locator(".preview summary")).to_have_count(1)
