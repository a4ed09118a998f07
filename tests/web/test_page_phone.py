"""The page on a phone: a press hits what it was aimed at, nothing lies over what one reads, hints are not cut."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import Held, answered, asked, branched, browsing, make, row, send, until
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
CUT = """() => [...document.querySelectorAll("#transcript :is(input[type=text], textarea), #prompt")].filter((field) => field.offsetParent)
    .filter((field) => { const pen = document.createElement("canvas").getContext("2d"), style = getComputedStyle(field);
        pen.font = style.font;
        const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        return pen.measureText(field.placeholder).width > room; }).map((field) => field.placeholder)"""
"""The hints of fields that are longer than these."""


async def tab(page, name):
    await page.locator(f"button[data-tab={name}]").tap()


async def test_the_first_press_after_writing_hits_what_it_was_aimed_at(bench):
    """The choices below the prompt go when one writes no more; what stands above them slips down by a row."""
    script = [Turn("words\n\n" * 30 + "```text\nx = 1\n```"), Turn("again")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **PHONE, reduced_motion="reduce") as page:
            await send(page, "go")
            await answered(page, "x = 1")
            await expect(page.locator("#prompt")).to_be_focused()
            await page.locator(".selected").get_by_role("button", name="Retry").tap()
            await answered(page, "again")
            await expect(page.locator("#composer .choices")).to_be_hidden()


async def test_of_two_that_were_merged_by_the_list_the_next_press_chooses_one(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, **PHONE) as page:
            await tab(page, "outline")
            await (await row(page, "three")).tap()
            await page.locator(".selected .merging").tap()
            await page.locator("#palette-list li", has_text="side").tap()
            await expect(page.locator("#composer .chip")).to_have_count(2)
            await tab(page, "outline")
            await (await row(page, "two")).tap()
            await expect(page.locator("#composer .chip .name")).to_have_text(["two"])


COVERED = """() => {
  const banner = document.getElementById("banner").getBoundingClientRect();
  const over = (box) => box.width && box.top < banner.bottom && box.bottom > banner.top && box.left < banner.right && box.right > banner.left;
  const controls = "#header button, #tabs button, #composer, .minimap, .controls, .legend, #outline :is(input, button)";
  return [...document.querySelectorAll(controls)].filter((each) => over(each.getBoundingClientRect())).length;
}"""
SMALL = """[...document.querySelectorAll("#transcript :is(.acts, .fork) .icon-button")]
    .map((each) => each.getBoundingClientRect()).filter(({ width, height }) => width && Math.min(width, height) < 40).length"""


async def test_what_is_said_in_passing_lies_over_no_control_and_speaks_of_no_keys(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, **PHONE) as page:
            await tab(page, "outline")
            await (await row(page, "three")).tap()
            await page.locator("#transcript .selected").get_by_role("button", name="Delete").tap()
            banner = page.locator("#banner")
            await expect(banner.get_by_role("button", name="Undo")).to_be_visible()
            await expect(banner).not_to_contain_text("Ctrl")
            await until(page, "!document.getAnimations().length")
            await expect(page.locator("#transcript .selected")).to_contain_text("answer to two")  # the turn before
            assert await page.evaluate(SMALL) == 0, "a thumb hits each of them"
            for name in ("talk", "graph", "outline"):
                await tab(page, name)
                assert await page.evaluate(COVERED) == 0, name
            await page.set_input_files(
                ".attach input", {"name": "one.bin", "mimeType": "application/octet-stream", "buffer": b"\xff\xfe"}
            )
            await expect(banner).to_contain_text("neither an image nor text")
            await expect(banner.get_by_role("button", name="Undo")).to_be_visible()


@pytest.mark.parametrize("locale", ["en-US", "ja-JP"])
async def test_no_hint_is_cut_and_a_question_keeps_its_sign_beside_its_words(bench, locale):
    bench.write("a/folder/with_a_long_name.py", "one\n")
    write = Call("editFile", {"path": "a/folder/with_a_long_name.py", "new_content": "two\n"})
    held = Held(Turn("", [Call("readFile", {"path": "a/folder/with_a_long_name.py"})]))
    script = [held, Turn("", [write])]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **PHONE, locale=locale) as page:
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            assert await page.evaluate(CUT) == []
            await send(page, "go")
            await asked(model)
            await expect(page.locator("#composer .stop")).to_be_visible()
            assert await page.evaluate(CUT) == [], "while a turn is at work"
            held.release()
            await expect(page.locator(".question .refuse textarea")).to_be_visible()
            assert await page.evaluate(CUT) == [], "below a change"
            sign, words = page.locator("#question > .icon"), page.locator("#question > .icon + *")
            assert (await sign.bounding_box())["y"] + 4 >= (await words.bounding_box())["y"]


async def test_the_first_view_has_what_came_last_above_the_prompt_and_no_keys(bench):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **PHONE) as page, talk(server) as client:
            teaching = page.locator(".first-view .teaching")
            await expect(teaching).to_be_visible()
            await expect(teaching).not_to_contain_text("Press ?", use_inner_text=True)
            await tab(page, "graph")
            await expect(page.locator("#graph")).to_contain_text("No conversation yet.")
            await tab(page, "talk")
            for number in range(5):
                await make(client, f"conversation {number}")
            last = page.locator(".first-view li").last
            await expect(last).to_contain_text("conversation 0")
            box = await last.bounding_box()
            assert box["y"] + box["height"] <= (await page.locator("#composer").bounding_box())["y"]


async def test_a_note_of_one_line_stands_in_the_middle_of_its_slip(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            node = await make(client, "one")
            await client.ask("update_node", node_id=node, note="ask Aoi")
        async with browsing(server, **PHONE) as page:
            await page.locator(".first-view li button").tap()
            slip = page.locator("#transcript .slip")
            middles = await slip.evaluate(
                "(slip) => [slip, slip.lastElementChild].map((each) => { const { top, bottom } = each.getBoundingClientRect(); return (top + bottom) / 2; })"
            )
            assert abs(middles[0] - middles[1]) <= 2, middles


STARTS = """(parent) => { const range = document.createRange(), found = new Map();
    const walker = document.createTreeWalker(parent, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) for (let at = 0; at < walker.currentNode.length; at++) {
        range.setStart(walker.currentNode, at); range.setEnd(walker.currentNode, at + 1);
        const { bottom, left, width } = range.getBoundingClientRect();
        if (width && walker.currentNode.data[at].trim() && ![...found.keys()].some((known) => Math.abs(known - bottom) < 9))
            found.set(bottom, [left, walker.currentNode.data.slice(at)]);
    } return [...found.values()]; }"""
"""Where each line begins, and with which words."""


async def test_a_task_is_indented_below_its_box(bench):
    tasks = "- [x] count the workers in `deploy/gunicorn.conf.py` and those of the queue\n- [ ] measure it"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="asked", response=tasks)
        async with browsing(server, **PHONE) as page:
            await page.locator(".first-view li button").tap()
            lines = await page.locator("li.task").first.evaluate(STARTS)
            assert len(lines) > 1 and max(left for left, _ in lines) - min(left for left, _ in lines) <= 6, lines


async def test_a_race_fits_and_its_task_breaks_between_phrases_in_japanese(bench):
    sleeps = Turn("", [Call("runCommand", {"command": "sleep 60"})])
    with ScriptedModel(lambda _: sleeps) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **PHONE, locale="ja-JP") as page:
            await page.fill("#prompt", "三行目を変えて、それを確かめるためのテストも書いてください")
            await page.locator("#race").tap()
            sheet = page.locator("#dialog")
            await expect(sheet.locator("form.race .hint")).to_be_in_viewport(ratio=1)
            start, box = sheet.locator("form.race button.primary"), sheet.locator("form.race .box")
            right = [(each["x"] + each["width"]) for each in (await start.bounding_box(), await box.bounding_box())]
            assert 0 <= right[1] - right[0] <= 12, right
            await start.tap()
            lines = await sheet.locator("p.task").evaluate(STARTS)
            assert [words[:3] for _, words in lines] == ["三行目", "テスト"], lines
            await sheet.get_by_role("button", name="すべて停止").tap()
            await expect(sheet.locator(".ended")).to_have_count(3)
