"""Five things that a new reader does, each in at most three actions, with a picture of every one.

UPDATE_PICTURES=1 puts the pictures where docs/guides/page.md shows them; else they are made and thrown away.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import agree, answered, branched, browsing, row, spot
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

DOCS = Path(__file__).parents[2] / "docs"
MOST_ACTIONS = 3
OLD = "def parse(text):\n    return text\n"
ROWS = 'def parse(text):\n    """Rows of comma separated values."""\n    return [line.split(",") for line in text.splitlines()]\n'
LAZY = "def parse(lines):\n    for line in lines:\n        yield line.rstrip().split(',')\n"
WORDS = {
    "en-US": {
        "what": "What does parser.py do?",
        "does": "`parse` hands the text back as it got it: nothing is split into **rows** or **fields** yet.",
        "let": "Let parse return rows",
        "look": "I look at the parser first.",
        "so": "It returns the text as it is, so I let it return rows.",
        "rows": "`parse` returns **rows** now:\n\n| line | becomes |\n|---|---|\n| `a,b` | `['a', 'b']` |\n\nSee `src/parser.py:3`.",
        "lazy": "Read big files line by line",
        "keeps": "A generator keeps one line in memory.",
        "yields": "Now it **yields** row by row:\n\n```python\nfor row in parse(open('big.csv')):\n    print(row)\n```",
        "which": "Which one should I keep?",
        "both": "Take the generator for files and the list for short texts: `parse` may accept both, and the caller decides.",
        "find": "generator",
        "files": "Files",
        "take": "Take these files (1)",
        "taken": "Taken back: parser.py",
    },
    "ja-JP": {
        "what": "parser.py は何をしますか？",
        "does": "`parse` は受け取ったテキストをそのまま返します。まだ**行**にも**項目**にも分けていません。",
        "let": "parse が行を返すようにして",
        "look": "まずパーサーを見ます。",
        "so": "テキストをそのまま返しているので、行を返すように変えます。",
        "rows": "`parse` は**行**を返すようになりました。\n\n| 入力 | 結果 |\n|---|---|\n| `a,b` | `['a', 'b']` |\n\n`src/parser.py:3` を見てください。",
        "lazy": "大きなファイルを一行ずつ読んで",
        "keeps": "ジェネレーターなら、メモリーに置くのは一行だけです。",
        "yields": "一行ずつ**返す**ようになりました。\n\n```python\nfor row in parse(open('big.csv')):\n    print(row)\n```",
        "which": "どちらを残せばよいですか？",
        "both": "ファイルにはジェネレーター、短いテキストにはリストがよいでしょう。`parse` は両方を受け取れます。",
        "find": "ジェネレーター",
        "files": "ファイル",
        "take": "このファイルに戻す（1）",
        "taken": "parser.py",
    },
}


def script(words):
    return [
        Turn(words["does"]),
        Turn(words["look"], [Call("readFile", {"path": "parser.py"})]),
        Turn(words["so"], [Call("editFile", {"path": "parser.py", "new_content": ROWS})]),
        Turn(words["rows"]),
        Turn(words["keeps"], [Call("readFile", {"path": "parser.py"})]),
        Turn("", [Call("editFile", {"path": "parser.py", "new_content": LAZY})]),
        Turn(words["yields"]),
        Turn(words["both"]),
    ]


class Reader:
    """Somebody at the page, whose actions are counted."""

    def __init__(self, page, folder):
        self.page, self.folder, self.actions = page, folder, 0

    async def click(self, locator, **how):
        self.actions += 1
        await locator.click(**how)

    async def write(self, words):
        """Types, and ends with Enter."""
        self.actions += 1
        await self.page.keyboard.type(words)
        await self.page.keyboard.press("Enter")

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
    await expect(reader.page.locator("#composer button[type=submit]")).to_be_enabled()  # the turn before is over
    await reader.click(reader.page.locator("#prompt"))
    await reader.write(words)


@pytest.mark.parametrize("locale", WORDS)
async def test_five_things_in_three_actions_each(bench, tmp_path, locale):
    """Pointing at the box is an action, and writing with its Enter is one."""
    bench.write("parser.py", OLD)
    words = WORDS[locale]
    pictures = DOCS / "pictures" / ("ja" if locale == "ja-JP" else "")
    folder = pictures if os.environ.get("UPDATE_PICTURES") else tmp_path
    with ScriptedModel(script(words)) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, locale=locale, viewport={"width": 1280, "height": 760}) as page:
            reader = Reader(page, folder)
            await expect(page.locator("#composer button[data-act=send]")).to_be_enabled()
            await reader.picture("start")
            await ask(reader, words["what"])
            reader.done()
            await answered(page, words["does"].partition("*")[0].strip("` ").split("`")[-1].strip())
            await ask(reader, words["let"])
            await expect(page.locator(".question")).to_contain_text("parser.py")
            reader.done()
            await reader.picture("send")
            await agree(page)
            await answered(page, "a,b")

            await reader.click(await row(page, words["what"]))
            await ask(reader, words["lazy"])
            reader.done()
            await agree(page)
            await answered(page, "big.csv")
            await expect(page.locator(".fork")).to_contain_text(re.compile("2.*2"))
            assert bench.read("parser.py") == LAZY
            await reader.picture("branch")

            await reader.click(await row(page, words["let"]), modifiers=["Control"])  # beside where they are
            await expect(page.locator(".chip")).to_have_count(2)
            await page.fill("#prompt", words["which"])
            await reader.picture("merge")
            await page.fill("#prompt", "")
            await ask(reader, words["which"])
            reader.done()
            await answered(page, words["both"].partition("`")[0])
            await page.evaluate("document.activeElement.blur()")
            await reader.press("/")
            await reader.write(words["find"])
            await expect(page.locator("#outline .count")).to_have_text(re.compile(r"\d"))
            await expect(page.locator("#transcript .selected")).to_contain_text(words["find"])
            reader.done()
            await reader.picture("find")
            await page.fill("#search", "")
            await expect(page.locator("#outline .count")).to_be_hidden()

            await reader.click(await row(page, words["let"]))
            await reader.click(page.locator(".selected").get_by_role("button", name=words["files"], exact=True))
            await expect(page.locator("#dialog .diff").first).to_be_visible()
            await reader.picture("files")
            await reader.click(page.get_by_role("button", name=words["take"]))
            await expect(page.locator("#banner")).to_contain_text(words["taken"])
            reader.done()
            assert bench.read("parser.py") == ROWS


async def test_a_merge_takes_three_actions_by_what_is_seen_alone(bench, tmp_path):
    """Without a key that one has to know: the button at the prompt, the other turn, the words."""
    with ScriptedModel([Turn("both")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, viewport={"width": 1280, "height": 760}) as page:
            reader = Reader(page, tmp_path)
            await (await row(page, "three")).click()
            await reader.click(page.get_by_role("button", name="Merge with"))
            await expect(page.locator("#composer")).to_contain_text("Now choose the other turn")
            await reader.click(await row(page, "side"))
            await expect(page.locator("#prompt")).to_be_focused()
            await reader.write("bring them together")
            reader.done()
            await answered(page, "both")
            await expect(page.locator(".selected .merged")).to_be_visible()


async def test_a_branch_and_a_search_take_three_actions_by_what_is_seen_alone(bench, tmp_path):
    """By the card under the pointer, and by the field that says *Search*."""
    with ScriptedModel([Turn("another way")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, viewport={"width": 1280, "height": 760}) as page:
            reader = Reader(page, tmp_path)
            await (await row(page, "three")).click()
            await page.mouse.move(*await spot(page, "side", 10))
            await reader.click(page.locator("#graph .hovered").get_by_role("button", name="Continue from here"))
            await expect(page.locator("#prompt")).to_be_focused()
            await reader.write("go on from there")
            reader.done()
            await answered(page, "another way")
            await expect(page.locator("#transcript")).to_contain_text("answer to side")
            await reader.click(page.get_by_placeholder("Search"))
            await reader.write("answer to two")
            await expect(page.locator("#transcript .selected")).to_contain_text("answer to two")
            reader.done()


async def test_five_things_take_three_actions_on_a_phone(bench, tmp_path):
    """Where one part is seen at a time, the other turn of a merge is chosen from a list."""
    bench.write("parser.py", OLD)
    edit = Turn("", [Call("readFile", {"path": "parser.py"})]), Turn("", [Call("editFile", {"path": "parser.py", "new_content": ROWS})])  # fmt: skip
    script = [*edit, Turn("rows now"), Turn("otherwise"), Turn("both")]
    phone = {"viewport": {"width": 390, "height": 800}, "has_touch": True, "is_mobile": True}
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **phone) as page:
            reader = Reader(page, tmp_path)
            await ask(reader, "let parse return rows")
            await expect(page.locator(".question")).to_contain_text("parser.py")
            reader.done()
            await agree(page)
            await answered(page, "rows now")
            await reader.click(page.locator(".selected").get_by_role("button", name="Edit and branch"))
            await expect(page.locator("#prompt")).to_be_focused()
            await reader.write(", please")
            reader.done()
            await answered(page, "otherwise")
            await expect(page.locator(".fork")).to_contain_text("2 of 2")
            await reader.click(page.locator("button[data-tab=outline]"))
            await reader.click(page.get_by_placeholder("Search"))
            await reader.write("rows now")
            await expect(page.locator("#transcript .selected")).to_contain_text("rows now")
            reader.done()
            bench.write("parser.py", OLD)
            await reader.click(page.locator(".selected").get_by_role("button", name="Files", exact=True))
            await reader.click(page.get_by_role("button", name="Take these files (1)"))
            await expect(page.locator("#banner")).to_contain_text("Taken back: parser.py")
            reader.done()
            assert bench.read("parser.py") == ROWS
            await reader.click(page.locator(".selected .merging"))
            await reader.click(page.locator("#palette-list li", has_text=", please"))
            await expect(page.locator("#prompt")).to_be_focused()
            await reader.write("bring them together")
            reader.done()
            await answered(page, "both")
            await expect(page.locator(".selected .merged")).to_be_visible()


@pytest.mark.parametrize(("ending", "folder"), [(".md", ""), (".ja.md", "ja/")])
def test_every_picture_is_shown_and_every_one_shown_is_there(ending, folder):
    pictures = {path.name for path in (DOCS / "pictures" / folder).glob("*.png")}
    guide = (DOCS / "guides" / f"page{ending}").read_text("utf-8")
    assert set(re.findall(rf"\(../pictures/{folder}(\w+\.png)\)", guide)) == pictures
    shown = re.findall(rf"\(docs/pictures/{folder}(\w+\.png)\)", (DOCS.parent / f"README{ending}").read_text("utf-8"))
    assert len(shown) == 2 and set(shown) <= pictures
