"""What stands around a reply and is no part of it: thoughts in front, byte order marks, tokens of chat templates."""

from __future__ import annotations

import re

THOUGHT = r"(?:seed:)?think|thinking|thought|reasoning"
TEMPLATE_MARK = r"<[|｜][\w ▁]{1,40}[|｜]>"

# All are tried at one place only, never searched for over the text: a run of line breaks would be tried from each.
_THINK = re.compile(
    rf"\s*(?:<({THOUGHT})>.*?(?:</\1>|\Z)|\[THINK\].*?(?:\[/THINK\]|\Z)|◁think▷.*?(?:◁/think▷|\Z))", re.S
)
_LATE_THINK = re.compile(r"(?!\s*(?:call:)?[A-Za-z_][\w.:-]{0,99}\s*\()[^{<\[`]*?</(?:think|thinking)>", re.S)
"""The end of a thought whose beginning stood in the prompt: prose before it. A call written as code is no prose: its
arguments may hold the mark, and behind it an object that looks like another call."""
_TOKENS_BEFORE = re.compile(rf"(?:[\s\ufeff]+|{TEMPLATE_MARK}(?:assistant\b)?|<s>)*")
_TOKEN_AT_END = re.compile(rf"(?:{TEMPLATE_MARK}|</s>)\Z")
_LONGEST_TOKEN = 44


def strip_noise(text: str) -> str:
    """Return the text without think blocks in front, byte order marks, and the special tokens of chat templates at both
    ends."""
    start, end = 0, len(text)
    while True:
        before = (start, end)
        start = _past(_TOKENS_BEFORE, text, start, end)
        end = _without_tokens_at_end(text, start, end)
        for thoughts in (_THINK, _LATE_THINK):
            start = _past(thoughts, text, start, end)
        if (start, end) == before:
            return text[start:end]


def _past(pattern: re.Pattern[str], text: str, start: int, end: int) -> int:
    found = pattern.match(text, start, end)
    return found.end() if found else start


def _without_tokens_at_end(text: str, start: int, end: int) -> int:
    while True:
        while end > start and (text[end - 1].isspace() or text[end - 1] == "\ufeff"):
            end -= 1
        token = _TOKEN_AT_END.search(text, max(start, end - _LONGEST_TOKEN), end)
        if token is None:
            return end
        end = token.start()
