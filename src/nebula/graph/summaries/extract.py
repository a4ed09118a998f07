"""A stand-in for a summary where no model can be asked: the first words of prompt and answer, and frequent terms.

An extract is marked as one: it begins with `[抜粋] ` (`[extract] ` for text without Japanese). By that mark `build`
knows it for a stand-in that a model's summary may replace; nothing else in the file tells them apart.
"""

from __future__ import annotations

import re
from collections import Counter

from nebula.graph.summaries.reply import SummaryReply
from nebula.graph.tokens import estimate_tokens

MARKS = ("[抜粋] ", "[extract] ")
TAGS = 5

_JAPANESE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_FENCED = re.compile(r"^(```|~~~).*?^\1[^\n]*$", re.MULTILINE | re.DOTALL)
_SENTENCE_ENDS = ("。", "！", "？", "! ", "? ", ". ")
_TERM = re.compile(r"[A-Za-z][A-Za-z0-9_+#.-]*[A-Za-z0-9+#]|[ァ-ヴー]{3,}|[\u3400-\u9fff]{2,}")
_COMMON_WORDS = """a about after all also an and any are as at be because been before but by can could did do does each
for from get had has have he her here his how if in into is it its just let like may me more most my need no not now of
on one only or other our out over please should so some such than that the their them then there these they this to
two up use used using very want was way we were what when where which while who why will with would you your
場合 以下 必要 可能 使用 利用 説明 方法 質問 回答"""
_COMMON = frozenset(_COMMON_WORDS.split())


def is_extract(summary: str) -> bool:
    return summary.startswith(MARKS)


def extract(prompt: str, response: str, limit: int) -> SummaryReply:
    """Return about `limit` tokens of a node's own text, in place of the summary that a model would write."""
    return SummaryReply(extracted_summary(prompt, response, limit), frequent_terms(f"{prompt}\n{response}"))


def extracted_summary(prompt: str, response: str, limit: int) -> str:
    asked = leading_sentences(prompt, max(8, limit // 3))
    said = leading_sentences(response, max(8, limit - estimate_tokens(asked)))
    words = " → ".join(part for part in (asked, said) if part) or "(empty)"
    return MARKS[0 if _JAPANESE.search(words) else 1] + words


def leading_sentences(text: str, limit: int) -> str:
    """Whole sentences from the beginning while they fit; a first one that does not is cut. Code is passed over."""
    prose = " ".join((_FENCED.sub(" ", text).strip() or text).split())
    fitting = _beginning(prose, limit)
    if len(fitting) == len(prose):
        return prose
    end = max(fitting.rfind(mark) for mark in _SENTENCE_ENDS)
    return fitting[: end + 1] if end > 0 else fitting.rstrip() + "…"


def cut(text: str, limit: int) -> str:
    """Return a beginning of at most `limit` tokens, with `…` where something is missing."""
    fitting = _beginning(text, limit)
    return text if len(fitting) == len(text) else fitting.rstrip() + "…" if fitting else ""


def _beginning(text: str, limit: int) -> str:
    """About the longest beginning that fits: found by proportion, in a few counts rather than one a character."""
    kept = text[: max(limit, 0) * 6]  # hardly any text says more in a token
    cost = estimate_tokens(kept)
    if cost <= limit and len(kept) == len(text):
        return text
    while kept and cost >= limit:  # one is left for the mark of omission
        kept = kept[: min(len(kept) - 1, len(kept) * limit // (cost + 2))]
        cost = estimate_tokens(kept)
    return kept


def frequent_terms(text: str) -> list[str]:
    """Return the words said most often, as first spelled; at equal count the earlier one."""
    counts: Counter[str] = Counter()
    spelled: dict[str, str] = {}
    for match in _TERM.finditer(text):
        word = match.group()
        key = word.casefold()
        if key not in _COMMON and (len(word) > 2 or not word.isascii()) and len(word) <= 40:
            counts[key] += 1
            spelled.setdefault(key, word)
    return [spelled[key] for key, _ in counts.most_common(TAGS)]
