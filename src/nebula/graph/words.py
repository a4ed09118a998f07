"""Text as search terms, the same for what is stored and what is asked.

Scripts with spaces give words (and the parts of `camelCase` and `snake_case` names); scripts without give
overlapping pairs of characters, so that any run of two or more is found as a phrase, and the last character of a
run alone, so that one character is found as the beginning of a pair.
"""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise

# Thai to Myanmar, Khmer, symbols and emoji, kana, Chinese characters, Hangul.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2600-\u27bf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3041-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
_RUN = re.compile(rf"([{_PAIRED}]+)|([^\W_{_PAIRED}]+[+#]*)")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_QUOTED = re.compile(r'"([^"]+)"|(\S+)')


def folded(text: str) -> str:
    """Without differences of case and width: `Ａｐｉ` is `api`."""
    return unicodedata.normalize("NFKC", text).casefold()


def terms(text: str) -> list[str]:
    """The search terms of a text in order."""
    found: list[str] = []
    for run, word in _RUN.findall(unicodedata.normalize("NFKC", text)):
        if run:
            found += map("".join, pairwise(run))
            found.append(run[-1])
        else:
            found.append(word.casefold())
            if not word.islower() and word.isascii() and len(humps := _HUMPS.findall(word)) > 1:
                found += map(str.lower, humps)
    return found


def is_paired(text: str) -> bool:
    return re.match(rf"[{_PAIRED}]", text) is not None


def phrases(text: str) -> list[str]:
    """What a person typed into a search box: words, or runs in double quotes."""
    return [quoted or word for quoted, word in _QUOTED.findall(text)]


def match_expression(text: str, *, prefix: bool) -> str | None:
    """The FTS5 expression that finds a text; None when it holds nothing that is indexed.

    `prefix` lets a single word of three letters or more be the beginning of a longer one.
    """
    runs = _RUN.findall(unicodedata.normalize("NFKC", text))
    if not runs:
        return None
    if len(runs) == 1:
        run, word = runs[0]
        if len(run) == 1:
            return _quoted(run) + " *"
        if run:
            return _quoted(" ".join(map("".join, pairwise(run))))
        word = word.casefold()
        return _quoted(word) + (" *" if prefix and len(word) > 2 and word.isalnum() else "")
    wanted = terms(text)
    run, word = runs[-1]
    if len(run) > 1:
        # The run may go on in the stored text: its last pair is enough.
        wanted.pop()
    return _quoted(" ".join(wanted)) + (" *" if len(run) == 1 or (prefix and wanted[-1] == word) else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'
