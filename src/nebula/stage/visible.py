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
_JOINED = "\u0600-\u109f\u1780-\u17ff\u1820-\u18af\u2190-\u2bff\ufe0f\U0001f000-\U0001faff"
_PICTURES = "\u00a9\u00ae\u203c\u2049\u2100-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff"
_HIDING = (
    rf"(?<=[{_JOINED}])[\u200C\u200D](?=[{_JOINED}])|(?<=[{_PICTURES}])[\uFE0E\uFE0F]|(?<=[#*0-9])\uFE0F(?=\u20E3)"
    r"|(?P<unseen>[\u180B-\u180F\u200C\u200D\u2065\u2800\uFE00-\uFE0F\uFFF0-\uFFF8\U00013430-\U0001345F"
    r"\U00016FE4\U0001BCA0-\U0001BCA3\U0001D159\U000E0080-\U000E0FFF])"
)
"""What hides in what is to be approved, but for joiners inside the scripts and pictures that need them, and one variant
of a picture: any row of the others can say something, and somebody's code may read it."""


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
        tool=_show_all(approval.tool, _UNSEEN_IN_LINE),
        changes=tuple(map(_fit_change, approval.changes)),
        together=tuple(map(_fit_change, approval.together)),
        remarks=tuple(_fit_remark(each, lang) for each in approval.remarks),
        text=_show_all(approval.text),
    )


def _fit_remark(remark: Sentence, lang: str) -> Sentence:
    return Sentence("{remark}", remark=_show_all(explain_to(lang, remark), _UNSEEN_IN_LINE))


def _fit_change(change: ProposedChange) -> ProposedChange:
    return replace(
        change,
        path=_show_all(change.path, _UNSEEN_IN_LINE),
        diff=_show_all(change.diff),
        renamed_from=_show_all(change.renamed_from, _UNSEEN_IN_LINE),
    )


def _show_all(text: str, table: dict[int, str] = _UNSEEN) -> str:
    """Return what somebody decides on, with every character in it that would not be seen written out."""
    text = _replace_codes(text, table)
    return text if text.isascii() else re.sub(_HIDING, _write_out_unseen, text)


def _write_out_unseen(found: re.Match[str]) -> str:
    return f"<U+{ord(found[0]):04X}>" if found["unseen"] else found[0]
