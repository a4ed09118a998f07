"""Small things that a reader notices: how a search ends, what can be taken back, what is named, counted and headed."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, Held, agree, answered, browsing, make, row, send, spot, until
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

ROWS = '[role="treeitem"]'
SCROLLED = "document.querySelector('#outline .tree').scrollTop"
TYPED_AND_LEFT = """() => { const box = document.getElementById("search"); box.value = "word";
    box.dispatchEvent(new Event("input", { bubbles: true }));
    box.dispatchEvent(new KeyboardEvent("keydown", { key: "Escape", bubbles: true }));
    return new Promise((done) => setTimeout(done, 500)); }"""


async def test_escape_ends_a_search_and_gives_the_view_back(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for number in range(80):
                await make(client, f"{'word' if number == 3 else 'turn'} {number}")
        async with browsing(server, viewport=WIDE) as page:
            await expect(page.locator(ROWS).first).to_contain_text("turn 79")  # the newest
            await page.evaluate(f"{SCROLLED} = 1200")
            await expect(await row(page, "turn 40")).to_be_visible()
            before = await page.evaluate(SCROLLED)
            await page.fill("#search", "word")
            await expect(page.locator(".count")).to_have_text("1 found")
            await page.keyboard.press("Escape")
            await expect(await row(page, "turn 40")).to_be_visible()
            await until(page, f"{SCROLLED} === {before}")
            await page.fill("#search", "word")
            await expect(page.locator(".count")).to_have_text("1 found")
            await page.locator(ROWS).click()
            await expect(page.locator("#transcript .selected")).to_contain_text("word 3")
            await page.keyboard.press("Escape")
            await expect(page.locator(".count")).to_have_text("")
            await expect(page.locator("#search")).to_have_value("")
            await expect(page.locator(".title", has_text=re.compile("^turn 4$"))).to_be_visible()
            await expect(page.locator("#transcript .selected")).to_contain_text("word 3")


async def test_a_search_that_was_left_does_not_come_back(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "word")
            await make(client, "other")
        async with browsing(server, viewport=WIDE) as page:
            await expect(page.locator(ROWS)).to_have_count(2)
            await page.evaluate(TYPED_AND_LEFT)
            await expect(page.locator(".count")).to_have_text("")
            await expect(page.locator(ROWS)).to_have_count(2)


async def test_files_that_were_taken_are_given_back_with_one_click(bench):
    script = []
    for path in ("a.txt", "b.txt"):
        script += [Turn("", [Call("writeFile", {"path": path, "content": "new\n"})]), Turn(f"Wrote {path}.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            for path in ("a.txt", "b.txt"):
                await send(page, f"write {path}")
                await agree(page)
                await answered(page, f"Wrote {path}.")
            await (await row(page, "write a.txt")).click()
            await page.locator(".selected").get_by_role("button", name="Files").click()
            await page.get_by_role("button", name="Take these files (1)").click()
            await expect(page.locator("#banner")).to_contain_text("Taken back: b.txt")
            assert not (bench.project / "b.txt").exists()
            await page.locator("#banner").get_by_role("button", name="Undo").click()
            await expect(page.locator("#banner")).to_contain_text("As before again: b.txt")
            assert bench.read("b.txt") == "new\n" and bench.read("a.txt") == "new\n"


async def test_an_offer_to_undo_can_be_closed_and_the_keys_are_not_lost(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for title in ("one", "two", "three"):
                await make(client, title)
        async with browsing(server, viewport=WIDE) as page:
            banner = page.locator("#banner")
            for title, button, left in (("two", "Close", 2), ("three", "Undo", 2)):
                await (await row(page, title)).click()
                await page.locator(".selected").get_by_role("button", name="Delete").click()
                await banner.get_by_role("button", name=button).press("Enter")
                await expect(banner.get_by_role("button")).to_have_count(0)
                await expect(page.locator(ROWS)).to_have_count(left)
                await expect(page.locator("#transcript")).to_be_focused()


async def test_a_change_of_the_graph_is_taken_back_with_one_click(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "one")
            await make(client, "two")
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "two")).click()
            await page.locator(".selected").get_by_role("button", name="Delete").click()
            await expect(page.locator(ROWS)).to_have_count(1)
            await page.locator("#banner").get_by_role("button", name="Undo").click()
            await expect(page.locator(ROWS)).to_have_count(2)
            await expect(page.locator("#banner")).to_have_text("Undone.")


async def test_every_file_that_cannot_go_along_is_named(bench):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            files = [
                {"name": "one.bin", "mimeType": "application/octet-stream", "buffer": b"\xff\xfe"},
                {"name": "huge.txt", "mimeType": "text/plain", "buffer": b"x" * 700_001},
                {"name": "good.txt", "mimeType": "text/plain", "buffer": b"fine"},
                {"name": "two.bin", "mimeType": "application/octet-stream", "buffer": b"\xfe\xff"},
            ]
            await page.set_input_files(".attach input", files)
            banner = page.locator("#banner")
            await expect(banner).to_contain_text("one.bin, two.bin are neither an image nor text.")
            await expect(banner).to_contain_text("huge.txt is too large to send along")
            await expect(page.locator(".chip.attached")).to_have_text(["good.txt"])
            dropped = """(file) => { const data = new DataTransfer(); data.items.add(new File([file], "broken.png", { type: "image/png" }));
                const drop = (kind) => document.getElementById("transcript").dispatchEvent(
                    new DragEvent(kind, { dataTransfer: data, bubbles: true, cancelable: true }));
                return [drop("dragover"), drop("drop")]; }"""
            assert await page.evaluate(dropped, "no image") == [False, False]  # the browser does not open it
            await expect(page.locator(".chip.attached")).to_have_count(2)
            await send(page, "Look")
            await expect(banner).to_contain_text("broken.png is no image")
            await expect(page.locator("#prompt")).to_have_value("Look")


async def test_one_turn_is_counted_as_one(bench):
    with ScriptedModel([Turn("first"), Turn("second")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            for prompt, answer, count in (("one", "first", "1 turn ·"), ("two", "second", "2 turns ·")):
                await send(page, prompt)
                await expect(page.locator("#transcript .selected .response")).to_contain_text(answer)
                await page.get_by_role("button", name="Context").click()
                await expect(page.locator(".preview > p").first).to_contain_text(f"of the past, {count}")
                await page.locator(".preview").get_by_role("button", name="Close").click()


async def test_an_answer_in_several_rounds_is_headed_once(bench):
    bench.write("a.txt", "one\n")
    look = Call("readFile", {"path": "a.txt"})
    end = Held(Turn("It says one."))
    script = [Turn("I look at it.", [look]), Turn("And again.", [Call("list", {"path": "."})]), end]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "Look")
            live = page.locator("#transcript .live")
            await expect(live).to_contain_text("I look at it.")
            await expect(live.get_by_role("heading")).to_have_text(["You", "Answer"])
            end.release()
            await expect(page.locator("#transcript .selected")).to_contain_text("It says one.")
            await expect(page.locator("#transcript h2")).to_have_text(["You", "Answer"])


async def test_backstage_reads_like_a_list_not_like_json(bench):
    bench.write("a.txt", "".join(f"line {number}\n" for number in range(40)))
    edit = {"path": "a.txt", "edits": [{"old_text": "line 1\n", "new_text": "<b>1</b>\n"}]}
    script = [
        Turn("", [Call("readFile", {"path": "a.txt"})]),
        Turn("", [Call("editFile", edit)]),
        Turn("Done."),
    ]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "Change it")
            await agree(page)
            await expect(page.locator("#transcript .selected")).to_contain_text("Done.")
            await page.click("#toggle-backstage")
            drawer = page.locator("#backstage")
            await expect(drawer.locator("details:not(.field) > summary")).to_have_text(
                ["readFilea.txtSuccess", "editFilea.txtSuccess"]  # a row a call: which, with what, and how it ended
            )
            for step in await drawer.locator("details:not(.field) > summary").all():
                await step.click()
            await expect(drawer.locator(".field", has_text="path:").first).to_have_text("path: a.txt")
            await expect(drawer.locator("pre", has_text="old_text: line 1")).to_contain_text("new_text: <b>1</b>")
            folded = drawer.locator("details.field", has=page.locator("summary", has_text="content: 40 lines"))
            await expect(folded.locator("pre")).to_be_hidden()
            await folded.locator("summary").click()
            await expect(folded.locator("pre")).to_contain_text("line 39")
            assert '{"' not in await drawer.inner_text()


async def test_the_row_of_a_turn_that_begins_comes_into_sight(bench):
    held = Held(Turn("Done."))
    with ScriptedModel([held]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            turns: list[str] = []
            for number in range(30):
                turns.append(await make(client, f"turn {number}", *turns[-1:]))
        async with browsing(server, viewport={"width": 1400, "height": 600}) as page:
            await page.locator("#outline .tree").focus()
            await page.keyboard.press("End")
            await expect(await row(page, "turn 29")).to_be_in_viewport(ratio=1)
            await send(page, "one more")
            await expect(page.locator("#outline .live")).to_be_in_viewport(ratio=1)
            held.release()
            await answered(page, "Done.")


CHANGED = (("removed", "print(1)"), ("added", "print(2)"))


@pytest.mark.parametrize("size", [(1400, 900), (390, 800)])
async def test_a_small_change_is_seen_whole(bench, size):
    bench.write("app.py", "import os\n\nprint(1)\n")
    edit = {"path": "app.py", "edits": [{"old_text": "print(1)", "new_text": "print(2)"}]}
    script = [
        Turn("First."),
        Turn("I look.", [Call("readFile", {"path": "app.py"})]),
        Turn("", [Call("editFile", edit)]),
    ]
    width, height = size
    with ScriptedModel([*script, Turn("Done.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport={"width": width, "height": height}) as page:
            await send(page, "Begin")
            await expect(page.locator("#transcript .selected")).to_contain_text("First.")
            await send(page, "Change it")
            for kind, line in CHANGED:
                await expect(page.locator(f".question .{kind}", has_text=line)).to_be_in_viewport(ratio=1)
            await agree(page)
            await expect(page.locator("#transcript .selected")).to_contain_text("Done.")
            await page.locator(".selected .files-of").click()
            for kind, line in CHANGED:
                await expect(page.locator(f"#dialog .{kind}", has_text=line)).to_be_in_viewport(ratio=1)


LINES = "".join(f"line {place}\n" for place in range(60))
FAR_APART = [{"old_text": f"line {place}\n", "new_text": f"LINE {place}\n"} for place in (2, 20, 40, 57)]
WIDTHS = "[...document.querySelectorAll('#composer select')].map((each) => Math.round(each.offsetWidth))"


@pytest.mark.parametrize("size", [(1024, 600), (390, 800), (360, 640)])
async def test_what_was_asked_stays_in_sight_above_a_question(bench, size):
    bench.write("a.txt", LINES)
    script = [
        Turn("First."),
        Turn("I look and change.", [Call("readFile", {"path": "a.txt"})]),
        Turn("", [Call("editFile", {"path": "a.txt", "edits": FAR_APART})]),
    ]
    width, height = size
    with ScriptedModel([*script, Turn("Done.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport={"width": width, "height": height}) as page:
            await send(page, "Begin")
            await answered(page, "First.")
            await send(page, "Change it")
            await expect(page.locator(".question .hunk")).to_have_count(4)
            for place in (".live .prompt .text", ".live .response .text", ".question h2", ".question .answers"):
                await expect(page.locator(place).first).to_be_in_viewport(ratio=0.9)


async def test_a_turn_is_stopped_at_its_question(bench):
    script = [Turn("I write.", [Call("writeFile", {"path": "a.txt", "content": "one\n"})])]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            await send(page, "Write it")
            await page.locator(".question").get_by_role("button", name="Stop").click()
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await expect(page.locator(".question")).to_have_count(0)
    assert not (bench.project / "a.txt").exists()


async def test_no_choice_is_cut_off_where_there_is_little_room(bench):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            widths = await page.evaluate(WIDTHS)
            for width in (390, 1024):
                await page.set_viewport_size({"width": width, "height": 800})
                await page.focus("#prompt")  # on a phone the choices come up while one writes
                await until(page, f"innerWidth === {width} && {WIDTHS}.join() === '{','.join(map(str, widths))}'")
                await expect(page.locator("#composer button[data-act=send]")).to_be_in_viewport(ratio=1)


BAR_IS_ONE_ROW = 'document.querySelector("header").offsetHeight <= 56'
HINT_AND_FAINT = """["prompt", "search"].map((id) => getComputedStyle(document.getElementById(id), "::placeholder").color)
    .concat(getComputedStyle(document.querySelector("#composer .hint")).color)"""


@pytest.mark.parametrize("look", [{}, {"locale": "ja-JP", "color_scheme": "dark"}])
async def test_the_bar_takes_one_row_of_a_phone_and_hints_can_be_read(bench, look):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "one")
            await client.ask("create_flow", name="a flow with a name that is far too long for the bar of a phone")
        phone = {"viewport": {"width": 360, "height": 740}, "has_touch": True, "is_mobile": True}
        async with browsing(server, **phone, **look) as page:
            await expect(page.locator("#flows")).to_be_visible()
            await until(page, f"{BAR_IS_ONE_ROW} && document.documentElement.scrollWidth === innerWidth")
            await until(page, f"new Set({HINT_AND_FAINT}).size === 1")


UPPER_HALF_HAS_INK = """(() => { const all = document.querySelector("#graph .minimap");
    return all.getContext("2d").getImageData(0, 0, all.width, all.height / 2).data.some((each) => each > 0); })()"""


async def test_the_overview_shows_the_nodes_and_leads_to_them(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            last: list[str] = []
            for number in range(60):
                last = [await make(client, f"turn {number}", *last)]
        async with browsing(server, viewport=WIDE) as page:
            overview = page.locator("#graph .minimap")
            await expect(overview).to_be_visible()
            await until(page, UPPER_HALF_HAS_INK)  # the frame is around the newest, below
            oldest, newest = (f"window.wordsSeen.has('answer to turn {number}')" for number in (0, 59))
            await until(page, f"{newest} && !{oldest}")
            await overview.click(position={"x": 66, "y": 4})
            await until(page, f"{oldest} && !{newest}")
            await page.mouse.move(*await spot(page, "answer to turn 0", 5))
            await expect(page.locator("#graph .hovered")).to_contain_text("answer to turn 0")


async def test_the_first_key_leads_to_the_prompt(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server) as page:
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await page.keyboard.press("Tab")
            await expect(page.get_by_role("link", name="Skip to the prompt")).to_be_focused()
            await page.keyboard.press("Enter")
            await expect(page.locator("#prompt")).to_be_focused()


async def test_a_title_fills_its_first_line(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await make(client, "why do workers grant twice their rate")
        async with browsing(server, viewport=WIDE) as page:
            title = (await row(page, "why do")).locator(".title")
            widths = await title.evaluate(
                "(title) => { const range = document.createRange(); range.selectNodeContents(title); return [...range.getClientRects()].map(({ width }) => width / title.clientWidth); }"
            )
            assert len(widths) == 2 and widths[0] > 0.8, widths
