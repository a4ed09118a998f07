"""Text made fit to be shown: nothing in it is obeyed by a terminal, and nothing that is approved can hide."""

from __future__ import annotations

import re
from collections.abc import Iterable

from nebula.events import Approval, ProposedChange
from nebula.language import Sentence, explain_to
from nebula.value import replace


def _name_codes(*groups: Iterable[int]) -> dict[int, str]:
    return {code: f"<U+{code:04X}>" for group in groups for code in group}


_SYMBOLS = {code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\t\n"} | {0x7F: "␡"}
_OBEYED = _SYMBOLS | _name_codes(range(0x80, 0xA0), range(0x202A, 0x202F), range(0x2066, 0x206A))
_OBEYED |= _name_codes(
    (0x180E, 0x3164, 0xFEFF, 0xFFA0), range(0x2060, 0x2065), range(0x206A, 0x2070), range(0xFFF9, 0xFFFC)
)
"""What a terminal obeys instead of showing it, what turns the order of reading round, and what nobody sees and no
script needs."""
_SURROGATE = r"[\uD800-\uDFFF]"
"""What no output can carry; two thousand entries in each of the tables would be a third of a megabyte."""
_SMUGGLED = (
    r"(?P<flag>\U0001F3F4[\U000E0030-\U000E007A]{2,8}\U000E007F)|[\U000E0000-\U000E007F]+"
    r"|[\u200B-\u200D]{2,}|(?<=[\uFE00-\uFE0F\U000E0100-\U000E01EF])[\uFE00-\uFE0F\U000E0100-\U000E01EF]+"
)
"""Letters that cannot be seen: tags that make no flag; joiners and variants, which mean something only singly."""
_UNSEEN = _OBEYED | _name_codes(
    (0x00AD, 0x034F, 0x061C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x200B, 0x200E, 0x200F, 0x2028, 0x2029),
    range(0x1D173, 0x1D17B),
    range(0xE0000, 0xE0080),
)
"""Also what is harmless in talk, and needed there by some scripts and flags, but hides in what is to be approved."""
_UNSEEN_IN_LINE = _UNSEEN | {0x09: "␉", 0x0A: "␊"}


def neutralise(text: str) -> str:
    """Make every control sequence in the text visible and harmless; line breaks and tabs stay, CR LF becomes LF."""
    text = _replace_codes(text.replace("\r\n", "\n"), _OBEYED)
    return text if text.isascii() else re.sub(_SMUGGLED, _write_out, text)


def _write_out(found: re.Match[str]) -> str:
    return found[0] if found["flag"] else "".join(f"<U+{ord(each):04X}>" for each in found[0])


def one_line(text: str) -> str:
    """Do the same for a name or a path: nothing is hidden, nothing breaks the line."""
    return _replace_codes(text, _UNSEEN_IN_LINE)


def join_lines(text: str) -> str:
    """Do the same for words of several lines, such as a prompt: they go on behind one another."""
    return one_line(" ".join(text.split()))


def _replace_codes(text: str, table: dict[int, str]) -> str:
    text = text.translate(table)
    return text if text.isascii() else re.sub(_SURROGATE, "\ufffd", text)


def fit_to_decide(approval: Approval, lang: str) -> Approval:
    """Return the question fit to be shown: no character of what is approved may hide, not even the end of a line."""
    return replace(
        approval,
        tool=one_line(approval.tool),
        changes=tuple(map(_fit_change, approval.changes)),
        together=tuple(map(_fit_change, approval.together)),
        remarks=tuple(_fit_remark(each, lang) for each in approval.remarks),
        text=_replace_codes(approval.text, _UNSEEN),
    )


def _fit_remark(remark: Sentence, lang: str) -> Sentence:
    return Sentence("{remark}", remark=one_line(explain_to(lang, remark)))


def _fit_change(change: ProposedChange) -> ProposedChange:
    return replace(
        change,
        path=one_line(change.path),
        diff=_replace_codes(change.diff, _UNSEEN),
        renamed_from=one_line(change.renamed_from),
    )
