"""Model and file text on a terminal or a pipe: visible, never obeyed."""

import subprocess
import sys
import unicodedata

from hypothesis import example, given
from hypothesis import strategies as st

from nebula.stage import join_lines, neutralise, one_line
from rows import each_row

OBEYED = [*range(0x09), *range(0x0B, 0x20), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]


@each_row(
    ("raw", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("\x1b]52;c;aGk=\x07", "␛]52;c;aGk=␇"),
        ("\x9b2J", "<U+009B>2J"),
        ("ab\x08c", "ab␈c"),
        ("progress\rdone", "progress␍done"),
        ("a\r\nb\r\r\nc", "a\nb␍\nc"),
        ("a\x00b\x7f", "a␀b␡"),
        ("x\u202etxt.exe", "x<U+202E>txt.exe"),
        ("\ud83d", "\ufffd"),
        ("go\U000e0073\U000e0061on", "go<U+E0073><U+E0061>on"),
        ("🏴\U000e0073", "🏴<U+E0073>"),
        ("🏴\U000e0001\U000e0072\U000e006d", "🏴<U+E0001><U+E0072><U+E006D>"),
        ("a\u2063\u2064b\ufeffc", "a<U+2063><U+2064>b<U+FEFF>c"),
        ("a\u200b\u200c\u200bb", "a<U+200B><U+200C><U+200B>b"),
        ("😀\ufe0f\U000e0121\U000e0142", "😀\ufe0f<U+E0121><U+E0142>"),
        ("\u3164 = 1", "<U+3164> = 1"),
    ],
)
def test_control_sequences_become_visible(raw, shown):
    assert neutralise(raw) == shown


@each_row(
    "text",
    [
        "日本語の文章、句読点。\n\tインデント",
        "👨‍👩‍👧‍👦 🏳️‍🌈 🦀",
        "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
        "葛\U000e0100飾区",
        "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f and 🏴‍☠️ 1\ufe0f⃣",
        "ខ្ញុំ\u200bសរសេរ שלום\u200f!",
        "क्‍ष मی‌خواهم",
        "ｶﾀｶﾅ が か\u3099",
        "",
    ],
)
def test_ordinary_text_is_not_touched(text):
    assert neutralise(text) == text


@given(st.text(st.characters(exclude_categories=[])))
@example("\r\r\n\r")
def test_nothing_obeyed_is_left_and_twice_is_once(text):
    shown = neutralise(text)
    assert not any(ord(character) in OBEYED for character in shown)
    shown.encode("utf-8")
    assert neutralise(shown) == shown


@given(st.text(st.characters(exclude_categories=[])))
def test_one_line_is_one_line(text):
    shown = one_line(text)
    assert len(shown.splitlines()) <= 1
    assert not any(unicodedata.category(character) in {"Cc", "Zl", "Zp"} for character in shown)


def test_lines_of_a_prompt_go_on_behind_one_another():
    assert join_lines(" fix\n\n\tthe\r\nparser\x1b[31m\n") == "fix the parser␛[31m"


def test_the_stage_is_light_to_import():
    code = "import sys, nebula.stage; print(*sorted(sys.modules))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    heavy = {"sqlite3", "asyncio", "rich", "prompt_toolkit", "pydantic", "logging", "urllib.request"}
    assert not heavy & set(loaded)
