"""What axe finds on the page: nothing of weight, in light and dark, wide and narrow, English and Japanese."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import Held, browsing, make, send, until
from page_rig.axe import AXE, FIND, LOOKS
from scripted_model import Call, Fault, ScriptedModel, Turn

pytestmark = pytest.mark.slow

ANSWER = "# Title\n\n[link](https://example.com) and `code`\n\n```python\ndef f():  # why\n    return 'x' * 1000\n```\n\n| a |\n|---|\n| 1 |\n\n> quote\n\n- [x] done\n\nSo $x^2$:\n\n$$\ny\n$$\n"


async def compare(page):
    await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
    rows = page.locator('[role="treeitem"]')
    await expect(rows).to_have_count(4)
    await rows.first.click()
    await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
    await rows.last.click(modifiers=["Control"])
    await page.locator("button[data-tab=talk]").evaluate("(tab) => tab.click()")
    await page.locator("#transcript").focus()
    await page.keyboard.press("d")


async def open_help(page):
    await page.locator("#settings").click()
    assert await page.evaluate(FIND) == [], "the menu of settings"
    await page.locator("#help").click()


async def open_palette(page):
    await page.keyboard.press("Control+k")
    await page.locator("#dialog input").fill("a")
    await expect(page.locator("#palette-list li").first).to_be_visible()


def by_key(key):
    async def opened(page):
        await page.locator("#transcript").focus()
        await page.keyboard.press(key)

    return opened


SHEETS = (
    open_help,
    *map(by_key, ("l", "N", "w")),
    open_palette,
    lambda page: page.locator("#figures").click(),
    lambda page: page.locator(".selected .files-of").click(),
    lambda page: page.locator(".selected .changed .lines-of").click(),
    compare,
)


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_nothing_of_weight(bench, look):
    script = [Turn(ANSWER, [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("Done.")]
    (bench.home / ".nebula" / "commands").mkdir(parents=True)
    (bench.home / ".nebula" / "commands" / "fix.md").write_text("Repair it.", "utf-8")
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **LOOKS[look]) as page, talk(server) as client:
            await page.evaluate(AXE)
            assert await page.evaluate(FIND) == []
            first = await make(client, "one")
            second = await make(client, "two", first)
            await client.ask(
                "create_node", prompt="three", response=ANSWER, tags=["tag"], summary="sum", parents=[second, first]
            )
            await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
            await expect(page.locator('[role="treeitem"]')).to_have_count(3)
            await page.locator('[role="treeitem"]').last.click()
            await expect(page.locator("#transcript .hl-keyword").first).to_be_attached()
            assert await page.evaluate(FIND) == []
            await page.locator("#toggle-backstage").click()
            assert await page.evaluate(FIND) == []
            await page.locator("#toggle-backstage").click()
            await send(page, "go on")
            await expect(page.locator(".question")).to_be_visible()
            assert await page.evaluate(FIND) == []
            await page.locator(".question .primary").click()
            await expect(page.locator("#transcript .selected")).to_contain_text("Done.")
            for opened in SHEETS:
                await opened(page)
                await expect(page.locator("#dialog")).to_be_visible()
                assert await page.evaluate(FIND) == [], opened
                await page.keyboard.press("Escape")
                await expect(page.locator("#dialog")).to_be_hidden()
            await by_key("E")(page)
            await expect(page.locator("#transcript .correcting textarea").first).to_be_focused()
            assert await page.evaluate(FIND) == []
            await page.keyboard.press("Escape")
            await page.fill("#prompt", "/")
            await expect(page.locator("#slash-list li")).to_have_count(2)
            assert await page.evaluate(FIND) == []
            await page.fill("#prompt", "")
            await page.locator("#composer .quiet[aria-expanded]").click()
            await expect(page.locator(".preview summary").first).to_be_visible()
            await page.locator("button[data-tab=outline]").evaluate("(tab) => tab.click()")
            await page.locator("#outline .narrow").click()
            await expect(page.locator("#outline .filters")).to_be_visible()
            assert await page.evaluate(FIND) == []


@pytest.mark.parametrize("look", LOOKS)
async def test_words_marked_in_a_change_can_be_read(bench, look):
    """Numbers and names in a review, in a part that is left out, and in what was decided, which is quiet."""
    bench.write("a.py", "RATE = 5\n" + "# between\n" * 20 + "last = 0\n")
    places = [{"old_text": "RATE = 5", "new_text": "RATE = 10"}, {"old_text": "last = 0", "new_text": "first = 1"}]
    edit = Turn("", [Call("editFile", {"path": "a.py", "edits": places})])
    script = [Turn("", [Call("readFile", {"path": "a.py"})]), edit, Turn("One is in.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **LOOKS[look]) as page:
            await page.evaluate(AXE)
            await send(page, "raise it")
            question = page.locator(".question")
            await expect(question.locator(".added .hl-number").first).to_have_text("10")
            assert await page.evaluate(FIND) == []
            await question.locator(".hunk input").first.uncheck()
            assert await page.evaluate(FIND) == [], "a part that is left out"
            await question.locator(".agree").click()
            await page.locator(".selected .decided summary").click()
            await expect(page.locator(".decided .added .hl-number").first).to_be_visible()
            assert await page.evaluate(FIND) == [], "what was decided"


@pytest.mark.parametrize("look", LOOKS)
async def test_axe_finds_nothing_in_a_comparison_a_choice_an_offer_and_turns_at_work(bench, look):
    """What comes and goes on the page beside the sheets."""
    held = Held(Fault.status_code(400))
    with ScriptedModel([held]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            root = await make(client, "one")
            for prompt, rate in (("left", 5), ("right", 60)):
                response = f"It keeps {rate}.\n\n```python\nRATE = {rate}\n```"
                await client.ask("create_node", prompt=prompt, response=response, parents=[root], note="a note")
        async with browsing(server, **LOOKS[look]) as page:
            await page.evaluate(AXE)
            sheet, rows = page.locator("#dialog"), page.locator("#palette-list li")
            await page.locator(".first-view li button").click()
            await page.locator("#transcript .selected [popovertarget=turn-menu]").click()
            assert await page.evaluate(FIND) == [], "what can be done with a turn"
            await page.get_by_role(
                "button",
                name="このターンを別のターンにつなぐ" if look == "japanese" else "Connect this turn to another",
            ).click()
            await expect(rows.first).to_be_visible()
            assert await page.evaluate(FIND) == [], "a choice of turns"
            await page.keyboard.press("Escape")
            await by_key("m")(page)
            if look == "phone":
                await rows.filter(has_text="left").click()
            else:
                await page.locator('[role="treeitem"]', has_text="left").click()
            await expect(page.locator("#composer .chip")).to_have_count(2)
            assert await page.evaluate(FIND) == [], "two that are chosen"
            await by_key("d")(page)
            await expect(sheet.locator("mark .hl-number, .hl-number mark").first).to_be_visible()
            assert await page.evaluate(FIND) == [], "a comparison"
            await page.keyboard.press("Escape")
            await by_key("Delete")(page)
            await sheet.locator("button.danger").click()
            await expect(page.locator("#banner button").first).to_be_visible()
            assert await page.evaluate(FIND) == [], "an offer to undo"
            await send(page, "go on")
            await expect(page.locator("#transcript .working")).to_be_visible()
            assert await page.evaluate(FIND) == [], "a turn at work"
            held.release()
            await expect(page.locator("#transcript .remark.failed")).to_be_visible()
            for tab in ("talk", "outline", "graph"):
                await page.locator(f"button[data-tab={tab}]").evaluate("(tab) => tab.click()")
                assert await page.evaluate(FIND) == [], f"a failed turn in {tab}"


DRAWN = """() => { const drawn = (letter) => {
    const canvas = Object.assign(document.createElement("canvas"), { width: 40, height: 40 });
    const context = canvas.getContext("2d");
    context.font = `30px ${getComputedStyle(document.body).fontFamily}`;
    context.fillText(letter, 5, 32);
    return canvas.toDataURL();
}; return new Set([..."日本語"].map(drawn)).size === 3; }"""


async def test_japanese_is_drawn_as_letters_not_as_boxes(bench):
    with serving(bench, "vizprompt") as server:
        async with browsing(server, locale="ja-JP") as page:
            await until(page, DRAWN)


async def test_an_answered_question_hands_the_keys_to_the_prompt(bench):
    """For those who have no pointer, or do not see it: what they type next is the next prompt."""
    bench.write("long.txt", "".join(f"line {number}.\n" for number in range(30)))
    places = [{"old_text": f"line {number}.\n", "new_text": "new\n"} for number in (2, 25)]
    script = [
        Turn("", [Call("readFile", {"path": "long.txt"})]),
        Turn("", [Call("editFile", {"path": "long.txt", "edits": places})]),
        Turn("edit done."),
    ]
    for name in "abc":
        script += [Turn("", [Call("writeFile", {"path": f"{name}.txt", "content": "x\n"})]), Turn(f"{name} done.")]
    script.append(Turn("", [Call("writeFile", {"path": "d.txt", "content": "x\n"})]))
    held = Held(Turn("Never."))
    with ScriptedModel([*script, held]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server) as page:
            question, prompt = page.locator(".question"), page.locator("#prompt")

            async def asked_for(name: str) -> None:
                await send(page, f"do {name}")
                await expect(question.locator("#question")).to_be_focused()

            async def goes_on(name: str) -> None:
                await expect(page.locator("#transcript")).to_contain_text(f"{name} done.")
                await expect(prompt).to_be_focused()

            await asked_for("edit")
            await question.get_by_label("Change 1 of 2").first.press("Space")
            await question.get_by_role("button", name="Apply 1 of 2 changes", exact=True).press("Enter")
            await goes_on("edit")
            assert bench.read("long.txt").count("new\n") == 1
            await asked_for("a")
            await question.get_by_role("button", name="Apply", exact=True).press("Enter")
            await goes_on("a")
            await asked_for("b")
            await question.get_by_role("button", name="No", exact=True).press("Enter")
            await goes_on("b")
            await asked_for("c")
            await question.get_by_label("Tell it what to change").fill("leave it")
            await page.keyboard.press("Enter")
            await goes_on("c")
            assert [(bench.project / f"{name}.txt").exists() for name in "abc"] == [True, False, False]
            await asked_for("d")
            await question.get_by_role("button", name="Stop", exact=True).press("Enter")
            await expect(question).to_have_count(0)
            await expect(prompt).to_be_focused()
            await send(page, "wait")
            await page.locator("#composer").get_by_role("button", name="Stop", exact=True).press("Enter")
            await expect(prompt).to_be_focused()
            held.release()
            await expect(page.locator("#transcript .working")).to_have_count(0)
            await expect(prompt).to_be_focused()
