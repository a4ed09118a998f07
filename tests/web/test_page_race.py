"""A race on the page: started from the composer, watched, compared and taken, by pointer and by keys."""

from __future__ import annotations

import itertools
import re

import pytest
from playwright.async_api import expect

from conversation_rig import serving, talk
from page_rig import WIDE, agree, branched, browsing, row, send
from page_rig.axe import AXE, FIND, LOOKS
from scripted_model import Call, RecordedRequest, ScriptedModel, Turn

pytestmark = pytest.mark.slow

START = "".join(f"line {number}\n" for number in range(1, 21))


def writes(request: RecordedRequest) -> Turn:
    """One try changes line 3, the other adds a line; both write the same b.txt."""
    if request.json["messages"][-1]["role"] == "tool":
        return Turn("Done.")
    mine = "sed -i 's/^line 3$/three/' a.txt" if "mini" in request.json["model"] else "echo more >> a.txt; echo > c.txt"
    return Turn("", [Call("runCommand", {"command": f"{mine}; echo b > b.txt"})])


async def check_access(page) -> None:
    await page.evaluate(AXE)
    assert await page.evaluate(FIND) == []


async def start_by_keys(page, prompt: str) -> None:
    await page.fill("#prompt", prompt)
    await page.keyboard.press("Escape")
    await page.locator("#race").focus()
    await page.keyboard.press("Enter")


async def test_models_are_raced_compared_and_taken_by_file_and_whole(bench):
    bench.write("a.txt", START)
    with ScriptedModel(writes) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client, browsing(server, viewport=WIDE) as page:
            await start_by_keys(page, "do it")
            sheet = page.locator("#dialog")
            await expect(sheet.get_by_label("Task")).to_have_value("do it")
            await sheet.get_by_role("button", name="Another try").click()
            for number in (4, 3):
                await sheet.get_by_role("button", name=f"Without try {number}").click()
            await expect(sheet.get_by_role("button", name="Without try 2")).to_have_count(0)  # one alone is no race
            await sheet.get_by_label("Model of try 2").select_option("openai/gpt-4.1-mini")
            await sheet.get_by_role("button", name="Start 2 tries").click()
            await expect(sheet.get_by_role("button", name="Take try 2")).to_be_visible()
            await expect(page.locator("#prompt")).to_have_value("")
            lane = sheet.locator(".tries > li")
            await expect(lane).to_have_count(2)
            await expect(lane.nth(1)).to_contain_text(
                re.compile("gpt-4.1-mini.*done.*2 files.*\\+2.*−1.*2 rounds", re.DOTALL)
            )
            await expect(sheet.locator("summary", has_text="a.txt")).to_contain_text("2 versions")
            await expect(sheet.locator("summary", has_text="b.txt")).to_contain_text("all alike")
            await expect(sheet.locator("summary", has_text="c.txt")).to_contain_text("only try 1")
            third = sheet.get_by_role("region", name="a.txt").locator("tbody tr", has_text="line 3")
            await expect(third.locator("td")).to_have_text(["3", "line 3", "line 3"])
            await expect(third.locator(".removed")).to_have_count(1)
            assert bench.read("a.txt") == START
            await sheet.get_by_role("button", name="Take c.txt of try 1").click()
            await expect(sheet.locator(".told")).to_contain_text("Taken: c.txt")
            assert bench.read("c.txt") == "\n" and bench.read("a.txt") == START
            bench.write("b.txt", "mine\n")
            await sheet.get_by_role("button", name="Take try 2").click()
            banner = page.locator("#banner")
            await expect(banner).to_contain_text("Left out, because it changed in the project meanwhile: b.txt")
            assert "three" in bench.read("a.txt") and bench.read("b.txt") == "mine\n"
            await expect(page.locator("#transcript .turn.selected")).to_contain_text("Done.")
            await expect(page.locator(".fork")).to_contain_text("of 2 from here")
            await expect(page.locator("#outline .row.try")).to_have_count(1)
            flow = (await client.ask("get_flow", compact=True))["data"]
            assert len(flow["ids"]) == 2 and flow["pairs"] == []
            # Tomorrow, too: the siblings of the chosen turn.
            await page.reload()
            await expect(page.locator(".fork")).to_contain_text("of 2 from here")
            await page.locator("#transcript").focus()
            await page.keyboard.press("u")
            await expect(sheet.locator("summary", has_text="a.txt")).to_be_visible()
            await expect(sheet.get_by_role("button", name="Take try 1")).to_be_visible()


async def test_one_try_is_stopped_then_all_and_the_page_may_be_closed_meanwhile(bench):
    sleeps = Turn("", [Call("runCommand", {"command": "sleep 60"})])
    with ScriptedModel(lambda _: sleeps) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await start_by_keys(page, "do it")
            sheet = page.locator("#dialog")
            await sheet.get_by_role("button", name="Start 3 tries").click()
            lines = sheet.locator(".tries > li")
            await expect(lines.filter(has_text="sleep 60")).to_have_count(3)
            await sheet.get_by_role("button", name="Stop try 2").click()
            await expect(lines.nth(1)).to_contain_text("stopped")
            await expect(sheet.locator(".hint[role=status]")).to_contain_text("1 of 3 tries done")
            await page.reload()
            await expect(page.locator("#race")).to_contain_text("of 3 tries done")
            await page.locator("#race").click()
            await sheet.get_by_role("button", name="Stop all").click()
            await expect(lines.locator(".ended")).to_have_text(["stopped"] * 3)


async def test_on_a_phone_tries_at_work_are_seen_and_one_press_away(bench):
    sleeps = Turn("", [Call("runCommand", {"command": "sleep 60"})])
    phone = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
    with ScriptedModel(lambda _: sleeps) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **phone) as page:
            await page.fill("#prompt", "do it")
            await page.locator("#race").tap()
            sheet = page.locator("#dialog")
            await sheet.get_by_role("button", name="Start 3 tries").tap()
            await expect(sheet.locator(".tries > li", has_text="sleep 60")).to_have_count(3)
            await sheet.get_by_role("button", name="Close").tap()
            await page.evaluate("document.activeElement.blur()")
            await page.locator("#race").tap()
            await sheet.get_by_role("button", name="Stop all").tap()
            await expect(sheet.locator(".ended")).to_have_text(["stopped"] * 3)


async def test_tries_at_work_stand_in_graph_and_outline_and_lead_to_the_race(bench):
    sleeps = Turn("", [Call("runCommand", {"command": "sleep 60"})])
    with ScriptedModel(lambda _: sleeps) as model, serving(bench, "nebula", **model.env()) as server:
        async with talk(server) as client:
            await branched(client)
        async with browsing(server, viewport=WIDE) as page:
            await (await row(page, "three")).click()
            await start_by_keys(page, "do it")
            sheet = page.locator("#dialog")
            await sheet.get_by_role("button", name="Start 3 tries").dblclick()
            await expect(sheet.locator(".tries > li", has_text="sleep 60")).to_have_count(3)
            async with talk(server) as client:
                assert len((await client.ask("hello"))["data"]["races"]) == 1
            await page.keyboard.press("Escape")
            cards = page.locator("#graph .live.working")
            await expect(cards.locator(".title")).to_have_text([f"Try {number} · do it" for number in (1, 2, 3)])
            await page.reload()  # the server tells of it whoever comes later
            rows = page.locator("#outline .live.working")
            await expect(rows).to_have_count(3)
            await page.emulate_media(reduced_motion="reduce")
            await cards.nth(1).click()
            await sheet.get_by_role("button", name="Stop try 2").click()
            await expect(cards).to_have_count(2)
            await expect(rows).to_have_count(2)
            await sheet.get_by_role("button", name="Stop all").click()
            await expect(cards).to_have_count(0)
            await expect(rows).to_have_count(0)


async def test_tries_stand_side_by_side_while_one_of_them_still_works(bench):
    bench.write("a.txt", START)
    numbers = itertools.count()

    def answers(request: RecordedRequest) -> Turn:
        if request.json["messages"][-1]["role"] == "tool":
            return Turn(f"It took a **{'long' if 'more' in str(request.json['messages'][-2]) else 'short'}** way.")
        command = ("echo more >> a.txt", "echo > a.txt", "sleep 60")[next(numbers)]
        return Turn("I begin.", [Call("runCommand", {"command": command})])

    with ScriptedModel(answers) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await start_by_keys(page, "do it")
            sheet = page.locator("#dialog")
            await sheet.get_by_role("button", name="Start 3 tries").click()
            lane = sheet.locator(".tries > li")
            await expect(lane.filter(has_text="It took a long way.")).to_contain_text("done")
            await expect(lane.filter(has_text="It took a short way.")).to_contain_text("done")
            at_work = lane.filter(has_text="sleep 60")
            await expect(at_work).to_contain_text("I begin.")
            await expect(sheet.locator("summary", has_text="a.txt")).to_contain_text("2 versions")
            await expect(sheet.get_by_role("button", name=re.compile("^Take"))).to_have_count(0)
            await check_access(page)
            for words in ("long", "short"):
                await lane.filter(has_text=words).get_by_role("button", name="Compare with another").click()
            await expect(sheet.locator("mark")).to_have_text(["long", "short"])
            await page.keyboard.press("Escape")
            await page.locator("#race").click()
            await at_work.get_by_role("button", name=re.compile("Stop try")).click()
            await expect(sheet.get_by_role("button", name=re.compile("^Take try"))).to_have_count(2)
            await sheet.get_by_role("button", name="Another race").click()
            await expect(sheet.get_by_label("Task")).to_have_value("do it")


async def test_what_a_delegate_did_is_asked_about_as_its_work_and_not_as_a_command(bench):
    def answers(request: RecordedRequest) -> Turn:
        own = "a part" in str([each for each in request.json["messages"] if each["role"] == "user"])
        if request.json["messages"][-1]["role"] == "tool":
            return Turn("Written." if own else "All is done.")
        if own:
            return Turn("", [Call("writeFile", {"path": "b.txt", "content": "two\n"})])
        return Turn("", [Call("delegate", {"task": "a part", "read_only": False})])

    with ScriptedModel(answers) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, viewport=WIDE) as page:
            await send(page, "The whole")
            await expect(page.locator(".question h2")).to_have_text("1 file changes if you take this. Apply?")
            await agree(page)
            await expect(page.locator("#transcript")).to_contain_text("All is done.")
    assert bench.read("b.txt") == "two\n"


@pytest.mark.parametrize("look", LOOKS)
async def test_a_race_passes_the_access_check_before_and_after(bench, look):
    bench.write("a.txt", START)
    with ScriptedModel(writes) as model, serving(bench, "nebula", **model.env()) as server:
        async with browsing(server, **LOOKS[look]) as page:
            await page.fill("#prompt", "do it")
            await page.locator("#race").click()
            sheet = page.locator("#dialog")
            await expect(sheet.locator("form.race .primary")).to_be_visible()
            await check_access(page)
            await sheet.locator("form.race .primary").click()
            await expect(sheet.locator(".tries .primary")).to_have_count(3)
            words = "すべて同じ" if look == "japanese" else "all alike"
            await expect(sheet.locator("summary", has_text="a.txt")).to_contain_text(words)
            await check_access(page)
