"""Every operation on the page is one step: Ctrl+Z gives back on the disk what was there, and what was seen."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Page, expect

from conversation_rig import serving, talk
from nebula.graph.graph import Graph
from nebula.value import replace
from page_rig import WIDE, branched, browsing, make, row

pytestmark = pytest.mark.slow

PATIENCE_S = 20.0
DIALOG = "#dialog[open]"
Step = Callable[[Page], Awaitable[None]]


async def command(page: Page, words: str) -> None:
    await page.locator("#outline .tree").focus()
    await page.keyboard.press("Control+k")
    await page.keyboard.type(words)
    await page.keyboard.press("Enter")


def filled(words: str, **fields: str) -> Step:
    async def run(page: Page) -> None:
        await command(page, words)
        for name, text in fields.items():
            await page.locator(f"{DIALOG} [name={name}]").fill(text)
        await page.locator(f"{DIALOG} :is(.primary, .danger)").click()

    return run


async def correct(page: Page) -> None:
    await command(page, "Correct this turn")
    for name, text in {"prompt": "asked", "response": "better", "summary": "in short", "tags": "a, b"}.items():
        await page.locator(f"#transcript .correcting [name={name}]").fill(text)
    await page.keyboard.press("Control+Enter")


def plain(words: str) -> Step:
    return lambda page: command(page, words)


def pressed(key: str) -> Step:
    return lambda page: page.keyboard.press(key)


async def copy_branch(page: Page) -> None:
    await command(page, "Move or copy")
    await page.locator(f"{DIALOG} [name=copy]").check()
    await page.locator(f"{DIALOG} button.primary").click()


async def take_in(page: Page) -> None:
    await command(page, "Turns in no flow")
    await page.locator(f"{DIALOG} .outside button").click()
    await expect(page.locator(f"{DIALOG} .outside li")).to_have_count(0)
    await page.keyboard.press("Escape")


async def write_tag(page: Page) -> None:
    await page.keyboard.press("t")
    await page.keyboard.type("fresh")
    await page.keyboard.press("Enter")


OPERATIONS: dict[str, Step] = {
    "texts": correct,
    "a tag where it stands": write_tag,
    "pin": pressed("*"),
    "note": filled("Write a note", note="ask again"),
    "name of a branch": filled("Name this branch", name="the long way"),
    "delete a turn": pressed("Delete"),
    "delete a branch": plain("Delete this turn and all"),
    "disconnect": pressed("x"),
    "move a branch": filled("Move or copy"),
    "copy a branch": copy_branch,
    "side track": filled("Fold what follows into", name="track"),
    "take in a turn": take_in,
    "rename a tag": filled("Rename or merge a tag", name="defect"),
    "rename the flow": filled("Rename the flow", name="first"),
    "new flow": filled("New flow", name="fresh flow"),
    "archive the flow": plain("Archive this flow"),
    "delete the flow": filled("Delete this flow"),
}


def state_of(data: Path) -> tuple[Any, ...]:
    with Graph(data) as graph:
        flows = sorted((replace(flow, updated="") for flow in graph.list_flows()), key=lambda flow: flow.name)
        return flows, sorted(graph.list_nodes(), key=lambda node: node.id)


async def comes_to(data: Path, wanted: Callable[[tuple[Any, ...]], bool]) -> tuple[Any, ...]:
    """Wait for a state that is as wanted; seen twice, since a look may fall into the middle of a step."""
    last: tuple[Any, ...] = ()
    async with asyncio.timeout(PATIENCE_S):
        while not wanted(found := await asyncio.to_thread(state_of, data)) or found != last:
            last = found
            await asyncio.sleep(0.02)
        return found


async def test_each_operation_is_one_step_that_comes_back(bench):
    data = bench.project / "data"
    with serving(bench, "vizprompt") as server:
        async with talk(server) as client:
            first, _, _ = await branched(client)
            await client.ask("update_node", node_id=first, tags=["bug"])
            apart = await make(client, "apart")
            await client.ask("create_flow", name="other")
        with Graph(data) as graph:
            graph.remove_node_from_flow("main", apart)
        before = state_of(data)
        for name, operation in OPERATIONS.items():
            async with browsing(server, viewport=WIDE) as page:
                try:
                    await (await row(page, "two")).click()
                    await expect(page.locator("#transcript .turn.selected")).to_contain_text("answer to two")
                    await operation(page)
                    after = await comes_to(data, lambda found: found != before)
                    await expect(page.locator(DIALOG)).to_have_count(0)
                    await page.locator("#outline .tree").focus()
                    await page.keyboard.press("Control+z")
                    await comes_to(data, lambda found: found == before)
                    await page.keyboard.press("Control+y")
                    await comes_to(data, lambda found, after=after: found == after)
                    await page.keyboard.press("Control+z")
                    await comes_to(data, lambda found: found == before)
                except (AssertionError, TimeoutError) as problem:
                    raise AssertionError(f"{name}: {problem}") from problem
