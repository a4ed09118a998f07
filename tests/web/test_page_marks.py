"""What a person marks on the page: pins, notes, sub-flows, archived flows, tags, turns in no flow; each one step of undo."""

from __future__ import annotations

import asyncio

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from nebula.graph.graph import Graph
from nebula.graph.values import Utterance
from page_rig import PATIENCE_MS, WIDE, branched, browsing, make, row, until
from page_rig.axe import AXE, FIND, LOOKS

pytestmark = pytest.mark.slow

COMMANDS = {
    "en": {
        "note_turn": "Write a note beside this turn",
        "nest_branch": "Fold what follows into a flow of its own",
        "rename_tag": "Rename or merge a tag everywhere",
        "outside": "Turns in no flow",
    },
    "ja": {
        "note_turn": "このターンにメモを書く",
        "nest_branch": "ここから続くものを一つのフローにまとめる",
        "rename_tag": "タグをすべてで改名・統合する",
        "outside": "どのフローにもないターン",
    },
}


async def command(page, words):
    await page.locator("#outline .tree").focus()
    await page.keyboard.press("Control+k")
    await page.keyboard.type(words)
    await page.keyboard.press("Enter")


async def undo(page):
    await page.locator("#outline .tree").focus()
    await page.keyboard.press("Control+z")


async def test_a_pin_stands_where_the_text_of_its_turn_begins(bench):
    """Also where the rest of its row is not shown: it is not left alone in the middle."""
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            _, second, _ = await branched(client)
            await client.ask("update_node", node_id=second, pinned=True)
        async with browsing(server, viewport=WIDE) as page:
            for title in ("three", "two"):
                await (await row(page, title)).click()
                turn = page.locator(f'#transcript [data-id="{second}"]')
                pin = await turn.locator(".pinned .icon").bounding_box()
                text = await turn.locator(".response p").bounding_box()
                assert abs(pin["x"] - text["x"]) <= 4, title


async def test_a_turn_is_pinned_by_a_key_and_found_by_the_filter(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            await branched(client)
            await (await row(page, "two")).click()
            await page.keyboard.press("*")
            await expect((await row(page, "two")).locator(".icon")).to_have_count(1)
            await expect(page.locator("#transcript .selected .pinned")).to_be_visible()
            await page.get_by_role("button", name="Filter").click()
            await page.get_by_label("Pinned only").check()
            await expect(page.locator("#outline .row .title")).to_have_text(["two"])
            await page.get_by_role("button", name="Clear").click()
            await undo(page)
            await expect((await row(page, "two")).locator(".icon")).to_have_count(0)


async def test_a_note_stays_beside_the_turn(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            _, second, _ = await branched(client)
            await (await row(page, "two")).click()
            await expect(page.locator("#transcript")).to_contain_text("answer to two")
            await page.keyboard.press("N")
            await page.locator("#dialog textarea").fill("ask Aoi first")
            await page.locator("#dialog button.primary").click()
            await expect((await row(page, "two")).locator(".icon")).to_have_count(1)
            assert (await client.ask("get_node", node_id=second))["data"]["note"] == "ask Aoi first"
            slip = page.locator("#transcript .slip")
            await expect(slip).to_have_text("Note: ask Aoi first")
            await (await row(page, "three")).click()
            await expect(slip).to_have_text("Note: ask Aoi first")  # on the way to another turn as well
            await (await row(page, "two")).click()
            await slip.click()
            await page.locator("#dialog textarea").fill("ask Ren")
            await page.locator("#dialog button.primary").click()
            await expect(slip).to_have_text("Note: ask Ren")
            await undo(page)
            await expect(slip).to_have_text("Note: ask Aoi first")


async def test_a_side_track_folds_into_a_turn_that_opens_it(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            async with browsing(server, viewport=WIDE) as page:
                await (await row(page, "two")).click()
                await command(page, "Fold what follows")
                await page.keyboard.type("research")
                await page.keyboard.press("Enter")
                await expect(await row(page, "three")).to_have_count(0)
                await until(page, "window.wordsSeen.has('research')")
                await (await row(page, "two")).click()
                await page.keyboard.press("o")
                await expect(await row(page, "three")).to_be_visible()
                await page.locator("#flows").select_option(label="main")
                await (await row(page, "two")).click()
                await page.locator("#transcript .selected").get_by_role("button", name="Open “research”").click()
                await expect(await row(page, "three")).to_be_visible()
                await expect(await row(page, "side")).to_have_count(0)
                await page.locator("#flows").select_option(label="main")
                await expect(await row(page, "side")).to_be_visible()
                await undo(page)
                await expect(await row(page, "three")).to_be_visible()
                assert len((await client.ask("list_flows"))["data"]["flows"]) == 1


async def test_an_archived_flow_leaves_the_list_and_comes_back(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            await client.ask("create_flow", name="old")
            await client.ask("create_flow", name="older")
            async with browsing(server, viewport=WIDE) as page:
                flows = page.locator("#flows option")
                await expect(flows).to_have_text(["main", "old", "older"])
                await page.locator("#flows").select_option(label="old")
                await command(page, "Archive this flow")
                await page.locator("#flows").select_option(label="main")
                await expect(flows).to_have_text(["main", "older"])
                await command(page, "Show or hide archived")
                await expect(flows).to_have_text(["main", "old", "older"])
                await page.locator("#flows").select_option(label="old")
                await command(page, "Bring this flow back")
                await command(page, "Show or hide archived")
                await expect(flows).to_have_text(["main", "old", "older"])


async def test_who_deletes_a_flow_goes_on_in_one_that_is_not_put_away(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            await client.ask("create_flow", name="old")
            await client.ask("create_flow", name="older")
            await client.ask("update_flow", flow_id="old", archived=True)
            async with browsing(server, viewport=WIDE) as page:
                await expect(page.locator("#flows option")).to_have_text(["main", "older"])
                await command(page, "Delete this flow")
                await page.get_by_role("button", name="Delete this flow", exact=True).click()
                await expect(page.locator("#flows option:checked")).to_have_text("older")


async def test_a_tag_gets_another_name_everywhere(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for number in (1, 2):
                await client.ask("create_node", prompt=f"p{number}", tags=["bug"])
            async with browsing(server, viewport=WIDE) as page:
                await expect(await row(page, "p2")).to_be_visible()
                await command(page, "Rename or merge a tag")
                await page.locator("#dialog select").select_option("bug")
                await page.locator("#dialog input[name=name]").fill("defect")
                await page.locator("#dialog button.primary").click()
                await expect(
                    page.locator("#toast, #notice, [role=status]").filter(has_text="Tag renamed")
                ).to_be_visible()
                assert (await client.ask("list_tags"))["data"]["counts"] == {"defect": 2}
                await undo(page)
                await expect(page.locator("#toast, #notice, [role=status]").filter(has_text="Undone")).to_be_visible()
                assert (await client.ask("list_tags"))["data"]["counts"] == {"bug": 2}


async def test_turns_in_no_flow_are_seen_and_taken_in(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
            await client.ask("create_flow", name="gone")
            await client.ask("create_node", prompt="left over", flow_id="gone")
            await client.ask("delete_flow", flow_id="gone")
            async with browsing(server, viewport=WIDE) as page:
                await expect(await row(page, "side")).to_be_visible()
                await command(page, "Turns in no flow")
                await expect(page.locator("#dialog")).to_contain_text("left over")
                await page.get_by_role("button", name="Put into this flow").click()
                await expect(page.locator("#dialog")).to_contain_text("Every turn is in a flow")
                await page.keyboard.press("Escape")
                await expect(await row(page, "left over")).to_be_visible()


async def test_the_name_of_a_branch_stands_on_its_line(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            first = await make(client, "start")
            await make(client, "plain", first)
            await client.ask("create_branch", node_id=first, branch_name="the bold way", prompt="bold")
            async with browsing(server, viewport=WIDE) as page:
                await until(page, "window.wordsSeen.has('the bold way')")


def talks_of_two_days(folder):
    """Two conversations, of different days; the second has a named branch, a pin, a note and a turn that opens a flow."""
    with Graph(folder) as graph:
        for day in ("02", "05"):
            said = [Utterance("user", f"begun on day {day}"), Utterance("assistant", "so")]
            first = graph.add_turn(texts=said, timestamp=f"2026-01-{day}T12:00:00+00:00", tags=["tag"]).id
        graph.create_branch(first, "the bold way", "bold", "as you like")
        graph.update_node(first, pinned=True, note="ask Aoi")
        graph.link_flow(first, graph.create_flow("aside").id)


async def test_days_stand_between_conversations_and_the_keys_pass_them(bench):
    talks_of_two_days(bench.project / "data")
    with serving(bench, "vizprompt") as server:
        async with browsing(server, viewport=WIDE) as page:
            await expect(page.locator("#outline .day")).to_have_count(2)
            await expect(page.locator("#outline .day").first).to_contain_text("Jan 5")
            await (await row(page, "bold")).click()
            await page.keyboard.press("ArrowDown")
            await expect(page.locator('[aria-selected="true"] .title')).to_have_text("begun on day 02")
            await page.keyboard.press("Home")
            await expect(page.locator('[aria-selected="true"] .title')).to_have_text("begun on day 05")


@pytest.mark.parametrize("touch", [False, True], ids=["pointer", "touch"])
async def test_a_menu_beside_the_turn_has_what_else_can_be_done_with_it(bench, touch):
    """Without the palette, whose keys a phone has not; that one is in the settings."""
    size = {"viewport": {"width": 390, "height": 844}, "has_touch": True} if touch else {"viewport": WIDE}
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "two", await make(client, "one"))
        async with browsing(server, **size) as page:
            press = (lambda found: found.tap()) if touch else (lambda found: found.click())
            await press(page.locator(".first-view li button"))
            turn, menu = page.locator("#transcript .selected"), page.locator("#turn-menu")
            more = turn.get_by_role("button", name="More")
            await press(more)
            await expect(menu.get_by_role("button")).to_have_count(10)  # one flow alone: nowhere to move it
            await page.evaluate(AXE)
            assert await page.evaluate(FIND) == []
            box = await menu.bounding_box()
            assert box["x"] >= 0 and box["y"] >= 0
            assert box["x"] + box["width"] <= size["viewport"]["width"]
            await press(menu.get_by_role("button", name="Pin this turn"))
            await expect(menu).to_be_hidden()
            async with talk(server) as client, asyncio.timeout(PATIENCE_MS / 1000):
                while not (pinned := (await client.ask("search_nodes", text="", pinned=True))["data"]["nodes"]):  # noqa: ASYNC110
                    await asyncio.sleep(0.02)
            assert [node["prompt"] for node in pinned] == ["two"]
            await more.press("Enter")
            await menu.get_by_role("button", name="Write a note").press("Enter")
            await expect(page.locator("#dialog textarea")).to_be_visible()
            await page.keyboard.press("Escape")
            await press(page.locator("#settings"))
            await press(page.locator("#commands"))
            await expect(page.get_by_role("combobox", name="Find a turn")).to_be_focused()


@pytest.mark.parametrize("size", [WIDE, {"width": 390, "height": 844}], ids=["wide", "phone"])
async def test_a_name_of_any_length_stays_in_its_place(bench, size):
    long = "x" * 5000
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            _, second, _ = await branched(client)
            await client.ask("create_flow", name=f"{long}y")
            flow = (await client.ask("get_flow"))["data"]["id"]
            await client.ask("update_flow", flow_id=flow, name=long)
            await client.ask("link_flow", node_id=second, to=f"{long}y", flow_id=flow)
            await client.ask("update_node", node_id=second, tags=[long], note=long, prompt=long, summary=long)
        async with browsing(server, viewport=size) as page:
            await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
            await (await row(page, "xxx")).click()
            await expect(page.locator("#transcript .selected .tag")).to_be_visible()
            await expect(page.locator("#transcript .opens")).to_be_visible()
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
            inside = "(all) => all.filter((each) => each.scrollWidth > each.clientWidth).map((each) => each.id)"
            assert await page.locator("#transcript, #composer, #outline, #header").evaluate_all(inside) == []


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_nothing_of_weight_in_what_is_marked(bench, look):
    talks_of_two_days(bench.project / "data")
    with serving(bench, "vizprompt") as server:
        async with browsing(server, **LOOKS[look]) as page:
            await page.evaluate(AXE)
            await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
            await expect(page.locator("#outline .day")).to_have_count(2)
            assert await page.evaluate(FIND) == []
            await (await row(page, "day 05")).click()
            await expect(page.locator("#transcript")).to_contain_text("so")
            for name in ("note_turn", "nest_branch", "rename_tag", "outside"):
                words = COMMANDS[await page.evaluate("document.documentElement.lang")][name]
                await page.keyboard.press("Control+k")
                await page.keyboard.type(words)
                await page.keyboard.press("Enter")
                await expect(page.locator("#dialog #dialog-title")).to_have_text(words)
                assert await page.evaluate(FIND) == [], name
                await page.keyboard.press("Escape")
                await expect(page.locator("#dialog")).to_be_hidden()
