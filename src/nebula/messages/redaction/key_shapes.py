"""What looks like a key, whoever it belongs to: the shapes that providers give their keys so that they can be found.

Each shape begins with a mark that ordinary text rarely has, and goes on for longer than a name does. What is drawn at
random without a mark (a git hash, a UUID, base64) is no shape: whether that is a secret nobody can tell. No shape may
look far ahead from many places: texts are long, and a stranger may have written them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

_SHAPES = (
    # A run of sixteen with a digit, or of twenty: `sk-learn-pipeline` is a name. OpenAI, Anthropic and their kind.
    ("sk-", r"sk-(?:[A-Za-z0-9]{1,64}[_-]{1,2}){0,12}?(?:(?=[A-Za-z]*\d)[A-Za-z0-9]{16,}|[A-Za-z0-9]{20,})[\w-]*"),
    # Stripe
    *((f"{kind}_{use}_", rf"{kind}_{use}_\w{{16,}}") for kind in ("sk", "pk", "rk") for use in ("live", "test")),
    ("AIza", r"AIza[\w-]{30,}"),  # Google
    ("ya29.", r"ya29\.[\w-]{20,}"),
    *((f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{20,}}") for kind in "pousr"),  # GitHub
    ("github_pat_", r"github_pat_\w{20,}"),
    ("glpat-", r"glpat-[\w-]{16,}"),
    ("xox", r"xox[a-z]-[\w-]{10,}"),  # Slack
    *((mark, rf"{mark}[A-Z0-9]{{16}}(?![A-Za-z0-9])") for mark in ("AKIA", "ASIA")),  # AWS
    ("hf_", r"hf_[A-Za-z0-9]{20,}"),
    ("gsk_", r"gsk_[A-Za-z0-9]{20,}"),
    ("xai-", r"xai-[A-Za-z0-9]{20,}"),
    ("npm_", r"npm_[A-Za-z0-9]{30,}"),
    ("pypi-AgE", r"pypi-AgE[\w-]{30,}"),
    ("SG.", r"SG\.[\w-]{16,}\.[\w-]{16,}"),
    # A signed token: two parts of JSON, and what vouches for them.
    ("eyJ", r"(?<![_-])eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*"),
    ("-----BEGIN ", r"-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----)){20,}(?:-----END [A-Z ]*PRIVATE KEY-----)?"),
)
_PARTS = ("-", "_live_", "_test_", "gh")
"""What several marks have in common: a text without it is not asked for each of them."""


def _by_part() -> dict[str, list[tuple[str, str]]]:
    found: dict[str, list[tuple[str, str]]] = {}
    for mark, shape in _SHAPES:
        part = next((part for part in _PARTS if part in mark), mark)
        found.setdefault(part, []).append((mark, shape))
    return found


_SHAPES_BY_PART = _by_part()
_SECRET_OF_AWS = r"""(?i)secret_?access_?key["']?\s*[=:]\s*["']?([A-Za-z0-9/+]{40})(?![A-Za-z0-9/+])"""  # noqa: S105
"""It has no mark of its own; the name beside it gives it away."""


SHORTEST = 15
"""No shape is shorter (Slack's is so long), and most of what a record holds is."""


def holds_key(text: str) -> bool:
    return len(text) >= SHORTEST and next(key_spans(text), None) is not None


def without_keys(text: str, instead: str) -> str:
    spans = sorted(key_spans(text))
    if not spans:
        return text
    kept, end = [], 0
    for start, stop in spans:
        if start >= end:
            kept += [text[end:start], instead]
        end = max(end, stop)
    return "".join((*kept, text[end:]))


def key_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where keys begin and end. The marks are looked for first, which costs next to nothing where there are
    none."""
    for part, shapes in _SHAPES_BY_PART.items():
        if part not in text:
            continue
        for mark, shape in shapes:
            at = text.find(mark)
            while at >= 0:
                found = _pattern(shape).match(text, at)
                if found:
                    yield found.span()
                at = text.find(mark, found.end() if found else at + len(mark))
    if "secret_access_key" in text or "SECRET_ACCESS_KEY" in text or "SecretAccessKey" in text:
        yield from (found.span(1) for found in re.finditer(_SECRET_OF_AWS, text))


@cache
def _pattern(shape: str) -> re.Pattern[str]:
    # ASCII: a key that stands in a Japanese sentence ends where the sentence goes on.
    return re.compile(rf"(?<![A-Za-z0-9]){shape}", re.ASCII)
