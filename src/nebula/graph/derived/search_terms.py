"""Text as the search index wants it, the same for what is stored and what is asked.

The index cuts ASCII into words by itself. Scripts without spaces are given to it as overlapping pairs of
characters, so that any run of two or more is found as a phrase, and the last character of a run alone, so that
one character is found as the beginning of a pair. Names like `getHistory` go in whole and in parts.
"""

from __future__ import annotations

import re
import unicodedata
from operator import add

# Thai to Myanmar, Khmer, symbols and emoji, kana, Chinese characters, Hangul.
_PAIRED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2600-\u27bf\u3005-\u3007\u3021-\u302f\u3031-\u3035\u3041-\u309f"
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U0001f000-\U0001faff\U00020000-\U0003ffff"
)
# Compiled when first used, by `re` itself: each takes some milliseconds, and most texts need none of them.
_RUN = rf"([{_PAIRED}]+)|[^\w\x00-\x7f]+"
_LAST_RUN = rf"(?<![{_PAIRED}])[{_PAIRED}]+\Z"
_ANY_RUN = rf"[{_PAIRED}]"
_LAST_WORD = rf"(?<![^\W_{_PAIRED}])[^\W_{_PAIRED}]{{3,}}\Z"
# Begins with the one kind of letter that texts have few of: the others are passed over at a tenth of the price.
_HUMP = re.compile(r"[A-Z](?:(?<=[a-z0-9][A-Z])|[A-Z][a-z])")
_NAME = re.compile(rf"(?<![A-Za-z0-9])[A-Za-z0-9]*{_HUMP.pattern}[A-Za-z0-9]*")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_LANGUAGE = re.compile(r"(?<![A-Za-z0-9])([A-Za-z])(\+\+|#)(?![A-Za-z0-9])")
_WORD = re.compile(r"[^\W_]")
_SINGLE_WORD = re.compile(r"[^\W_]{3,}")
_QUOTED = re.compile(r'"([^"]+)"|(\S+)')


def folded(text: str) -> str:
    """Return the text without differences of case and width: `Ａｐｉ` is `api`."""
    return unicodedata.normalize("NFKC", text).casefold()


def index_text(text: str) -> str:
    """Return the text as it goes into the index."""
    text = unicodedata.normalize("NFKC", text)
    if _HUMP.search(text):
        text = _NAME.sub(_whole_and_parts, text)
    if "#" in text or "++" in text:
        text = _LANGUAGE.sub(_named, text)
    return text.lower() if text.isascii() else re.sub(_RUN, _pairs, text).casefold()


def _named(found: re.Match[str]) -> str:
    """Spell the signs of `C++` and `C#` out, which would be nothing but `c` without them."""
    return found[1] + ("plusplus" if found[2] == "++" else "sharp")


def _whole_and_parts(found: re.Match[str]) -> str:
    return f"{found[0]} {' '.join(_HUMPS.findall(found[0]))} "


def _pairs(found: re.Match[str]) -> str:
    run: str | None = found[1]
    return f" {' '.join(map(add, run, run[1:]))} {run[-1]} " if run else " "


def phrases(text: str) -> list[str]:
    """Return what a person typed into a search box as words, or runs in double quotes."""
    return [quoted or word for quoted, word in _QUOTED.findall(text)]


def match_expression(text: str, *, prefix: bool) -> str | None:
    """Return the FTS5 expression that finds a text; None when it holds nothing that is indexed.

    `prefix` lets a last word of three letters or more be the beginning of a longer one, where it stands alone or
    right behind a script without spaces (`エラー404`).
    """
    text = unicodedata.normalize("NFKC", text).replace("\0", " ").strip()  # SQLite ends a text at its first zero
    last = re.search(_LAST_RUN, text)
    has_run = re.search(_ANY_RUN, text) is not None
    if prefix and not has_run and _SINGLE_WORD.fullmatch(text):
        return f'"{text.casefold()}" *'
    wanted = " ".join(index_text(text).replace('"', " ").split())
    if not _WORD.search(wanted) and not last:
        return None
    if last and len(last[0]) > 1:
        # The run may go on in the stored text: its last pair is enough.
        wanted = wanted[:-1].rstrip()
    is_beginning = len(last[0]) == 1 if last else prefix and has_run and re.search(_LAST_WORD, text)
    return f'"{wanted}" *' if is_beginning else f'"{wanted}"'
