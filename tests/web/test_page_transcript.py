"""The transcript as a person reads it: Markdown, long answers, questions, and where the page scrolls."""

from __future__ import annotations

import json
import time

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import agree, browsing, row, send, until
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow
COPIED = "navigator.clipboard.readText().then((text) => text === %s)"

MARKDOWN = """# Title

Some **bold**, `code`, [good](https://example.com/x) and [bad](javascript:alert(1)) and [file](file:///etc/passwd).

- one
- two

```python
def f(x):
    return "text"  # why
```

| a | b |
|---|--:|
| 1 | 2 |

![picture](https://example.com/p.png) <svg onload=alert(1)> <style>*{display:none}</style>
"""
TOP = "(id) => document.querySelector(`#transcript [data-id='${id}']`).getBoundingClientRect().top - document.querySelector('#transcript').getBoundingClientRect().top"


async def node(client, prompt, response, *parents):
    return (await client.ask("create_node", prompt=prompt, response=response, parents=list(parents)))["node_id"]


async def test_markdown_becomes_elements_and_nothing_else(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await node(client, "explain", MARKDOWN)
        async with browsing(server, permissions=["clipboard-read", "clipboard-write"]) as page:
            await (await row(page, "explain")).click()
            text = page.locator("#transcript .response .text")
            await expect(text.locator("h3")).to_have_text("Title")
            await expect(text.locator("strong")).to_have_text("bold")
            await expect(text.locator("li")).to_have_count(2)
            await expect(text.locator("td").last).to_have_class("right")
            await expect(text.locator(".hl-keyword")).to_have_text(["def", "return"])
            await expect(text.locator("pre")).to_have_text('def f(x):\n    return "text"  # why\n')
            links = await text.locator("a").evaluate_all(
                "(all) => all.map((each) => [each.href, each.rel, each.target])"
            )
            assert [link[0] for link in links] == ["https://example.com/x", "https://example.com/p.png"]
            assert all(link[1:] == ["noopener noreferrer", "_blank"] for link in links)
            assert await text.locator(":is(img, svg, style, script)").count() == 0
            await expect(text).to_contain_text("<svg onload=alert(1)>")
            await text.get_by_role("button", name="Copy").click()
            await until(page, COPIED % json.dumps('def f(x):\n    return "text"  # why\n'))
            await page.locator(".acts").get_by_role("button", name="Copy").click()
            await until(page, COPIED % json.dumps(MARKDOWN))


async def test_a_selection_of_text_survives_what_happens_elsewhere(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server) as page, talk(server) as client:
            first = await node(client, "one", "keep **these words** selected")
            await (await row(page, "one")).click()
            await page.locator("#transcript strong").select_text()
            await node(client, "two", "more", first)
            await expect(await row(page, "two")).to_be_visible()
            await page.keyboard.press("b")
            await expect(page.locator("#backstage")).to_be_visible()
            await until(page, "getSelection().toString() === 'these words'")


async def test_a_very_long_answer_is_cheap_and_shown_from_its_beginning(bench):
    long = "\n".join(f"line {number} " + "wide " * 40 for number in range(50_000))[: 900 << 10]
    with serving(bench, "vizprompt") as server:
        async with browsing(server) as page, talk(server) as client:
            await node(client, "short", "a short answer")
            made = await node(client, "long", long)
            await expect(await row(page, "long")).to_be_visible()
            await (await row(page, "long")).click()
            await expect(page.locator("#transcript .response .text")).to_contain_text("line 0 wide")
            await until(page, f"0 <= ({TOP})('{made}') && ({TOP})('{made}') < 40")  # its beginning
            layout = await page.evaluate(
                """(() => { const box = document.querySelector('#transcript'); const took = [];
                    for (let n = 0; n < 20; n++) { const started = performance.now();
                        box.style.width = `${500 + n}px`; box.getBoundingClientRect(); box.scrollHeight;
                        took.push(performance.now() - started); }
                    box.style.width = ''; return Math.min(...took); })()"""
            )
            assert layout < 100, f"{layout} ms"
            took = []
            for number in range(4):
                started = time.monotonic()
                await node(client, f"elsewhere {number}", "x")
                await expect(await row(page, f"elsewhere {number}")).to_be_visible()
                took.append(time.monotonic() - started)
            assert min(took) < 1, took


async def test_a_very_long_answer_keeps_its_code(bench):
    long = "first\n```python\nx = 1\n```\n" + "line\n" * 5000
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await node(client, "long", long)
        async with browsing(server) as page:
            await (await row(page, "long")).click()
            text = page.locator("#transcript .response .text")
            await expect(text.locator(".code pre")).to_have_text("x = 1\n")
            await expect(text.locator(".code button")).to_have_text("Copy")
            assert "```" not in (await text.inner_text())


async def test_tasks_and_headings_and_cells_of_an_answer(bench):
    answer = "### Deep\n\n# Top\n\n- [x] read **docs**\n- [ ] write\n- [no] plain\n\n| " + (
        "Memory | per client |\n|---|---|\n| numbers | requests of everybody who asks for anything at all |\n"
    )
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await node(client, "tasks", answer)
        async with browsing(server, viewport={"width": 1024, "height": 700}) as page:
            await (await row(page, "tasks")).click()
            text = page.locator("#transcript .response .text")
            boxes = text.locator("li.task input[type=checkbox]")
            await expect(boxes).to_have_count(2)
            assert [await box.is_checked() for box in await boxes.all()] == [True, False]
            assert [each.strip() for each in await text.locator("li").all_inner_texts()] == [
                "read docs",
                "write",
                "[no] plain",
            ]
            assert await text.locator(":is(h3, h4, h5, h6)").evaluate_all(
                "(all) => all.map((each) => each.tagName)"
            ) == [
                "H3",
                "H3",
            ]
            heights = "(all) => all.map((each) => each.getClientRects().length && each.offsetHeight)"
            head, *_ = await text.locator("th").evaluate_all(heights)
            assert head < 50, "a word of a cell is not broken"


async def test_the_chosen_turn_is_shown_whatever_stands_above_it(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            last = await node(client, "turn 0", MARKDOWN)
            for number in range(1, 9):
                last = await node(client, f"turn {number}", MARKDOWN * 3, last)
        async with browsing(server) as page:
            await (await row(page, "turn 8")).click()
            await expect(page.locator("#transcript h3")).to_have_count(25)
            await until(page, f"Math.abs(({TOP})('{last}')) < 40")


async def test_the_transcript_scrolls_by_keyboard(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await node(client, "long", "\n\n".join(f"paragraph {number}" for number in range(200)))
        async with browsing(server) as page:
            await (await row(page, "long")).click()
            await expect(page.locator("#transcript")).to_contain_text("paragraph 199")
            while not await page.evaluate("document.querySelector('#transcript').scrollTop > 1000"):
                await page.locator("#transcript").press("End")  # what was chosen may still be coming into sight
                await page.wait_for_timeout(200)


SCROLLED_THEN_DRAWN = """(() => { const box = document.querySelector("#transcript");
    const press = (key, at) => at.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
    press("End", box); box.scrollTop = 300; press("c", document.body); return box.scrollTop; })()"""


async def test_who_scrolls_is_not_taken_back_by_a_drawing(bench):
    """The browser tells of the scroll later than the page is drawn."""
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await node(client, "long", "\n\n".join(f"paragraph {number}" for number in range(200)))
        async with browsing(server) as page:
            await (await row(page, "long")).click()
            await expect(page.locator("#transcript")).to_contain_text("paragraph 199")
            assert await page.evaluate(SCROLLED_THEN_DRAWN) == 300


@pytest.mark.parametrize("size", [(1400, 900), (390, 800)])
async def test_a_question_leaves_prompt_and_act_one_in_sight(bench, size):
    script = [
        Turn("Act one: I will write many lines.", [Call("writeFile", {"path": "app.py", "content": "new\n" * 200})]),
        Turn("Done."),
    ]
    width, height = size
    with ScriptedModel([Turn("Before. " * 400), *script]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport={"width": width, "height": height}) as page:
            await send(page, "Something before")
            await expect(page.locator("#transcript .facts")).to_have_count(1)
            await send(page, "Make it new")
            await expect(page.locator(".question")).to_be_visible()
            for shown in (".live .prompt", ".live .act-1", ".question h2", ".question .primary"):
                await expect(page.locator(shown)).to_be_in_viewport(ratio=1)
            await expect(page).to_have_title("(!) A question waits · nebula")
            await agree(page)
            await expect(page.locator("#transcript")).to_contain_text("Done.")
            await expect(page).to_have_title("nebula")


async def test_a_prompt_sent_while_scrolled_up_is_brought_into_view(bench):
    with (
        ScriptedModel([Turn("Long.\n\n" * 200), Turn("Second answer.")]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with browsing(server) as page:
            await send(page, "first prompt")
            await expect(page.locator("#transcript .facts")).to_have_count(1)
            await page.locator("#transcript").evaluate("(box) => { box.scrollTop = 300; }")
            await send(page, "second prompt")
            await expect(page.locator("#transcript")).to_contain_text("Second answer.")
            await expect(page.locator(".prompt .text", has_text="second prompt")).to_be_in_viewport(ratio=1)


async def test_a_reload_keeps_the_place_and_back_goes_back(bench):
    with serving(bench, "nebula") as server:
        async with talk(server) as client:
            first = await node(client, "one", "first")
            await node(client, "two", "second", first)
            await client.ask("create_flow", name="other")
            await client.ask("create_node", prompt="elsewhere", response="there", flow_id="other")
        async with browsing(server) as page:
            await (await row(page, "one")).click()
            await page.select_option("#mode", "plan")
            await page.wait_for_url(f"**/?flow=main&node={first}")
            await page.wait_for_timeout(400)  # a reader who stays; who only passes leaves no step to go back to
            await (await row(page, "two")).click()
            await page.wait_for_url(lambda url: first not in url)
            await page.reload()
            await expect(page.locator('[aria-selected="true"] .title')).to_have_text("two")
            await expect(page.locator("#mode")).to_have_value("plan")
            await page.go_back()
            await expect(page.locator('[aria-selected="true"] .title')).to_have_text("one")
            await page.select_option("#flows", label="other")
            await (await row(page, "elsewhere")).click()
            await page.wait_for_url("**/?flow=other&node=*")
            await page.reload()
            await expect(page.locator("#transcript")).to_contain_text("there")


async def test_keys_palette_and_help_come_from_one_table(bench):
    with serving(bench, "nebula") as server:
        async with browsing(server) as page:
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await page.keyboard.press("?")
            await expect(page.locator("#dialog")).to_contain_text("Show or hide backstage")
            await page.keyboard.press("Escape")
            await expect(page.locator("#dialog")).to_be_hidden()
            await page.fill("#prompt", "typed")
            await page.keyboard.press("Control+k")
            await page.keyboard.type("plan and")
            await page.keyboard.press("Enter")
            await expect(page.locator("#dialog")).to_be_hidden()
            await expect(page.locator("#mode")).to_have_value("plan")
            await expect(page.locator("#prompt")).to_have_value("typed")
