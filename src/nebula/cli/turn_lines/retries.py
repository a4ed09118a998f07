"""A model that is asked again, in a few words: why, when, and which try it is."""

from __future__ import annotations

from datetime import datetime, timedelta

from nebula.events import Retry
from nebula.language import explain, translate

LONG_S = 60
"""From so many seconds on the clock says more than a countdown."""


def asked_again(retry: Retry, seconds: int) -> str:
    if retry.kind == "limit" and seconds >= LONG_S:
        until = datetime.now() + timedelta(seconds=seconds)
        return translate("rate limited until {time}", time=f"{until:%H:%M}")
    if retry.kind == "limit":
        reason = translate("rate limited")
    elif retry.kind == "unavailable":
        reason = translate("no answer from the provider")
    else:
        reason = explain(retry.reason).rstrip(" .。")
    again = translate("again in {seconds} s", seconds=seconds) if seconds > 0 else translate("asking again")
    parts = [reason, again]
    if retry.attempts:
        parts.append(translate("{attempt} of {attempts}", attempt=retry.attempt, attempts=retry.attempts))
    return translate(", ").join(parts)
