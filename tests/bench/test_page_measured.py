"""What `bench/page.py` waits for on the page is there: a measurement that never comes to its end measures nothing."""

from __future__ import annotations

import asyncio
import functools
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from conftest import Bench
from conversation_rig import serving

pytestmark = pytest.mark.slow
BENCH = str(Path(__file__).parents[2] / "bench")
NODES = 30


@pytest.fixture
def bench_modules() -> Iterator[tuple[ModuleType, ModuleType]]:
    """The scripts import each other by name. Their folder is looked in for this test alone: `index` and `graph` are
    names of tests as well."""
    before = set(sys.modules)
    sys.path.append(BENCH)
    try:
        yield import_module("page"), import_module("page_browser")
    finally:
        sys.path.remove(BENCH)
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(BENCH):
                del sys.modules[name]


def test_every_measurement_of_the_page_ends(
    bench: Bench, bench_modules: tuple[ModuleType, ModuleType], capfd: pytest.CaptureFixture[str]
) -> None:
    page, page_browser = bench_modules

    page.big_flow(bench.project / "data", NODES)
    start = functools.partial(serving, bench, "vizprompt")

    async def looked_at() -> float:
        async with page_browser.chromium() as browser:
            with start() as server:
                shown = await browser.new_page()
                await page_browser.first_titles(shown, server.address)
                return await page_browser.seen_live(shown, server)

    async def all_of_it() -> tuple[float, float]:
        async with asyncio.timeout(60):
            cold, search = await page_browser.first_look(start, "answer")
            assert page.found_in_all(search) == NODES
            return cold, await looked_at()

    assert min(asyncio.run(all_of_it())) > 0
    assert "a first look after a cold start … done after " in capfd.readouterr().err
