"""What somebody decides on is seen to the last character; what scripts and pictures need stays as it is."""

from __future__ import annotations

import pytest

from nebula.events import Approval, ProposedChange
from nebula.language import Sentence
from nebula.stage import fit_to_decide

PAYLOAD = "".join(chr(0xE0100 + byte) for byte in b"evil()")


def fit(text: str) -> str:
    change = ProposedChange(text, "created", diff=text, renamed_from=text)
    remarks = (Sentence("{said}", said=text),)
    shown = fit_to_decide(Approval("i", "write", text, (change,), text, remarks, (change,)), "en")
    everywhere = {shown.tool, shown.text, str(shown.remarks[0])}
    for each in (*shown.changes, *shown.together):
        everywhere |= {each.path, each.diff, each.renamed_from}
    (said,) = everywhere
    return said


@pytest.mark.parametrize(
    "hidden",
    [
        0x180B, 0x180F, 0x200B, 0x200C, 0x200D, 0x2065, 0x2800, 0xFE00, 0xFE0F, 0xFFF0, 0x13430, 0x16FE4, 0x1BCA0,
        0x1D159, 0xE0020, 0xE0100, 0xE0FFF,
    ],
)  # fmt: skip
def test_a_character_that_nobody_sees_is_written_out(hidden: int) -> None:
    assert fit(f"is{chr(hidden)}Admin") == f"is<U+{hidden:04X}>Admin"
    assert fit(f"許{chr(hidden)}可") == f"許<U+{hidden:04X}>可"


def test_a_row_of_variants_says_nothing_unseen() -> None:
    assert fit(f"run('😀\ufe0f{PAYLOAD}')") == "run('😀\ufe0f" + "".join(f"<U+{ord(c):04X}>" for c in PAYLOAD) + "')"
    assert fit("😀\ufe0f\ufe0f\ufe0e") == "😀\ufe0f<U+FE0F><U+FE0E>"
    assert fit("ک\u200c\u200c\u200dه") == "ک<U+200C><U+200C><U+200D>ه"


@pytest.mark.parametrize(
    "text", ["👨‍👩‍👧‍👦 🏳️‍🌈 🏴‍☠️ ❤️ 1\ufe0f⃣ ©\ufe0f", "क्‍ष می‌خواهم", "日本語の文章、句読点。", "が か\u3099", "naïve café"]
)
def test_what_scripts_and_pictures_need_stays(text: str) -> None:
    assert fit(text) == text
