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


async def test_two_branches_side_by_side_with_their_files(bench):
    script = [
        Turn("root answer"),
        *write("a.txt", "left\n", "Went left."),
        *write("b.txt", "right\n", "Went **right**."),
    ]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "root")
            await answered(page, "root answer")
            await send(page, "go left")
            await agree(page)
            await answered(page, "Went left.")
            await (await row(page, "root")).click()
            await send(page, "go right")
            await agree(page)
            await answered(page, "Went right.")
            await (await row(page, "go left")).click()
            await (await row(page, "go right")).click(modifiers=["Control"])
            await expect(page.locator(".chip")).to_have_count(2)
            await page.locator("#outline .tree").focus()
            await page.keyboard.press("d")
            sheet = page.locator("#dialog")
            await expect(sheet).to_contain_text("They part at “root”")
            await expect(sheet.locator(".sides section")).to_have_count(2)
            await expect(sheet.locator(".sides section").first).to_contain_text("Went left.")
            await expect(sheet.locator(".sides strong")).to_have_text("right")
            await expect(sheet.locator(".files")).to_contain_text("b.txt+1 −0")
            await expect(sheet.locator(".files .added")).to_have_text("right\n")
            await page.keyboard.press("Escape")
            await expect(page.locator("#dialog")).to_be_hidden()


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
                await page.locator("#dialog").get_by_role("button", name="Yes").click()
                await expect(page.get_by_role("treeitem")).to_have_count(1)
                await bring_back()
                await expect(page.get_by_role("treeitem")).to_have_count(3)
            await (await row(page, "one")).click()
            await (await row(page, "two")).click(modifiers=["Control"])
            await (await row(page, "three")).click()
            await expect(page.locator(".chip")).to_have_text([re.compile("three")])  # there were two
