"""What models write, as it is read: formulas, tables, task lists, very long answers with code; diagrams."""

from __future__ import annotations

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, browsing, row
from page_rig.axe import AXE, FIND

pytestmark = pytest.mark.slow

FORMULAS = r"""The mean is $\bar{x} = \frac{1}{n}\sum_i x_i$, and it costs $5, not $6.

$$
\int_0^1 x^2\,dx
= \frac{1}{3}
$$

By \(a_1\) or \[b^2\]. Broken: $\frac{1}$, hostile: $\href{javascript:alert(1)}{x}$.
"""
CELLS = (
    "Memory per client",
    "numbers of requests",
    "accidentally",
    "refrigerators",
    "incomprehensible",
    "straightforward",
)
TABLE = f"|{'a|' * len(CELLS)}\n|{'---|' * len(CELLS)}\n|{'|'.join(CELLS)}|\n"
TASKS = "- [x] read the docs\n- [ ] write `code`\n- no task\n"


async def test_formulas_are_drawn_and_what_is_none_stays_as_it_is(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="plain", response="No formula for $5 here.")
            await client.ask("create_node", prompt="asked", response=FORMULAS)
        async with browsing(server, viewport=WIDE) as page:
            loaded: list[str] = []
            page.on("request", lambda request: loaded.append(request.url))
            answer = page.locator("#transcript .selected .response")
            await (await row(page, "plain")).click()
            await expect(answer).to_contain_text("No formula for $5 here.")
            assert not any("katex" in url for url in loaded)
            await (await row(page, "asked")).click()
            await expect(answer.locator("math")).to_have_count(5)
            await expect(answer.locator(".display math mfrac")).to_have_count(1)
            await expect(answer.locator("mover")).to_have_count(1)
            await expect(answer).to_contain_text("it costs $5, not $6")
            await expect(answer.locator(".formula", has_text=r"\frac{1}").last).to_have_text(r"\frac{1}")
            await expect(answer.locator("a, [href]")).to_have_count(0)  # a formula leads nowhere


async def test_tables_keep_words_whole_and_tasks_have_boxes(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="asked", response=f"{TABLE}\n{TASKS}")
        async with browsing(server, viewport={"width": 700, "height": 800}) as page:
            answer = page.locator("#transcript .response")
            await page.locator(".first-view li button").click()
            boxes = answer.get_by_role("checkbox")
            await expect(boxes).to_have_count(2)
            await expect(boxes.first).to_be_checked()
            await expect(boxes.last).not_to_be_checked()
            await expect(answer.locator("li.task").last).to_have_text("write code")
            broken = await answer.locator("td").evaluate_all(
                """(cells) => cells.flatMap((cell) => {
                    const text = cell.firstChild, words = [...text.data.matchAll(/\\w+/g)];
                    return words.filter(({ 0: word, index }) => { const range = document.createRange();
                        range.setStart(text, index); range.setEnd(text, index + word.length);
                        return range.getClientRects().length > 1; }).map(([word]) => word); })"""
            )
            assert broken == []


async def test_a_sentence_in_a_cell_is_not_squeezed_to_a_word_a_line(bench):
    said = "no, a client can send twice its share within a moment"
    table = f"| strategy | memory for each client | burst | fair |\n|---|---|---|---|\n| fixed window | two numbers | double at the border | {said} |\n"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="asked", response=table)
        async with browsing(server, viewport={"width": 390, "height": 844}) as page:
            await page.locator(".first-view li button").click()
            cell = page.locator("#transcript td", has_text="twice its share")
            lines = await cell.evaluate(
                "(cell) => { const range = document.createRange(); range.selectNodeContents(cell); return range.getClientRects().length; }"
            )
            assert lines <= 4, lines
            assert await page.evaluate("document.documentElement.scrollWidth") <= 390


DIAGRAMS = """```mermaid
flowchart LR
  ask[Ask <b>now</b>] --> known{Known?}
  known -->|yes| answer(Answer)
  known -- no --> ask
```

```mermaid
sequenceDiagram
  Client->>Server: ask
  Server-->>Client: answer
```

```mermaid
gantt
  title no
```
"""


CODE = """
```html
<script>const x = 1;</script>
```

```docker
FROM debian
```

```constructor
return 1
```
"""


async def test_a_language_is_loaded_with_the_first_code_in_it_and_those_inside_it(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="plain", response="```python\nx = 1\n```")
            await client.ask("create_node", prompt="mixed", response=CODE)
        async with browsing(server, viewport=WIDE) as page:
            loaded: list[str] = []
            page.on("request", lambda request: loaded.append(request.url.rpartition("/highlight/")[2]))
            answer = page.locator("#transcript .selected .response")
            await (await row(page, "plain")).click()
            await expect(answer.locator(".hl-number")).to_have_text("1")
            assert {name for name in loaded if "languages/" in name} == {"languages/python.js"}
            await (await row(page, "mixed")).click()
            await expect(answer.locator(".hl-keyword")).to_have_text(["const", "FROM"])
            await expect(answer.locator("pre").last).to_have_text("return 1\n")


async def test_a_diagram_is_drawn_when_it_is_asked_for_and_its_source_comes_back(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="plain", response="```python\nx = 1\n```")
            await client.ask("create_node", prompt="asked", response=DIAGRAMS)
        async with browsing(server, viewport=WIDE) as page:
            loaded: list[str] = []
            page.on("request", lambda request: loaded.append(request.url))
            answer = page.locator("#transcript .selected .response")
            await (await row(page, "plain")).click()
            await expect(answer.locator(".hl-number")).to_be_visible()
            assert not [url for url in loaded if "diagram" in url]  # nobody pays for what they do not use
            await (await row(page, "asked")).click()
            blocks, buttons = answer.locator(".code"), answer.get_by_role("button", name="Draw")
            await expect(buttons).to_have_count(2)  # a kind that is not known has none
            await expect(answer.locator(".drawing")).to_have_count(0)
            await buttons.first.click()
            drawing = blocks.first.locator(".drawing")
            await expect(drawing.locator("text")).to_have_text(["Ask <b>now</b>", "Known?", "Answer", "yes", "no"])
            await expect(drawing.locator(".head")).to_have_count(3)
            spots = [await drawing.locator(".box").nth(at).bounding_box() for at in range(3)]
            assert spots[0]["x"] + spots[0]["width"] < spots[1]["x"] < spots[2]["x"]
            await blocks.first.get_by_role("button", name="Source").press("Enter")
            await expect(blocks.first.locator("pre")).to_contain_text("flowchart LR")
            await expect(drawing).to_have_count(0)
            await buttons.last.click()
            await expect(blocks.nth(1).locator(".drawing text")).to_have_text(["Client", "Server", "ask", "answer"])
            await page.evaluate(AXE)
            assert await page.evaluate(FIND) == []


async def test_a_very_long_answer_keeps_its_code_and_a_diagram_its_source(bench):
    long = "A line of words.\n" * 4500
    code = "```python\nfor row in rows:\n    print(row)\n```\n"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            await client.ask("create_node", prompt="asked", response=f"{long}{code}\nThe end.")
            await client.ask("create_node", prompt="drawn", response="```mermaid\ngraph TD; A-->B\n```")
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "asked")).click()
            answer = page.locator("#transcript .selected .response")
            await expect(answer.locator(".code pre")).to_have_text("for row in rows:\n    print(row)\n")
            await expect(answer.locator(".code .hl-keyword").first).to_have_text("for")
            await expect(answer.locator(".code .copy")).to_have_count(1)
            assert "```" not in await answer.inner_text()
            await (await row(page, "drawn")).click()
            await expect(answer.locator(".code .about")).to_contain_text("mermaid")
            await expect(answer.locator("pre")).to_have_text("graph TD; A-->B\n")
