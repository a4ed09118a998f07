"""A question as a review, what was decided in the turn, the model's steps, the first view and the palette."""

from __future__ import annotations

import re

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, agree, answered, browsing, make, row, send
from scripted_model import Call, ScriptedModel, Turn

pytestmark = pytest.mark.slow

OLD = "RATE = 5\n" + "".join(f"# line {number}\n" for number in range(2, 20)) + "last = 0\n"
PLACES = [{"old_text": "RATE = 5", "new_text": "RATE = 10"}, {"old_text": "last = 0", "new_text": "last = 1"}]
EDIT = [Turn("", [Call("readFile", {"path": "src/limits.py"})]), Turn("", [Call("editFile", {"path": "src/limits.py", "edits": PLACES})])]  # fmt: skip


async def test_a_change_is_reviewed_by_keys_and_the_decision_stays_in_the_turn(bench):
    bench.write("src/limits.py", OLD)
    with ScriptedModel([*EDIT, Turn("One is in.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "Raise it")
            question = page.locator(".question")
            await expect(question.locator("h2")).to_contain_text("Write src/limits.py+2 −2")
            await expect(question.locator(".path b")).to_have_text("limits.py")
            await expect(question.locator(".hunk label")).to_have_text([re.compile("line 1"), re.compile("line 20")])
            assert "@@" not in await question.inner_text()
            await expect(question.locator(".removed .word").first).to_have_text("5")
            await expect(question.locator(".added .word").first).to_have_text("10")
            await expect(question.locator(".added .hl-number").first).to_have_text("10")
            await expect(question.locator(".removed").first).to_have_attribute("data-line", "1")
            await expect(page.locator("#prompt")).to_be_hidden()  # one field: that of the question
            await expect(question.locator("h2")).to_be_focused()
            await page.wait_for_timeout(700)  # a key that comes with the question was meant for something else
            await page.keyboard.press("1")
            await expect(question.locator(".agree span")).to_have_text("Apply 1 of 2 changes")
            yes, no = await question.locator(".agree").bounding_box(), await question.locator(".no").bounding_box()
            assert yes["y"] == no["y"]  # both answers stay in one line, whatever the button says
            await page.keyboard.press("y")
            await answered(page, "One is in.")
            assert bench.read("src/limits.py") == OLD.replace("last = 0", "last = 1")
            await expect(page.locator("#prompt")).to_be_focused()
            decided = page.locator(".selected .decided")
            await expect(decided.locator("summary")).to_have_text("You applied 1 of 2 changes to src/limits.py")
            await expect(decided.locator(".diff").first).to_be_hidden()
            await decided.locator("summary").click()
            left, proposed = decided.locator(".diff").nth(0), decided.locator(".diff").nth(1)
            await expect(decided.locator("h3")).to_have_text(["Left out", "Proposed"])
            await expect(left.locator(".place")).to_have_text("line 1")
            await expect(left.locator(".removed")).to_have_text(["RATE = 5\n"])
            await expect(proposed.locator(".removed")).to_have_text(["RATE = 5\n", "last = 0\n"])


async def test_an_answer_that_was_begun_waits_for_who_looks_something_up(bench):
    """Ticks and words that were not sent yet: whoever comes back from another turn finds them as they were."""
    bench.write("src/limits.py", OLD)
    with ScriptedModel([*EDIT, Turn("One is in.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            await make(client, "what the rate is")
            await send(page, "Raise it")
            question = page.locator(".question")
            await question.get_by_label("Change 2 of 2").first.uncheck()
            await question.get_by_label("Tell it what to change").fill("keep the last")
            await (await row(page, "what the rate is")).click()
            await expect(question).to_have_count(0)
            await page.locator("#stage button").click()
            await expect(question.get_by_label("Tell it what to change")).to_have_value("keep the last")
            await expect(question.get_by_label("Change 2 of 2").first).not_to_be_checked()
            await page.reload()
            await expect(question.get_by_label("Tell it what to change")).to_have_value("keep the last")
            await expect(question.locator(".agree span")).to_have_text("Apply 1 of 2 changes")
            await agree(page)
            await answered(page, "One is in.")
            assert bench.read("src/limits.py") == OLD.replace("RATE = 5", "RATE = 10")
            assert "keep the last" in str(model.turns[-1].json["messages"])  # words beside a yes are heard, too


async def test_an_answer_that_was_not_heard_yet_is_seen_to_be_awaited_and_given_once(bench):
    bench.write("src/limits.py", OLD)
    with ScriptedModel([*EDIT, Turn("Both are in.")]) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            held = []

            def hold(socket):
                to_server = socket.connect_to_server()
                answers = lambda said: held.append(lambda: to_server.send(said))  # noqa: E731
                socket.on_message(lambda said: answers(said) if '"approve"' in said else to_server.send(said))

            await page.route_web_socket("**/ws", hold)
            await page.reload()
            await send(page, "Raise it")
            question = page.locator(".question")
            await expect(question).to_be_visible()
            await agree(page)
            await expect(page.locator("#awaiting")).to_have_text("Waiting for the server")
            await expect(question).to_have_attribute("aria-busy", "true")
            await page.wait_for_timeout(700)  # a key that comes with the question was meant for something else
            await page.locator("#transcript").focus()
            await page.keyboard.press("y")
            assert len(held) == 1
            held.pop()()
            await answered(page, "Both are in.")
            await expect(page.locator("#awaiting")).to_have_text("")


async def test_what_happens_to_each_file_is_said_in_japanese_too(bench):
    bench.write("old.txt", "x\n")
    command = "echo '# New' > new.md; rm old.txt; echo x > x.txt; chmod +x x.txt; ln -s '../out\n+y' y.txt"
    script = [Turn("", [Call("runCommand", {"command": command})]), Turn("Done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE, locale="ja-JP") as page:
            await send(page, "片付けて")
            question = page.locator(".question")
            await expect(question.locator(".part .kind")).to_have_text(["新規", "削除", "新規", "新規"])
            await question.locator("summary").first.click()
            # Of all of a file no lines are named; what no line shows stands above them.
            notes = ["", "", "mode 755", "", "nothing → link to ../out␊+y"]
            await expect(question.locator(".part .place")).to_have_text(notes)
            await question.get_by_role("button", name="すべて外す").click()
            await expect(question.locator("input:checked")).to_have_count(0)
            await question.locator("[value='old.txt']").check()
            await expect(question.locator(".agree span")).to_have_text("4 件中 1 件を適用")
            await agree(page)
            await answered(page, "Done.")
            assert not (bench.project / "old.txt").exists()
            assert not (bench.project / "x.txt").exists()


async def test_a_key_that_comes_with_the_question_answers_nothing(bench):
    script = [Turn("", [Call("writeFile", {"path": "a.txt", "content": "x\n"})]), Turn("Done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await page.evaluate(
                """new MutationObserver((_, watch) => { if (!document.querySelector(".question .agree")) return;
                    watch.disconnect(); for (const key of "yn1") document.activeElement.dispatchEvent(
                        new KeyboardEvent("keydown", { key, bubbles: true })); window.pressed = true; })
                    .observe(document.body, { childList: true, subtree: true })"""
            )
            await send(page, "Write it")
            await expect(page.locator(".question")).to_be_visible()
            await page.wait_for_timeout(300)
            assert await page.evaluate("window.pressed")
            await expect(page.locator(".question")).to_be_visible()
            assert not (bench.project / "a.txt").exists()
            await agree(page)
            await answered(page, "Done.")


async def test_the_steps_of_the_model_are_drawn_and_stay(bench):
    steps = [{"content": "look", "status": "completed"}, {"content": "write", "status": "pending"}]
    script = [Turn("", [Call("todo", {"items": steps})]), Turn("Half done.")]
    with ScriptedModel(script) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "Do it")
            await answered(page, "Half done.")
            drawn = page.locator(".selected .steps")
            await expect(drawn).to_contain_text("1 of 2 steps done")
            await expect(drawn.locator("li.completed")).to_contain_text("look")
            await expect(drawn.locator("li.pending")).to_contain_text("write")


async def test_the_first_view_offers_things_to_do_and_the_last_conversations(bench):
    with ScriptedModel([]) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            view = page.locator(".first-view")
            await expect(view.locator("h2")).to_have_text(bench.project.name)
            await view.get_by_role("button", name=re.compile("Find a bug")).click()
            await expect(page.locator("#prompt")).to_have_value(re.compile("Look for a bug"))
            await expect(page.locator("#graph")).to_be_hidden()
            await expect(page.locator("#toggle-graph")).to_be_hidden()  # there is none to show
            await make(client, "the second thing", await make(client, "how it began"))
            await expect(view.locator("li")).to_contain_text("how it began")
            await expect(page.locator("#graph")).to_be_visible()
            await expect(page.locator("#toggle-graph")).to_be_visible()
            await view.locator("li button").click()
            await expect(page.locator("#transcript .selected")).to_contain_text("answer to the second thing")


async def test_the_palette_finds_turns_and_has_few_rows(bench):
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            for number in range(70):
                await client.send("create_node", prompt=f"about graphs {number}", response=f"answer to {number}")
            await client.ask("list_flows")
        async with browsing(server, viewport=WIDE) as page:
            await expect(page.locator('[role="treeitem"]').first).to_be_visible()
            await page.keyboard.press("Control+k")
            rows = page.locator("#palette-list li")
            await expect(rows).to_have_count(10)
            newest = [f"about graphs {number}" for number in (69, 68, 67)]
            await expect(rows.locator(".label")).to_have_text([*newest, *[re.compile(".")] * 7])
            await page.keyboard.type("graphs 33")
            await expect(rows.first).to_contain_text("about graphs 33")
            await page.locator("#dialog input").dispatch_event("keydown", {"key": "Enter", "isComposing": True})
            await expect(page.locator("#dialog")).to_be_visible()  # it chose what an input method offered
            await page.keyboard.press("Enter")
            await expect(page.locator("#transcript .selected")).to_contain_text("answer to 33")


async def test_the_palette_finds_files_and_what_was_used_last(bench):
    bench.write("src/limits.py", OLD)
    bench.write("docs/limits.md", "text\n")
    with (
        ScriptedModel([Turn("It counts tokens in a **bucket**.")]) as model,
        serving(bench, "nebula", **model.env()) as server,
    ):
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "how")
            await answered(page, "bucket")
            await page.evaluate("document.activeElement.blur()")
            rows = page.locator("#palette-list li")
            await page.keyboard.press("Control+k")
            await page.keyboard.type("bucket")  # said in the answer, in no title
            await expect(rows.filter(has_text="how")).to_contain_text("Turn")
            await page.keyboard.press("Control+A")
            await page.keyboard.type("limits")
            await expect(rows.filter(has_text="File")).to_contain_text(["src/limits.py", "docs/limits.md"])
            await rows.filter(has_text="src/limits.py").click()
            await expect(page.locator("#dialog-title")).to_have_text("src/limits.py")
            await page.keyboard.press("Escape")
            await page.keyboard.press("Control+k")
            await page.keyboard.type("backstage")
            await page.keyboard.press("Enter")
            await expect(page.locator("#backstage")).to_be_visible()
            await page.keyboard.press("Control+k")
            await expect(rows).to_have_count(10)
            await expect(rows.first).to_contain_text("Recent")
            await expect(rows.first).to_contain_text(re.compile("backstage", re.IGNORECASE))
