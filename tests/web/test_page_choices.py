"""What goes with a prompt, how a search is narrowed, what is remembered, and the figures."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from nebula.graph.graph import Graph
from nebula.graph.values import Utterance
from page_rig import SELECTED, WIDE, Held, agree, asked, browsing, make, row, send, until
from scripted_model import Call, Fault, ScriptedModel, Turn

pytestmark = pytest.mark.slow


async def test_the_model_is_chosen_and_remembered(bench):
    with ScriptedModel([Turn("one"), Turn("two")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await page.focus("#model")
            await expect(page.locator("#model option", has_text="gpt-4.1-mini")).to_be_attached()
            await page.select_option("#model", "openai/gpt-4.1-mini")
            await send(page, "first")
            await expect(page.locator("#transcript .facts").last).to_contain_text("gpt-4.1-mini")
            await page.reload()
            await expect(page.locator("#model")).to_have_value("openai/gpt-4.1-mini")
            await send(page, "second")
            await expect(page.locator("#transcript")).to_contain_text("two")
        assert [each.json["model"] for each in model.turns] == ["gpt-4.1-mini", "gpt-4.1-mini"]


async def test_the_context_is_trimmed_and_added_to_and_sent_as_shown(bench):
    with ScriptedModel([Turn("answer")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            first = await make(client, "the beginning")
            await make(client, "the middle", first)
            await make(client, "something else")
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "the middle")).click()
            await page.get_by_role("button", name="Context", exact=True).click()
            parts = page.locator(".preview summary")
            await expect(parts).to_have_count(2)
            await expect(page.locator(".preview > p").first).to_contain_text(
                re.compile(r"tokens.*\$0\.0.*gpt-4\.1-nano")
            )
            before = await page.locator(".preview > p").first.inner_text()
            await page.get_by_role("button", name="Leave out the beginning").click()
            await expect(parts).to_have_count(1)
            await expect(page.locator(".preview > p").first).not_to_have_text(before)
            await (await row(page, "something else")).drag_to(page.locator("#prompt"))
            await expect(page.locator(".chip.reference")).to_contain_text("something else")
            await expect(parts).to_have_count(2)
            await page.get_by_role("button", name="Take in the beginning").click()
            await expect(parts).to_have_count(3)
            await page.get_by_role("button", name="Leave out the beginning").click()
            await expect(parts).to_have_count(2)
            await send(page, "go")
            await asked(model)
            await expect(page.locator(".chip.reference")).to_have_count(0)
        sent = json.dumps(model.turns[0].json["messages"])
        assert "answer to the middle" in sent and "answer to something else" in sent
        assert "answer to the beginning" not in sent


async def test_a_line_drawn_from_the_graph_to_the_prompt_makes_a_reference(bench):
    from page_rig import spot

    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "only one", await make(client, "the first"))
        async with browsing(server, viewport=WIDE) as page:
            await expect(await row(page, "only one")).to_be_visible()
            await page.mouse.move(*await spot(page, "only one", 10))
            await page.mouse.down()
            box = await page.locator("#prompt").bounding_box()
            await page.mouse.move(box["x"] + 50, box["y"] + 10, steps=5)
            await page.mouse.up()
            await expect(page.locator(".chip.reference")).to_contain_text("only one")


async def test_a_search_is_narrowed_marked_and_walked_by_keys(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for number in range(4):
                tags, name = ["even"] if number % 2 == 0 else [], "big" if number < 2 else "small"
                await client.ask("create_node", prompt=f"word {number}", tags=tags, model=name)
        async with browsing(server, viewport=WIDE) as page:
            await page.fill("#search", "word")
            await expect(page.locator(".count")).to_have_text("4 found")
            await expect(page.locator("#outline mark").first).to_have_text("word")
            await page.get_by_role("button", name="Filter").click()
            await page.get_by_label("Tag", exact=True).select_option("even")
            await expect(page.locator(".count")).to_have_text("2 found")
            await page.get_by_label("Model", exact=True).first.select_option("small")
            await expect(page.locator(".count")).to_have_text("1 found")
            await expect(page.get_by_role("treeitem")).to_have_text(re.compile("word 2"))
            await page.get_by_label("File touched").fill("app.py")
            await page.keyboard.press("Enter")
            await expect(page.locator(".count")).to_have_text("Nothing found.")
            await page.get_by_role("button", name="Clear").click()
            await expect(page.locator(".count")).to_have_text("4 found")
            await page.locator("#transcript").focus()
            seen = []
            for key in (".", ".", ",", "."):
                await page.keyboard.press(key)
                if seen:
                    await expect(page.locator(SELECTED)).not_to_have_text(seen[-1])
                seen.append(await page.locator(SELECTED).inner_text())
            assert seen[0] == seen[2] and seen[1] == seen[3] and seen[0] != seen[1]


async def test_a_search_is_narrowed_to_the_last_days(bench):
    folder = bench.project / "data"
    with Graph(folder) as graph:
        for days, words in ((40, "long ago"), (3, "these days")):
            moment = datetime.now(UTC) - timedelta(days=days)
            graph.add_turn(texts=[Utterance("user", f"word, {words}")], timestamp=moment.isoformat(timespec="seconds"))
    with serving(bench, "vizprompt", "--data-dir", str(folder)) as server:
        async with browsing(server, viewport=WIDE) as page:
            await page.fill("#search", "word")
            await expect(page.locator(".count")).to_have_text("2 found")
            await page.get_by_role("button", name="Filter").click()
            await page.get_by_label("Time", exact=True).select_option(label="Last 7 days")
            await expect(page.locator(".count")).to_have_text("1 found")
            await expect(page.get_by_role("treeitem")).to_have_text(re.compile("these days"))
            await page.get_by_label("Time", exact=True).select_option(label="Last 1 day")
            await expect(page.locator(".count")).to_have_text("Nothing found.")


async def test_panels_keep_the_width_they_were_given(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server, viewport=WIDE) as page:
            edge = page.get_by_role("separator", name="Width of Outline")
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            box = await edge.bounding_box()
            before = (await page.locator("#outline").bounding_box())["width"]
            await page.mouse.move(box["x"], 400)
            await page.mouse.down()
            await page.mouse.move(box["x"] + 90, 400, steps=4)
            await page.mouse.up()
            width = "document.querySelector('#outline').getBoundingClientRect().width"
            await until(page, f"Math.abs({width} - {before + 90}) <= 3")
            await edge.focus()
            await page.keyboard.press("ArrowLeft")
            await until(page, f"Math.abs({width} - {before + 66}) <= 3")
            await page.reload()
            await until(page, f"Math.abs({width} - {before + 66}) <= 3")


async def test_hidden_and_opened_parts_stay_so(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            await page.keyboard.press("g")  # there is none: it is neither shown nor hidden by that
            await make(client, "then", await make(client, "first"))
            await expect(page.locator("#graph")).to_be_visible()
            await page.locator("#toggle-graph").click()
            await page.locator("#toggle-backstage").click()
            await expect(page.locator("#backstage")).to_be_visible()
            await page.reload()
            await expect(page.locator("#toggle-backstage")).to_have_attribute("aria-pressed", "true")
            await expect(page.locator("#backstage")).to_be_visible()
            await expect(page.locator("#toggle-graph")).to_have_attribute("aria-pressed", "false")
            await expect(page.locator("#graph")).to_be_hidden()


async def test_figures_count_what_was_done(bench):
    with (
        ScriptedModel([Turn("an answer"), Fault.status_code(400)]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "first")
            await expect(page.locator("#transcript")).to_contain_text("an answer")
            await send(page, "fails")
            await expect(page.locator("#transcript .remark")).not_to_have_count(0)
            await expect(page.locator("#prompt")).to_have_value("fails")  # back again: the turn is over
            await page.locator("#prompt").fill("")
            await page.get_by_role("button", name="Figures").click()
            sheet = page.locator("#dialog")
            await expect(sheet).to_contain_text("Tasks: 2 · projects: 1")
            await expect(sheet.locator(".measures li").first).to_contain_text("50%")
            await expect(sheet.get_by_label("By model")).to_contain_text("gpt-4.1-nano")
            await expect(sheet.get_by_label("By flow")).to_contain_text("main")
            days = sheet.get_by_label("By day", exact=True)
            await expect(days.locator("svg .column")).to_have_count(1)
            await expect(days.locator("svg")).to_have_attribute(
                "aria-label", re.compile(r"^Cost by day, .* the most on")
            )
            await expect(days.locator("tbody tr")).to_be_hidden()
            await days.locator("summary").click()
            await expect(days.locator("tbody tr")).to_contain_text("$")
            await sheet.get_by_role("button", name="Turns").click()
            await expect(days.locator("tbody td").first).to_have_text("2")
            await sheet.get_by_role("button", name="Tokens").click()
            await expect(sheet.get_by_label("By model")).to_contain_text("↑")
            await sheet.get_by_role("button", name="Last 7 days").click()
            await expect(sheet.get_by_role("button", name="Last 7 days")).to_have_attribute("aria-pressed", "true")
            await expect(sheet).to_contain_text("Tasks: 2 · projects: 1")
            await expect(page).to_have_url(re.compile(r"figures=7"))
            await page.reload()
            await expect(sheet.get_by_role("button", name="Last 7 days")).to_have_attribute("aria-pressed", "true")
            await sheet.get_by_role("button", name="Close").click()
            await expect(sheet).to_be_hidden()
            await expect(page).not_to_have_url(re.compile(r"figures="))


async def test_figures_of_many_days_say_which_are_shown_and_name_the_last(bench):
    """The server's answer is made longer on its way: every day of half a year."""
    today = datetime.now(UTC).date()

    def longer(message):
        found = json.loads(message)
        if spending := found.get("data", {}).get("spending"):
            [only] = spending["day"]
            spending["day"] = [only | {"name": str(today - timedelta(days=back))} for back in range(180, -1, -1)]
        return json.dumps(found)

    async def lengthen(socket):
        server = socket.connect_to_server()
        server.on_message(lambda message: socket.send(longer(message)))

    with ScriptedModel([Turn("an answer")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await page.route_web_socket("**/ws", lengthen)
            await page.reload()
            await send(page, "first")
            await expect(page.locator("#transcript")).to_contain_text("an answer")
            await page.get_by_role("button", name="Figures").click()
            days = page.locator("#dialog").get_by_label("By day", exact=True)
            await expect(days.locator("svg .column")).to_have_count(60)
            await expect(days).to_contain_text("Last 60 days")
            ends = "(all) => all.map((each) => each.getBoundingClientRect().right)"
            edge = (await days.locator("svg").bounding_box())["x"] + (await days.locator("svg").bounding_box())["width"]
            assert max(await days.locator("svg text").evaluate_all(ends)) <= edge + 1
            name = f"{today.month}/{today.day}"
            await expect(days.locator("svg text").last).to_have_text(name)


async def test_a_hidden_page_tells_of_a_question(bench):
    write = Held(Turn("", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]))
    with ScriptedModel([write, Turn("Done.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE, permissions=["notifications"]) as page:
            # What the browser would show, where a test can see it; a headless one is never hidden.
            await page.evaluate(
                """window.told = []; window.Notification = class extends EventTarget {
                    static permission = "granted"; static requestPermission = async () => "granted";
                    constructor(title, { body }) { super(); window.told.push(`${title}: ${body}`); } };
                Object.defineProperty(document, "hidden", { get: () => true })"""
            )
            await send(page, "Write it")
            await page.click("#settings")
            await page.get_by_role("button", name="Tell me when it needs me").click()
            await expect(page.get_by_role("button", name="Tell me when it needs me")).to_have_attribute(
                "aria-pressed", "true"
            )
            write.release()
            await expect(page.locator(".question")).to_be_visible()
            await expect(page).to_have_title("(!) A question waits · nebula")
            await until(page, "window.told.length > 0")
            assert await page.evaluate("window.told") == ["(!) A question waits: Write it"]
            await agree(page)
            await expect(page.locator("#transcript")).to_contain_text("Done.")
            await until(page, "window.told.length === 2")  # the turn ends a little after its last words


async def test_a_flow_is_renamed_and_another_made(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "one")
            async with browsing(server, viewport=WIDE) as page:
                await expect(await row(page, "one")).to_be_visible()
                for command, name in (("Rename the flow", "the trunk"), ("New flow", "another")):
                    await page.locator("[popovertarget=flow-menu]").click()
                    await page.get_by_role("button", name=command).click()
                    field = page.get_by_label("Name of the flow")
                    await field.fill("  ")
                    await page.keyboard.press("Enter")
                    assert await field.evaluate("(field) => field.matches(':user-invalid')")  # the browser says so
                    await field.fill(name)
                    await page.keyboard.press("Enter")
                    await expect(page.locator("#dialog")).to_be_hidden()
                    await page.locator("#banner").get_by_role("button", name="Close").click()
                    if name == "the trunk":
                        await until(page, "!document.querySelector('#awaiting').textContent")
                        await expect(page).to_have_url(re.compile("flow=the"))  # what it is called now was asked for
                        await expect(await row(page, "one")).to_be_visible()
                await expect(page.locator("#flows option:checked")).to_have_text("another")
                await expect(page.locator("#transcript")).to_contain_text("What shall we work on?")
                flows = (await client.ask("list_flows"))["data"]["flows"]
                assert sorted(flow["name"] for flow in flows) == ["another", "the trunk"]
                await page.select_option("#flows", label="the trunk")
                await expect(await row(page, "one")).to_be_visible()


async def test_a_key_right_after_a_sheet_is_closed_is_the_pages(bench):
    close_and_press = """(key) => { document.querySelector("#dialog .bar button").click();
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key, ctrlKey: key === "k", bubbles: true })); }"""
    with serving(bench, "vizprompt") as server:
        async with browsing(server, viewport=WIDE) as page:
            await page.locator("#transcript").focus()
            await page.keyboard.press("?")
            await page.evaluate(close_and_press, "?")
            await expect(page.locator("#dialog .keys")).to_be_visible()
            await page.evaluate(close_and_press, "k")
            await expect(page.locator("#dialog").get_by_role("combobox")).to_be_focused()


PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="  # one red dot
DROP = """([name, type, base64]) => { const bytes = Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
    const data = new DataTransfer(); data.items.add(new File([bytes], name, { type }));
    document.getElementById("prompt").dispatchEvent(
        new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true })); }"""


async def test_images_and_files_are_dropped_in_and_go_along(bench):
    with ScriptedModel([Turn("seen")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await page.evaluate(DROP, ["dot.png", "image/png", PNG])
            await page.set_input_files(
                ".attach input", {"name": "notes.txt", "mimeType": "text/plain", "buffer": b"remember the milk"}
            )
            await page.evaluate(DROP, ["tool.bin", "application/octet-stream", "//79/A=="])
            await expect(page.locator("#banner")).to_contain_text("tool.bin is neither an image nor text")
            await expect(page.locator(".chip.attached")).to_have_count(2)
            await send(page, "Look")
            await expect(page.locator("#transcript")).to_contain_text("seen")
            await expect(page.locator(".chip.attached")).to_have_count(0)
            await expect(page.locator("#transcript .attachments")).to_contain_text("notes.txt")
        sent = json.dumps(model.turns[0].json["messages"])
        assert PNG in sent and "remember the milk" in sent and "notes.txt" in sent
