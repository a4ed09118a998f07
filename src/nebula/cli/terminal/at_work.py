"""Work between two turns that may take long, and prints nothing by itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from nebula.cli.busy import busy

P = ParamSpec("P")
T = TypeVar("T")


async def at_work(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Run `function` in a thread; a line says meanwhile that work goes on."""
    with busy():
        return await asyncio.to_thread(function, *args, **kwargs)
