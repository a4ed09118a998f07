"""The tests of the page share an event loop, and with it a browser."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from page_rig import BROWSER

LONGEST_S = 120
"""Of one test with its servers. The page itself has half of it (`page_rig`), which ends a test more cleanly."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if pytest_asyncio.is_async_test(item) and "/tests/web/" in item.path.as_posix():
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)
            item.add_marker(pytest.mark.timeout(LONGEST_S))


@pytest_asyncio.fixture(loop_scope="session", scope="session", autouse=True)
async def _browser_ends_with_the_run() -> AsyncIterator[None]:
    yield
    await BROWSER.close()
