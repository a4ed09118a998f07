"""Reads what a model answers when it is asked for a summary and tags (seed §7.2).

Asked for is

    要約: …
    タグ: …, …

Accepted is what models really send: English labels, full-width or missing colons, bold, headings, lists, brackets,
hashtags, code fences, think blocks, an object in JSON, prose before and after, and no tags at all. Without any label
the reply is refused: prose may be an apology as well as a summary.
"""

from __future__ import annotations

import json
import re

from nebula.errors import NebulaError
from nebula.value import field, value

MAX_TAGS = 7
MAX_TAG_LENGTH = 60

_SUMMARY_NAMES = "要約|サマリー?|概要|Summary"
_TAG_NAMES = "タグ|キーワード|Tags?|Keywords?"
# Nothing is given back once it was taken: a model may send a thousand marks, or blanks, and no label behind them.
_LABEL = re.compile(
    rf"""^[\s>]*+(?:[-*•+]\s++|\#++\s*+|\d++[.)．]\s*+)*+      # quote, list, heading, number
    (?P<open>[*_`"【\[(（「『<]*+)\s*+
    (?:(?P<summary>{_SUMMARY_NAMES})|(?P<tags>{_TAG_NAMES}))
    (?P<colon>\s*+[:：])?\s*+
    (?P<close>[*_`"】\])）」』>]*+)\s*+
    (?P<after>[:：=]|[-–—](?=\s))?\s*+
    (?P<rest>.*)$""",
    re.IGNORECASE | re.VERBOSE,
)
_TAGS_IN_LINE = re.compile(rf"(?:^|[\s。.!?！？|/]|(?<!\*)\*)\**+(?:{_TAG_NAMES})\**+\s*+[:：]\**\s*", re.IGNORECASE)
_THINKING = re.compile(r"<(think|thinking|thought)>.*?(?:</\1>|\Z)", re.IGNORECASE | re.DOTALL)
_BEFORE_HASHTAG = re.compile(r"(?<!\s)\s++(?=[#＃])")
_LIST_MARK = re.compile(r"^\s*(?:[-*•+・]\s+|[-•・]|\d+[.)．]\s*)")
_PLACEHOLDER = re.compile(r"\[?(?:30-50単語程度の簡潔な説明|3-7個の重要キーワード)")
_WRAPPERS = (("[", "]"), ("「", "」"), ("『", "』"), ('"', '"'), ("“", "”"), ("`", "`"), ("(", ")"), ("（", "）"))


class UnreadableReply(NebulaError):
    """The reply has no summary in it. The sentence says what was missing, for the model to try again."""


@value
class SummaryReply:
    summary: str
    tags: list[str] = field(default_factory=list)


def read_reply(reply: str) -> SummaryReply:
    """Return the summary and the tags in a reply. Raises UnreadableReply."""
    text = _THINKING.sub("", reply).strip()
    found = _read_json(text)
    if found is None:
        summary, tags = _sections(text)
        found = SummaryReply(_clean_summary(summary), read_tags("\n".join(tags)))
    if not found.summary:
        raise UnreadableReply("the reply has no line that begins with 要約: (Summary:)")
    return found


def read_tags(text: str) -> list[str]:
    """Return the tags of a list in any of the usual forms, each once, at most seven."""
    text = _unwrapped(text.strip())
    parts = re.split(r"[,、，;；|\n\u3000]|\s/\s|\s・\s", text)
    if len(parts) == 1:
        parts = re.split(_BEFORE_HASHTAG, text) if re.match(r"[#＃]", text) else parts
    if len(parts) == 1 and text.count("・") > 1:
        parts = text.split("・")
    tags: dict[str, str] = {}
    for part in parts:
        # "#a #b" between two commas is two tags; "C#" is one.
        for piece in re.split(_BEFORE_HASHTAG, part):
            tag = _clean_tag(piece)
            if tag and len(tag) <= MAX_TAG_LENGTH:
                tags.setdefault(tag.casefold(), tag)
    return list(tags.values())[:MAX_TAGS]


def _read_json(text: str) -> SummaryReply | None:
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start or _LABEL.match(text):
        return None
    try:
        value = json.loads(text[start : end + 1], strict=False)
    except (ValueError, RecursionError):
        return None
    by_kind: dict[str, object] = {}
    for key, item in value.items() if isinstance(value, dict) else ():
        label = _LABEL.fullmatch(key)
        if label and not label["rest"]:
            by_kind.setdefault("summary" if label["summary"] else "tags", item)
    summary, tags = by_kind.get("summary"), by_kind.get("tags", [])
    if not isinstance(summary, str):
        return None
    listed = "\n".join(str(tag) for tag in tags) if isinstance(tags, list) else str(tags)
    return SummaryReply(_clean_summary([summary]), read_tags(listed))


def _sections(text: str) -> tuple[list[str], list[str]]:
    """Return the lines that belong to the summary and to the tags."""
    sections: dict[str, list[str]] = {"summary": [], "tags": []}
    current = ""
    for line in text.splitlines():
        if line.strip().startswith(("```", "~~~")):
            continue
        label = _label(line)
        if label:
            kind, rest = label
            # A model may repeat the form it was asked for; the real one follows.
            current = kind if not sections[kind] or _PLACEHOLDER.match(sections[kind][0]) else ""
            if current:
                sections[current] = [rest] if rest else []
        elif current and not _is_over(current, sections[current], line):
            sections[current].append(line.strip())
        else:
            current = ""
    summary, tags = sections["summary"], sections["tags"]
    if current == "summary" and "" in summary[1:]:
        summary = summary[: summary.index("", 1)]  # nothing but small talk can follow the last section
    return (summary, tags) if tags else _split_in_line(summary)


def _label(line: str) -> tuple[str, str] | None:
    match = _LABEL.match(line)
    if match is None:
        return None
    marked = match["colon"] or match["after"] or match["close"]
    if match["rest"] and not marked:
        return None  # "Summary of the talk" begins a sentence, not a section
    return ("summary" if match["summary"] else "tags", match["rest"].strip())


def _is_over(kind: str, lines: list[str], line: str) -> bool:
    """Return whether a section ends before this line; what follows is the model's small talk."""
    if kind == "summary" or not lines:
        return False
    if not line.strip():
        return True
    return not (_LIST_MARK.match(line) or _LIST_MARK.match(lines[-1]) or lines[-1].endswith((",", "、", "，")))


def _split_in_line(lines: list[str]) -> tuple[list[str], list[str]]:
    """Return a summary whose tags stand in the same line."""
    for number, line in enumerate(lines):
        match = _TAGS_IN_LINE.search(line)
        if match:
            before = line[: match.start() + (line[match.start()] in "。.!?！？")]
            return [*lines[:number], before], [line[match.end() :]]
    return lines, []


def _clean_summary(lines: list[str]) -> str:
    text = " ".join(part for line in lines if (part := _LIST_MARK.sub("", line).strip()))
    text = _unwrapped(re.sub(r"\*\*|__", "", text).strip())
    return "" if _PLACEHOLDER.match(text) else " ".join(text.split())


def _clean_tag(part: str) -> str:
    tag = _LIST_MARK.sub("", part).strip()
    tag = re.sub(r"^[#＃]+\s*|\*\*|__", "", tag)
    tag = _unwrapped(tag.strip().strip("[]`'\"「」『』“”"))
    return " ".join(tag.rstrip("。").split())


def _unwrapped(text: str) -> str:
    for opening, closing in _WRAPPERS:
        inside = text[1:-1]
        if len(text) > 1 and text[0] == opening and text[-1] == closing and closing not in inside:
            return inside.strip()
    return text
