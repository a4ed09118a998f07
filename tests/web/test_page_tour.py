"""Five things that a new reader does, each in at most three actions, with a picture of every one.

UPDATE_PICTURES=1 puts the pictures where docs/guides/page.md shows them; else they are made and thrown away.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from conversation_rig import serving
from page_rig import agree, answered, browsing, row
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
MOST_ACTIONS = 3
OLD = "def parse(text):\n    return text\n"
ROWS = 'def parse(text):\n    """Rows of comma separated values."""\n    return [line.split(",") for line in text.splitlines()]\n'
LAZY = "def parse(lines):\n    for line in lines:\n        yield line.rstrip().split(',')\n"
SCRIPT = [
    Turn("`parse` hands the text back as it got it: nothing is split into **rows** or **fields** yet."),
    Turn("I look at the parser first.", [Call("readFile", {"path": "parser.py"})]),
    Turn("It returns the text as it is, so I let it return rows.", [Call("editFile", {"path": "parser.py", "new_content": ROWS})]),
    Turn("`parse` returns **rows** now:\n\n| line | becomes |\n|---|---|\n| `a,b` | `['a', 'b']` |\n\nSee `src/parser.py:3`."),
    Turn("A generator keeps one line in memory.", [Call("readFile", {"path": "parser.py"})]),
    Turn("", [Call("editFile", {"path": "parser.py", "new_content": LAZY})]),
    Turn("Now it **yields** row by row:\n\n```python\nfor row in parse(open('big.csv')):\n    print(row)\n```"),
    Turn("Take the generator for files and the list for short texts: `parse` may accept both, and the caller decides."),
]  # fmt: skip


class Reader:
    """Somebody at the page, whose actions are counted."""

    def __init__(self, page, folder):
        self.page, self.folder, self.actions = page, folder, 0

    async def click(self, locator, **how):
        self.actions += 1
        await locator.click(**how)

    async def type(self, words):
        self.actions += 1
        await self.page.keyboard.type(words)

    async def press(self, key):
        self.actions += 1
        await self.page.keyboard.press(key)

    async def picture(self, name):
        await self.page.evaluate(
            "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
        )
        await self.page.screenshot(path=self.folder / f"{name}.png")

    def done(self):
        """What was to be done is done: the actions it took."""
        taken, self.actions = self.actions, 0
        assert taken <= MOST_ACTIONS, taken


async def ask(reader, words):
    await reader.type(words)
    await expect(reader.page.locator("#composer button[data-act=send]")).to_be_enabled()  # the turn before is over
    await reader.press("Enter")


async def test_five_things_in_three_actions_each(bench, tmp_path):
    bench.write("parser.py", OLD)
    folder = DOCS / "pictures" if os.environ.get("UPDATE_PICTURES") else tmp_path
    with ScriptedModel(SCRIPT) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport={"width": 1280, "height": 760}) as page:
            reader = Reader(page, folder)
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await reader.picture("start")
            await page.focus("#prompt")
            await ask(reader, "What does parser.py do?")
            reader.done()
            await answered(page, "hands the text back")
            await ask(reader, "Let parse return rows")
            await expect(page.locator(".question")).to_contain_text("Write parser.py")
            reader.done()
            await reader.picture("send")
            await agree(page)
            await answered(page, "returns rows now")

            await reader.click(await row(page, "What does parser.py do"))
            await page.focus("#prompt")
            await ask(reader, "Read big files line by line")
            reader.done()
            await agree(page)
            await answered(page, "row by row")
            await expect(page.locator(".fork")).to_contain_text("2 of 2 from here")
            assert bench.read("parser.py") == LAZY
            await reader.picture("branch")

            await reader.click(await row(page, "Let parse return rows"), modifiers=["Control"])  # beside where they are
            await page.focus("#prompt")
            await reader.type("Which one should I keep?")
            await expect(page.locator(".chip")).to_have_count(2)
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await reader.picture("merge")
            await reader.press("Enter")
            reader.done()
            await answered(page, "the caller decides")
            await page.evaluate("document.activeElement.blur()")
            await reader.press("/")
            await ask(reader, "generator")
            await expect(page.locator(".count")).to_have_text(re.compile("found"))
            await expect(page.locator("#transcript .selected")).to_contain_text("generator")
            reader.done()
            await reader.picture("find")
            await page.fill("#search", "")
            await expect(page.locator(".count")).to_be_hidden()

            await reader.click(await row(page, "Let parse return rows"))
            await reader.click(page.locator(".selected").get_by_role("button", name="Files"))
            await expect(page.locator("#dialog .diff").first).to_be_visible()
            await reader.picture("files")
            await reader.click(page.get_by_role("button", name="Take these files (1)"))
            await expect(page.locator("#banner")).to_contain_text("Taken back: parser.py")
            reader.done()
            assert bench.read("parser.py") == ROWS


def test_every_picture_is_shown_and_every_one_shown_is_there():
    pictures = {path.name for path in (DOCS / "pictures").glob("*.png")}
    assert set(re.findall(r"\(../pictures/(\w+\.png)\)", (DOCS / "guides" / "page.md").read_text("utf-8"))) == pictures
    shown = re.findall(r"\(docs/pictures/(\w+\.png)\)", (DOCS.parent / "README.md").read_text("utf-8"))
    assert len(shown) == 2 and set(shown) <= pictures
