"""The picture as a person sees it: turns at work, questions and failures, what a card offers, the rail, the colours."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from nebula.testing.script import ScriptedFault
from page_rig import SELECTED, WIDE, Held, answered, asked, branched, browsing, make, row, send, spot, until
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow


async def test_a_turn_at_work_stands_where_its_node_will_be(bench):
    held = Held(Turn("done"))
    with ScriptedModel([Turn("first"), held]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "start")
            await answered(page, "first")
            await send(page, "take your time")
            await asked(model, 2)
            card = page.locator("#graph .live.working")
            await expect(card).to_contain_text("take your time")
            await expect(page.locator("#outline .live.working .title")).to_have_text("take your time")
            at = await card.bounding_box()
            await (await row(page, "start")).click()
            await page.keyboard.press("n")
            await expect(page.locator("#transcript")).not_to_contain_text("take your time")
            await page.locator("#outline .live").click()
            await expect(page.locator("#transcript")).to_contain_text("take your time")
            held.release()
            await answered(page, "done")
            await expect(card).to_have_count(0)
            x, y = await spot(page, "take your time")
            assert at["x"] < x < at["x"] + at["width"] and at["y"] < y < at["y"] + at["height"]


async def test_a_question_waits_in_outline_and_graph_and_leads_back(bench):
    write = Call("writeFile", {"path": "a.txt", "content": "x\n"})
    script = [Turn("first"), Turn("Writing.", [write]), Turn("Written.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "start")
            await answered(page, "first")
            await expect(page.locator("#graph")).to_be_hidden()  # one turn is no graph
            await send(page, "write it")
            await expect(page.locator("#graph .live.asking")).to_contain_text("Waits for your answer")
            await expect(page.locator("#outline .live.asking")).to_contain_text("write it")
            await page.get_by_role("button", name="New conversation").click()  # the key "n" would say no
            await expect(page.locator("#transcript .question, .question")).to_have_count(0)
            await page.locator("#graph .live.asking").click()
            await expect(page.locator(".question").first).to_be_visible()


async def test_a_failure_is_red_until_it_is_tried_again(bench):
    script = [Turn("first"), ScriptedFault.status_code(400), Turn("better")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "start")
            await answered(page, "first")
            await send(page, "this fails")
            await expect(page.locator("#graph .live.failed")).to_contain_text("this fails")
            await expect(page.locator("#outline .live.failed")).to_be_visible()
            await expect(page.locator("#transcript .remark.failed")).to_contain_text("400")
            await send(page, "this fails")
            await answered(page, "better")
            await expect(page.locator("#graph .live")).to_have_count(0)


async def test_a_card_under_the_pointer_offers_what_can_be_done(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "three")).click()
            await page.mouse.move(*await spot(page, "side", 10))
            hovered = page.locator("#graph .hovered")
            await expect(hovered).to_contain_text("answer to side")
            await hovered.get_by_role("button", name="Merge with the chosen turn").click()
            await expect(page.locator("#composer")).to_contain_text("side")
            await page.mouse.move(*await spot(page, "two", 10))
            await hovered.get_by_role("button", name="Compare with the chosen turn").click()
            await expect(page.locator("#dialog")).to_contain_text("answer to two")
            await page.keyboard.press("Escape")
            await page.mouse.move(*await spot(page, "one", 12))
            await hovered.get_by_role("button", name="Continue from here").click()
            await expect(page.locator(SELECTED)).to_have_text("one")
            await expect(page.locator("#prompt")).to_be_focused()


async def test_fit_shows_every_conversation_with_its_title(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for number in range(150):
                await client.send("create_node", prompt=f"subject {number}")
            await client.ask("list_flows")
        async with browsing(server, viewport=WIDE) as page:
            await page.keyboard.press("f")
            await expect(page.locator("#graph .minimap")).to_be_hidden()
            await until(page, "[...window.wordsSeen.keys()].some((words) => words.startsWith('subject 149'))")


COVERED = """() => { const { x, y } = document.querySelector("#graph .picture").getBoundingClientRect();
    const isSeen = (right, down) => document.elementFromPoint(right, down)?.matches(".picture");
    return [...window.wordsSeen].filter(([, at]) => !isSeen(x + at[0] + 2, y + at[1]) || !isSeen(x + at[0] + 2, y + at[1] - 7))
        .map(([words]) => words); }"""
TREES = ("ash", "birch", "cedar", "elm", "fir", "hazel", "larch", "maple", "oak", "pine", "rowan", "yew")


async def several(client) -> None:
    """Conversations with a few turns each."""
    for tree in TREES:
        first = await make(client, f"{tree} subject")
        second = await make(client, f"{tree} more", first)
        await make(client, f"{tree} most", second)
        await client.ask("create_node", prompt=f"{tree} beside", parents=[first], model="big")
        await client.ask("create_node", prompt=f"{tree} apart", parents=[first], model="small")


@pytest.mark.parametrize("size", [WIDE, {"width": 390, "height": 844}], ids=["wide", "phone"])
async def test_from_afar_every_conversation_has_its_title(bench, size):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await several(client)
        async with browsing(server, viewport=size) as page:
            await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
            await (await row(page, "yew most")).click()
            await page.locator("button[data-tab=graph]").evaluate("(tab) => tab.click()")
            await page.get_by_role("button", name="Fit").click()
            for tree in TREES:
                await until(page, f"[...window.wordsSeen.keys()].some((words) => words.startsWith('{tree} s'))")
            assert await page.evaluate(COVERED) == []
            buttons = await page.locator("#graph .controls").bounding_box()
            picture = await page.locator("#graph .picture").bounding_box()
            highest = await page.evaluate("Math.min(...[...window.wordsSeen.values()].map(([, y]) => y))")
            assert picture["y"] + highest - 8 >= buttons["y"] + buttons["height"]


@pytest.mark.parametrize("size", [WIDE, {"width": 390, "height": 844}], ids=["wide", "phone"])
async def test_neither_legend_nor_buttons_lie_over_what_a_fit_shows(bench, size):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            node = []
            for number in range(9):
                sent = {"prompt": f"turn {number}", "model": f"a model with a long name {number % 5}", "parents": node}
                node = [(await client.ask("create_node", **sent))["node_id"]]
        async with browsing(server, viewport=size) as page:
            await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
            await (await row(page, "turn 8")).click()
            await page.locator("button[data-tab=graph]").evaluate("(tab) => tab.click()")
            await expect(page.locator("#graph .legend")).to_be_visible()
            await page.get_by_role("button", name="Fit").click()
            await spot(page, "turn 0")
            await spot(page, "turn 8")
            assert await page.evaluate(COVERED) == []


async def test_at_first_the_conversation_of_the_chosen_turn_is_in_sight(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await several(client)
        async with browsing(server, viewport=WIDE) as page:
            await page.fill("#search", "hazel most")
            await (await row(page, "hazel most")).first.click()
            await page.fill("#search", "")
            panel = await page.locator("#graph .picture").bounding_box()
            for title in ("hazel subject", "hazel more", "hazel most", "hazel beside", "hazel apart"):
                x, y = await spot(page, title)
                assert panel["x"] < x < panel["x"] + panel["width"] - 40 and panel["y"] < y, title


async def test_what_a_card_offers_is_in_the_panel_and_has_its_whole_title(bench):
    long = "a question that is far too long for the two lines that a card has for the title of its turn, even near by"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            first = node = await make(client, "one")
            for number in range(6):
                node = await make(client, f"turn {number}", node)
            await make(client, long, node)
            await make(client, "side", first)
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "side")).click()
            x, y = await spot(page, "turn 5", 10)
            await page.mouse.move(x, y)
            await expect(page.locator("#graph .hovered b")).to_have_text("turn 5")
            below = await page.evaluate(f"[...window.wordsSeen].find(([words]) => words.startsWith({long[:12]!r}))[1]")
            panel = await page.locator("#graph .picture").bounding_box()
            await page.mouse.move(panel["x"] + below[0] + 10, panel["y"] + below[1] - 4)
            hovered = page.locator("#graph .hovered")
            await expect(hovered.locator("b")).to_have_text(long)
            box = await hovered.bounding_box()
            assert panel["y"] <= box["y"] and box["y"] + box["height"] <= panel["y"] + panel["height"]


async def test_where_there_is_little_room_the_graph_is_a_rail(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, viewport={"width": 1100, "height": 800}) as page:
            await expect(await row(page, "side")).to_be_visible()
            graph = page.locator("#graph")
            assert (await graph.bounding_box())["width"] == 56
            await expect(graph.locator(".minimap")).to_be_visible()
            await page.locator("#transcript").focus()
            await page.keyboard.press("f")  # to fit it into the rail would help nobody
            await until(page, "document.getElementById('graph').clientWidth > 500")
            await page.keyboard.press("g")
            await until(page, "document.getElementById('graph').clientWidth === 56")
            await graph.locator(".minimap").click()
            await expect(graph.get_by_role("button", name="Fit everything")).to_be_visible()
            assert (await graph.bounding_box())["width"] > 500
            await page.mouse.click(*await spot(page, "side", 5))
            await expect(page.locator(SELECTED)).to_have_text("side")
            await until(page, "document.getElementById('graph').clientWidth === 56")


async def test_what_the_colours_mean_is_read_beside_backstage_too(bench):
    models = ["claude-sonnet-5-5", "claude-haiku-4-5", "gpt-4.1-nano"]
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for model in models:
                await client.ask("create_node", prompt=f"by {model}", model=model)
        async with browsing(server, viewport={"width": 1220, "height": 800}) as page:
            await page.click("#toggle-backstage")
            names = page.locator("#graph .legend li")
            await expect(names).to_have_count(3)
            await expect(names).to_have_text(models)
            await page.get_by_role("button", name="Zoom in").click(click_count=4)
            for name in await names.all():
                assert await name.evaluate("(name) => name.scrollWidth <= name.clientWidth")


async def test_colours_tell_models_or_tags_apart(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for model, tag in (("big", "red"), ("small", "blue")):
                await client.ask("create_node", prompt=f"by {model}", model=model, tags=[tag])
            await make(client, "plain")
        async with browsing(server, viewport=WIDE) as page:
            legend = page.locator("#graph .legend")
            await expect(legend.locator("li")).to_have_text(["big", "small"])
            await legend.locator("select").select_option("tag")
            await expect(legend.locator("li")).to_have_text(["red", "blue"])
