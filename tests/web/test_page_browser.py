"""The page in a real browser (Debian's chromium, headless), against a real server and the scripted model."""

from __future__ import annotations

import asyncio
import json
import re
from contextlib import ExitStack

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import agree, answered, browsing, first_look_refused, row, send, until
from ports import steady_port
from scripted_model import Call, Fault, ScriptedModel, Turn

pytestmark = pytest.mark.slow

BACKGROUND, DARK = "getComputedStyle(document.body).backgroundColor", "rgb(27, 27, 32)"
ACTIVE = """document.getElementById(document.querySelector('[role="tree"]').getAttribute("aria-activedescendant"))
    ?.querySelector(".title").innerText"""
HOSTILE = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>&amp; 星雲"


async def test_the_page_loads_and_hides_its_token(bench):
    with serving(bench, "nebula") as server:
        async with browsing(server) as page:
            await expect(page.locator("#transcript")).to_contain_text("What shall we work on?")
            await expect(page.locator("#banner")).to_be_hidden()
            await expect(page).not_to_have_url(re.compile("#"))
            await page.reload()
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()


async def test_without_the_token_the_page_says_what_to_do(bench):
    with serving(bench, "nebula") as server:
        server.address = server.address.split("#")[0]
        async with browsing(server) as page:
            await expect(page.locator("#banner")).to_contain_text("needs the token")
            await expect(page.locator("#composer button[type=submit]")).to_be_disabled()
            await first_look_refused(page)


async def test_a_node_made_elsewhere_is_seen_at_once(bench):
    """The page is told of it, and asks for nothing before."""
    with serving(bench, "vizprompt") as server:
        async with browsing(server) as page, talk(server) as client:
            await expect(page.locator("#transcript")).to_contain_text("What shall we work on?")
            said = await listen_to(page)
            await client.ask("create_node", prompt="the first")
            await expect(await row(page, "the first")).to_be_visible()
            assert said[0] == "node_created"
            await client.ask("create_node", prompt="the second")  # what the first made it ask may still be under way
            await expect(await row(page, "the second")).to_be_visible()
            assert said.count("node_created") == 2


async def listen_to(page):
    """What goes over the page's line from now on: the names of events, and of questions other than signs of life."""
    said: list[str] = []

    def note(frame):
        message = json.loads(frame["response"]["payloadData"])
        name = message.get("event") or message.get("action")
        if name and name != "ping":
            said.append(name)

    line = await page.context.new_cdp_session(page)
    for way in ("Received", "Sent"):
        line.on(f"Network.webSocketFrame{way}", note)
    await line.send("Network.enable")
    return said


async def test_hostile_text_stays_text(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt=HOSTILE, response=HOSTILE, tags=["<b>tag</b>"], summary=HOSTILE)
        async with browsing(server) as page:
            await (await row(page, "<img src=x")).click()
            await expect(page.locator("#transcript .response .text")).to_have_text(HOSTILE.replace("&amp;", "&"))
            await expect(page.locator("#transcript .tag")).to_have_text("<b>tag</b>")
            assert await page.title() == "nebula"
            assert await page.locator("#transcript img, #transcript script, #outline img").count() == 0


async def test_a_prompt_its_approval_and_the_answer(bench):
    bench.write("app.py", "old\n")
    script = [
        Turn("I'll look first.", [Call("readFile", {"path": "app.py"})]),
        Turn("", [Call("editFile", {"path": "app.py", "new_content": "new <b>\n"})]),
        Turn("app.py is new now."),
    ]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "Make it new")
            question = page.locator(".question")
            await expect(question).to_contain_text("Write app.py")
            await expect(question.locator(".removed")).to_have_text("old\n")
            await expect(question.locator(".added")).to_have_text("new <b>\n")
            await expect(page.locator("#transcript .live")).to_contain_text("I'll look first.")
            assert "readFile" not in await page.inner_text("body")
            await until(page, "document.activeElement.id === 'question'")
            assert bench.read("app.py") == "old\n"
            await agree(page)
            await expect(page.locator("#transcript")).to_contain_text("app.py is new now.")
            await expect(page.locator("#transcript .working")).to_have_count(0)
            assert bench.read("app.py") == "new <b>\n"
            await expect(await row(page, "Make it new")).to_have_attribute("aria-selected", "true")
            await page.click("#toggle-backstage")
            await expect(page.locator("#backstage")).to_contain_text("readFile")


async def test_what_a_command_changed_is_chosen_file_by_file(bench):
    bench.write("a.txt", "old\n")
    line = "echo new > a.txt; echo two > b.txt; chmod 755 b.txt"
    script = [Turn("", [Call("runCommand", {"command": line})]), Turn("Done with it.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "Run it")
            question = page.locator(".question")
            await expect(question).to_contain_text("A command wants to change 2 files")
            await expect(question.locator("summary").first).to_contain_text("changed a.txt+1 −1")
            await expect(question.locator(".added").first).to_have_text("new\n")
            assert "runCommand" not in await page.inner_text("body")
            await question.get_by_label("Take a.txt").uncheck()
            await agree(page)
            await expect(page.locator("#transcript")).to_contain_text("Done with it.")
    assert (bench.read("a.txt"), bench.read("b.txt")) == ("old\n", "two\n")


async def test_refusing_with_a_sentence(bench):
    script = [Turn("", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("I left it.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await page.fill("#prompt", "Write")
            await page.click("#composer button[type=submit]")
            await page.fill(".refuse textarea", "not in this folder")
            await page.keyboard.press("Enter")
            await expect(page.locator("#transcript")).to_contain_text("I left it.")
        assert "not in this folder" in str(model.turns[1].json["messages"])
    assert not (bench.project / "a.txt").exists()


async def test_the_strip_counts_and_stops(bench):
    with (
        ScriptedModel([Turn("late", fault=Fault.slow(120))]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with browsing(server) as page:
            await send(page, "Take your time")
            await expect(page.locator(".clock")).to_have_text(re.compile(r"^([2-9]|\d\d+) s$"))
            await expect(page.locator("#composer button[data-act=send]")).to_have_count(0)
            await page.locator("#composer").get_by_role("button", name="Stop").click()
            await expect(page.locator("#transcript .working")).to_have_count(0)
            await expect(page.locator("#transcript")).to_contain_text("Interrupted")
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()


async def test_a_reload_in_the_middle_of_an_approval(bench):
    script = [Turn("Act one.", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("Done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "Write")
            await expect(page.locator(".question")).to_be_visible()
            await page.reload()
            await expect(page.locator(".question")).to_contain_text("a.txt")
            await expect(page.locator("#transcript")).to_contain_text("Act one.")
            await agree(page)
            await expect(page.locator("#transcript")).to_contain_text("Done.")
    assert bench.read("a.txt") == "x\n"


async def test_by_keyboard_alone(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            first = (await client.ask("create_node", prompt="one", response="first answer"))["node_id"]
            second = (await client.ask("create_node", prompt="two", response="second answer", parents=[first]))[
                "node_id"
            ]
            await client.ask("create_node", prompt="three", parents=[second])
            await client.ask("create_node", prompt="side", response="side answer", parents=[first])
        async with browsing(server) as page:
            await expect(await row(page, "one")).to_be_visible()
            await page.locator('[role="tree"]').focus()
            selected = page.locator('[aria-selected="true"] .title')
            for key, title in (
                ("Home", "one"), ("ArrowDown", "two"), ("ArrowDown", "three"), ("End", "side"), ("ArrowUp", "three"),
                ("Home", "one"), ("ArrowRight", "two"), ("ArrowLeft", "one"),
            ):  # fmt: skip
                await page.keyboard.press(key)
                await expect(selected).to_have_text(title)
                await until(page, f"({ACTIVE}) === '{title}'")
            await page.keyboard.press("ArrowLeft")
            await expect(await row(page, "side")).to_have_count(0)
            await page.keyboard.press("/")
            await page.keyboard.type("side answer")
            await expect(await row(page, "side")).to_be_visible()
            await page.keyboard.press("Enter")
            await expect(page.locator("#transcript")).to_contain_text("side answer")
            await page.keyboard.press("c")
            await expect(page.locator("#prompt")).to_be_focused()
            await expect(page.locator(".chip")).to_contain_text("side")


async def test_continuing_from_a_node_and_merging(bench):
    with ScriptedModel([Turn("merged answer")]) as model, serving(bench, "vizprompt", **model.env()) as server:
        async with browsing(server) as page, talk(server) as client:
            ids = [(await client.ask("create_node", prompt=title))["node_id"] for title in ("left", "right")]
            await (await row(page, "left")).click()
            await page.get_by_role("button", name="Merge with …").click()
            await (await row(page, "right")).click()
            await expect(page.locator(".chip")).to_have_count(2)
            await send(page, "both together")
            await answered(page, "merged answer")
            flow = (await client.ask("get_flow"))["data"]
            parents = [edge["source"] for edge in flow["connections"]]
            assert sorted(parents) == sorted(ids)


async def test_nodes_made_while_the_page_loads_are_all_there(bench):
    """An answer that was on its way when a node was made must not take that node off the page again."""
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:

            async def make():
                for number in range(15):
                    await client.ask("create_node", prompt=f"node {number}")

            making = asyncio.create_task(make())
            async with browsing(server) as page:
                await making
                await expect(page.get_by_role("treeitem")).to_have_count(15)


async def test_the_line_breaks_and_comes_back(bench):
    """The server is gone and another one is there: the page says so, keeps the text, and catches up."""
    with ExitStack() as servers:
        port = str(steady_port())
        server = servers.enter_context(serving(bench, "vizprompt", "--port", port))
        async with talk(server) as client:
            await client.ask("create_node", prompt="before")
        async with browsing(server) as page:
            await expect(await row(page, "before")).to_be_visible()
            await page.fill("#prompt", "half a thought")
            server.stop()
            await expect(page.locator("#banner")).to_contain_text("connection is lost")
            await expect(page.locator("#composer button[type=submit]")).to_be_disabled()
            again = servers.enter_context(serving(bench, "vizprompt", "--port", port))
            async with talk(again) as client:
                await client.ask("create_node", prompt="while away")
            await expect(await row(page, "while away")).to_be_visible()
            await expect(page.locator("#banner")).to_be_hidden()
            await expect(page.locator("#prompt")).to_have_value("half a thought")
            page.complaints.clear()  # the browser's own remark that nobody answered


async def test_japanese_by_the_browsers_language_and_by_the_switch(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server, locale="ja-JP") as page:
            await expect(page.locator("html")).to_have_attribute("lang", "ja")
            await expect(page.locator("#composer button[type=submit]")).to_have_accessible_name("送信")
            await page.click("#settings")
            await page.get_by_role("button", name="English").click()
            await expect(page.locator("#composer button[type=submit]")).to_have_accessible_name("Send")
            await page.reload()
            await expect(page.locator("#composer button[type=submit]")).to_have_accessible_name("Send")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_dark_mode(bench, scheme):
    with serving(bench, "vizprompt") as server:
        async with browsing(server, color_scheme=scheme) as page:
            assert (await page.evaluate(BACKGROUND) == DARK) == (scheme == "dark")
            await page.click("#settings")
            await page.get_by_role("button", name="Dark").click()
            await until(page, f'{BACKGROUND} === "{DARK}"')


async def test_dark_before_anything_is_drawn(bench):
    """The script that draws is held back: until it comes, the page is as dark as it will be."""
    held = asyncio.Event()

    async def hold(route):
        await held.wait()
        await route.continue_()

    with serving(bench, "vizprompt") as server:
        async with browsing(server, color_scheme="dark") as page:
            await page.route("**/index.js", hold)
            await page.reload(wait_until="commit")
            await until(page, f'document.body && {BACKGROUND} === "{DARK}"')
            held.set()
            await expect(page.locator("#settings")).to_be_visible()


async def test_enter_while_composing_sends_nothing(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server, locale="ja-JP") as page:
            await page.fill("#prompt", "にほんご")
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            left_alone = await page.evaluate(
                """document.getElementById("prompt").dispatchEvent(
                    new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true, cancelable: true }))"""
            )
            assert left_alone and await page.input_value("#prompt") == "にほんご"
            await page.fill("#search", "さがす")
            await page.dispatch_event("#search", "keydown", {"key": "Escape", "isComposing": True})
            assert await page.input_value("#search") == "さがす"  # only what the input method offered is gone
            await expect(page.locator("#transcript .live")).to_have_count(0)


async def test_a_flow_and_a_node_that_cannot_be_read(bench):
    data = bench.project / "data"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for title in ("whole", "broken"):
                await client.ask("create_node", prompt=title)
        node = next(path for path in (data / "nodes").rglob("*.xml") if "broken" in path.read_text("utf-8"))
        node.write_text(node.read_text("utf-8")[:-40], "utf-8")
        async with browsing(server) as page:
            await expect(await row(page, "whole")).to_be_visible()
            await (await row(page, "cannot be read")).click()
            await expect(page.locator("#transcript .selected")).to_contain_text("This file cannot be read")
        [flow] = (data / "flows").rglob("*.yaml")
        flow.write_text("name: main\nid: [", "utf-8")
        async with browsing(server) as page:
            await expect(page.locator("#transcript [role=alert]")).to_contain_text("This file cannot be read")
            await page.fill("#prompt", "Do not lose this")
            await page.click("#composer button[type=submit]")
            await expect(page.locator("#banner")).to_contain_text("did not work")
            await expect(page.locator("#prompt")).to_have_value("Do not lose this")
    assert flow.read_text("utf-8") == "name: main\nid: ["


async def test_the_only_flow_with_turns_is_opened(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_flow", name="claude")
            await client.ask("create_node", prompt="brought along", flow_id="claude")
        async with browsing(server) as page:
            await expect(await row(page, "brought along")).to_be_visible()


async def test_other_flows_can_be_chosen_beside_one_that_cannot_be_read(bench):
    data = bench.project / "data"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="of main")
            [flow] = (data / "flows").rglob("*.yaml")
            await client.ask("create_flow", name="second")
        whole = flow.read_text("utf-8")
        flow.write_text("name: main\nid: [", "utf-8")
        async with browsing(server) as page:
            await expect(page.locator("#transcript [role=alert]")).to_contain_text("Mend it in an editor")
            flows = page.get_by_label("Flow", exact=True)
            await expect(flows.locator("option")).to_have_text(["main", "second"])
            await expect(flows.locator("option:checked")).to_have_text("main")
            await flows.select_option(label="second")
            await expect(page.locator("#transcript")).to_contain_text("What shall we work on?")
            flow.write_text(whole, "utf-8")
            await expect(flows.locator("option", has_text="main")).to_be_attached()
            await flows.select_option(label="main")
            await expect(await row(page, "of main")).to_be_visible()


async def test_narrow_screens_have_tabs(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="one", response="first answer")
        async with browsing(server, viewport={"width": 390, "height": 780}) as page:
            await expect(page.locator("#outline")).to_be_hidden()
            await page.click('button[data-tab="outline"]')
            await (await row(page, "one")).click()
            await expect(page.locator("#transcript")).to_contain_text("first answer")  # without choosing the tab
            await expect(page.locator("#outline")).to_be_hidden()
            await until(page, "document.documentElement.scrollWidth <= innerWidth")


async def test_a_sheet_that_was_closed_stays_closed_whatever_is_drawn_then(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server) as page:
            await page.keyboard.press("?")
            await expect(page.locator("#dialog")).to_be_visible()
            # The browser tells of the end a little later; the page is drawn in between.
            await page.evaluate(
                "document.querySelector('#dialog').close(); document.querySelector('#theme-dark').click()"
            )
            await expect(page.locator("#dialog")).to_have_attribute("data-sheet", "")
            await expect(page.locator("#dialog")).to_be_hidden()
            await page.click("#settings")
            await page.click("#help")
            await expect(page.locator("#dialog")).to_be_visible()
