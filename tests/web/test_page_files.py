"""Files on the page: hunks chosen one by one, what a turn changed, going back to it, two turns side by side."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, agree, answered, browsing, make, row, send
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

LONG = [f"line {number}\n" for number in range(30)]


def changed(*places):
    return "".join(f"{line.rstrip()} changed\n" if place in places else line for place, line in enumerate(LONG))


def write(path, content, words):
    return [Turn("", [Call("writeFile", {"path": path, "content": content})]), Turn(words)]


async def test_hunks_are_taken_one_by_one(bench):
    bench.write("app.txt", "".join(LONG))
    edit = {"path": "app.txt", "new_content": changed(2, 20)}
    script = [Turn("", [Call("readFile", {"path": "app.txt"})]), Turn("", [Call("editFile", edit)]), Turn("Done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "Change two places")
            question = page.locator(".question")
            await expect(question.locator(".hunk")).to_have_count(2)
            await expect(question.locator(".hunk label")).to_have_text([re.compile("line 3"), re.compile("line 21")])
            await expect(question.get_by_role("button", name="Apply 2 changes")).to_be_visible()
            await question.get_by_label("Change 1 of 2").first.uncheck()
            await question.get_by_role("button", name="Apply 1 of 2 changes").click()
            await expect(page.locator("#transcript")).to_contain_text("Done.")
    assert bench.read("app.txt") == changed(20)


async def test_files_are_seen_and_taken_back_in_three_actions(bench):
    script = [*write("a.txt", "one\n", "First."), *write("b.txt", "two\n", "Second.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            for prompt, words in (("write a", "First."), ("write b", "Second.")):
                await send(page, prompt)
                await agree(page)
                await answered(page, words)
            link = page.get_by_role("link", name="Open b.txt in the editor").first
            assert await link.get_attribute("href") == f"vscode://file{bench.project}/b.txt:1"
            await (await row(page, "write a")).click()
            await page.locator(".selected").get_by_role("button", name="Files").click()
            sheet = page.locator("#dialog")
            await expect(sheet).to_contain_text("would do this to the project now")
            await expect(sheet.locator(".removed")).to_have_text("two\n")
            await expect(sheet.locator(".added")).to_have_text("one\n")
            assert (bench.project / "b.txt").exists()
            await sheet.get_by_role("button", name="Take these files (1)").click()
            await expect(page.locator("#banner")).to_contain_text("Taken back: b.txt")
            assert not (bench.project / "b.txt").exists() and bench.read("a.txt") == "one\n"
            await page.keyboard.press("v")
            await expect(sheet).to_contain_text("as this turn left them")


async def test_a_control_file_comes_back_only_where_it_is_ticked(bench):
    script = [*write(".bashrc", "one\n", "First."), *write("b.txt", "two\n", "Second.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            for prompt, words in (("write a", "First."), ("write b", "Second.")):
                await send(page, prompt)
                await agree(page)
                await answered(page, words)
            (bench.project / ".bashrc").unlink()
            await (await row(page, "write a")).click()
            await page.locator(".selected").get_by_role("button", name="Files").click()
            sheet = page.locator("#dialog")
            tick = sheet.get_by_label("Bring .bashrc back as well")
            await expect(tick).not_to_be_checked()
            await expect(sheet).to_contain_text("controls other programs")
            await expect(sheet.get_by_role("button", name="Take these files (1)")).to_be_visible()
            await tick.check()
            await sheet.get_by_role("button", name="Take these files (2)").click()
            await expect(page.locator("#banner")).to_contain_text("Taken back: .bashrc, b.txt")
    assert bench.read(".bashrc") == "one\n"


LEFT = "It goes left now.\n\n```python\nfor row in left:\n    yield row\n```\n\n| rows | way |\n|---|---|\n| all | one by one |\n\nThat is all."
RIGHT = "It goes right now.\n\nA word on **memory**.\n\n```python\nfor row in right:\n    yield row\n```\n\n| rows | way |\n|---|---|\n| all | at once |\n\nThat is all."


async def open_comparison(page):
    """Two branches that wrote a file each, and the sheet that holds them against each other."""
    await send(page, "root")
    await answered(page, "root answer")
    await send(page, "go left")
    await agree(page)
    await answered(page, "It goes left")
    await (await row(page, "root")).click()
    await send(page, "go right")
    await agree(page)
    await answered(page, "It goes right")
    await (await row(page, "go left")).click()
    await (await row(page, "go right")).click(modifiers=["Control"])
    await expect(page.locator(".chip")).to_have_count(2)
    await page.locator("#outline .tree").focus()
    await page.keyboard.press("d")
    await expect(page.locator("#dialog .pair.alike").first).to_be_visible()
    return page.locator("#dialog")


async def tops(locator):
    return [round((await each.bounding_box())["y"]) for each in await locator.all()]


async def test_paragraphs_that_say_something_else_are_marked_in_japanese_too(bench):
    """Every sentence shares its particles with every other: that does not make two of them alike."""
    told = "プロセスが二つ以上ならそうです。ワーカーごとにバケットを持つので、それぞれから割り当てを受け取ります。"
    other = "スライディングログは区切りでも正確ですが、すべてのリクエストを覚えます。"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            root = await make(client, "root")
            for prompt, response in (("left", told), ("right", other)):
                await client.ask("create_node", prompt=prompt, response=response, parents=[root])
        async with browsing(server, viewport=WIDE, locale="ja-JP") as page:
            await (await row(page, "left")).click()
            await (await row(page, "right")).click(modifiers=["Control"])
            await page.locator("#outline .tree").focus()
            await page.keyboard.press("d")
            said = page.locator("#dialog .pair", has_text="ワーカー")
            await expect(said).to_contain_text("スライディング")
            await expect(said).to_have_class(re.compile("apart"))


async def test_two_branches_side_by_side_with_their_files(bench):
    script = [Turn("root answer"), *write("a.txt", "left\n", LEFT), *write("b.txt", "right\n", RIGHT)]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            sheet = await open_comparison(page)
            await expect(sheet).to_contain_text("They part at “root”")
            await expect(sheet.locator(".prompt")).to_have_text(["go left", "go right"])
            # Only the words that differ are marked, in prose, in the prompt and in code that has its colours.
            await expect(sheet.locator(".one mark")).to_have_text(["left", "left", "left", "one by one"])
            await expect(sheet.locator(".other mark")).to_have_text(["right", "right", "right", "at once"])
            await expect(sheet.locator(".pair pre .hl-keyword")).to_have_text(["for", "in", "yield"] * 2)
            # What only one says stands alone; what both say stands at one height, though one has more before it.
            await expect(sheet.locator(".pair.apart .other")).to_contain_text("A word on memory.")
            await expect(sheet.locator(".pair.apart .one")).to_be_empty()
            ends = sheet.locator(".pair", has_text="That is all.").locator(".side")
            one, other = await tops(ends)
            assert one == other
            await page.set_viewport_size({"width": 1000, "height": 420})
            await sheet.evaluate("(sheet) => sheet.scrollBy(0, 60)")
            moved = await tops(ends)
            assert moved[0] == moved[1] != one
            await page.set_viewport_size(WIDE)
            await expect(sheet.locator(".files")).to_contain_text("b.txt+1 −0")
            await expect(sheet.locator(".files .added")).to_have_text("right\n")
            await page.keyboard.press("Escape")
            await expect(page.locator("#dialog")).to_be_hidden()


async def test_of_two_that_are_compared_one_is_picked_or_continued_or_both_are_merged(bench):
    script = [Turn("root answer"), *write("a.txt", "left\n", LEFT), *write("b.txt", "right\n", RIGHT)]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            sheet = await open_comparison(page)
            await sheet.get_by_role("button", name="Merge both").click()
            await expect(page.locator(".chip .name")).to_have_text(["go left", "go right"])
            await page.locator("#outline .tree").focus()
            await page.keyboard.press("d")
            first = sheet.get_by_role("group", name="First: go left")
            await first.get_by_role("button", name="Continue from this one").click()
            await expect(page.locator(".chip .name")).to_have_text(["go left"])
            assert (bench.project / "b.txt").exists()
            await (await row(page, "go right")).click(modifiers=["Control"])
            await page.locator("#outline .tree").focus()
            await page.keyboard.press("d")
            await first.get_by_role("button", name="Pick this one").click()
            await expect(page.locator("#banner")).to_contain_text("Taken back: b.txt")
            assert not (bench.project / "b.txt").exists() and bench.read("a.txt") == "left\n"
            await expect(page.locator("#transcript .selected")).to_contain_text("It goes left")
            await page.locator("#banner").get_by_role("button", name="Undo").click()
            await expect(page.locator("#banner")).to_contain_text("As before again")
            assert bench.read("b.txt") == "right\n"


async def test_several_turns_are_chosen_deleted_and_brought_back(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for title in ("one", "two", "three"):
                await make(client, title)
        async with browsing(server, viewport=WIDE) as page:
            undo = page.get_by_role("button", name="Undo")
            for bring_back in (undo.click, lambda: page.keyboard.press("Control+z")):
                await (await row(page, "one")).click()
                await (await row(page, "three")).click(modifiers=["Control"])
                await expect(page.locator('[aria-selected="true"]')).to_have_count(2)
                await page.get_by_role("button", name="Delete 2").click()
                await expect(page.locator("#dialog")).to_contain_text("Delete 2 turns")
                await page.locator("#dialog").get_by_role("button", name="Delete 2").click()
                await expect(page.get_by_role("treeitem")).to_have_count(1)
                await bring_back()
                await expect(page.get_by_role("treeitem")).to_have_count(3)
            await (await row(page, "one")).click()
            await (await row(page, "two")).click(modifiers=["Control"])
            await (await row(page, "three")).click()
            await expect(page.locator(".chip")).to_have_text([re.compile("three")])  # there were two
