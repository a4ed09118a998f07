"""Trying again: faults that pass by themselves, with growing pauses, and never behind the user's back."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from nebula.language import sentence_of
from nebula.llm.contract import Retrying, StreamItem, TextDelta
from nebula.llm.errors import ModelError
from nebula.value import value


@value
class RetryPolicy:
    max_attempts: int = 4
    """Attempts in all, with the first one; 1 means no retry."""
    cut_retries: int = 1
    """How often a reply that broke off after its first words is requested again."""
    base_delay_s: float = 0.5
    max_delay_s: float = 8.0
    max_retry_after_s: float = 60.0
    """A server that asks for a longer pause is not asked again: before its time it would only refuse once more."""

    def delay_s(self, failures: int, error: ModelError) -> float:
        """Return the pause after so many failures (1, 2, …)."""
        if error.retry_after_s is not None:
            return max(error.retry_after_s, 0.0)
        from random import random  # a cost of start-up that only a failure has to pay

        full = min(self.base_delay_s * 2.0 ** (failures - 1), self.max_delay_s)
        return full * (0.5 + random() / 2)  # noqa: S311 - spreads load, guards nothing


DEFAULT_RETRY = RetryPolicy()


async def with_retries(
    attempt: Callable[[], AsyncGenerator[StreamItem]], policy: RetryPolicy
) -> AsyncGenerator[StreamItem]:
    """Yield the items of the first attempt that succeeds, with a `Retrying` before each new one.

    An attempt that failed after giving text was cut in the middle. Nothing has come of it (a reply counts when it
    is whole), so it may start over, but only `cut_retries` times: each costs a full reply.
    """
    cuts = 0
    for number in range(1, policy.max_attempts + 1):
        said_something = False
        try:
            async with aclosing(attempt()) as items:
                async for item in items:
                    said_something = said_something or isinstance(item, TextDelta)
                    yield item
            return
        except ModelError as error:
            cuts += said_something
            if not error.retryable or number == policy.max_attempts or cuts > policy.cut_retries:
                raise
            if error.retry_after_s is not None and error.retry_after_s > policy.max_retry_after_s:
                raise
            delay = policy.delay_s(number, error)
            failure = error
        reason = sentence_of(failure)
        yield Retrying(reason, number + 1, delay, policy.max_attempts, failure.kind)
        await asyncio.sleep(delay)


def parse_retry_after(value: str | None) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or as an HTTP date."""
    if not value:
        return None
    try:
        seconds = float(value)
    except ValueError:
        return _seconds_until(value)
    return seconds if 0 <= seconds < float("inf") else None


def _seconds_until(date: str) -> float | None:
    from datetime import UTC, datetime
    from email.utils import parsedate_to_datetime

    try:
        moment = parsedate_to_datetime(date)
    except ValueError:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return max(0.0, (moment - datetime.now(UTC)).total_seconds())
