"""A file on the page with the turn of each line in the margin, and how many lines of a turn are left."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving
from nebula.graph.graph import Graph
from nebula.graph.values import FileState, Utterance
from page_rig import WIDE, answered, browsing, row, send
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

FIRST = "first line\nsecond line\nthird line\n"
SECOND = "first line\nchanged by the second turn\nthird line\n"


def script():
    return [
        Turn("", [Call("writeFile", {"path": "a.txt", "content": FIRST})]),
        Turn("First."),
        Turn("", [Call("readFile", {"path": "a.txt"})]),
        Turn("", [Call("editFile", {"path": "a.txt", "new_content": SECOND})]),
        Turn("Second."),
    ]


async def work(page):
    for prompt, words in (("write it", "First."), ("change it", "Second.")):
        await send(page, prompt)
        await page.locator(".question .primary").click()
        await answered(page, words)


async def test_each_line_has_its_turn_in_the_margin_one_click_away(bench):
    with ScriptedModel(script()) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await work(page)
            bench.write("a.txt", f"{SECOND}by hand\n")
            await page.locator(".selected").get_by_role("button", name="Who wrote the lines of a.txt").click()
            runs = page.locator("#dialog .run")
            await expect(runs).to_have_count(4)
            await expect(runs.locator("p > :first-child")).to_have_text(["write it", "change it", "write it", "you"])
            await expect(runs.locator("code")).to_have_text([*SECOND.splitlines(), "by hand"])
            assert await runs.nth(2).locator("ol").get_attribute("start") == "3"
            hues = [await run.evaluate("(run) => getComputedStyle(run.querySelector('ol')).borderLeftColor") for run in await runs.all()]  # fmt: skip
            assert hues[0] == hues[2] and len(set(hues)) == 3, hues  # one for each turn, and one for what none wrote
            authors = page.locator("#dialog .authors li")
            await expect(authors).to_have_text(["write it2 lines", "change it1 line", "you1 line"])
            await runs.first.get_by_role("button", name="write it").click()
            await expect(page.locator("#dialog")).to_be_hidden()
            await expect(page.locator("#transcript .selected")).to_contain_text("First.")
            # The turn itself says how many of its lines are left, one click from the file with its margin.
            living = page.locator(".selected .changed .alive")
            await expect(living).to_have_text("2 of 3 lines still there")
            await living.click()
            await expect(runs).to_have_count(4)
            await page.keyboard.press("Escape")
            await page.locator(".selected .files-of").click()
            await expect(page.locator("#dialog .alive")).to_have_text("2 of 3 lines still there.")


async def test_a_file_has_the_colours_of_its_language_and_numbers_that_are_not_copied(bench):
    code = [Turn("", [Call("writeFile", {"path": "a.py", "content": "def one():\n    return 1\n"})]), Turn("First.")]
    with ScriptedModel(code) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "write it")
            await page.locator(".question .primary").click()
            await answered(page, "First.")
            await page.locator(".selected .changed .lines-of").click()
            await expect(page.locator("#dialog .run .hl-keyword")).to_have_text(["def", "return"])
            await expect(page.locator("#dialog .run ol")).to_have_text("def one():    return 1", use_inner_text=False)


async def test_of_many_files_some_are_shown_and_the_others_are_one_press_away(bench):
    changed = tuple(FileState(f"deep/file_{number}.txt", "", "a" * 64) for number in range(50))
    folder = bench.project / "data"
    with Graph(folder) as graph:
        graph.add_turn(texts=[Utterance("user", "change all"), Utterance("assistant", "Done.")], files=changed)
    with serving(bench, "vizprompt", "--data-dir", str(folder)) as server:
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "change all")).click()
            files = page.locator(".selected .file")
            await expect(files.filter(visible=True)).to_have_count(20)
            await page.locator(".selected summary", has_text="30 more files").click()
            await expect(files.filter(visible=True)).to_have_count(50)


async def test_a_file_that_is_gone_is_told_and_opens_nothing(bench):
    with ScriptedModel(script()) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await work(page)
            (bench.project / "a.txt").unlink()
            await page.locator(".selected .changed .lines-of").click()
            await expect(page.locator("#banner")).to_contain_text("there is no such file")
            await expect(page.locator("#dialog")).to_be_hidden()


async def test_the_margin_speaks_japanese(bench):
    with ScriptedModel(script()) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE, locale="ja-JP") as page:
            await work(page)
            bench.write("a.txt", f"{SECOND}by hand\n")
            assert await page.locator(".selected .alive").count() == 0  # of what is all there nothing is said
            await page.locator(".selected .changed .lines-of").click()
            await expect(page.locator("#dialog .run p").last).to_have_text("あなた")
            await expect(page.locator("#dialog-title")).to_have_text("a.txt")
            await expect(page.locator("#dialog .authors li").first).to_have_text("write it2 行")
