"""What a running command says reaches the audience a piece at a time, and no piece holds a part of a key."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.messages.redaction import Redactor
from nebula.tools.commands.backstage import AT_ONCE, WholeLines

SECRET = "sk-proj-" + "Ab3" * 16
BODY = "\n".join(f"MIIEvQ{number:02}" + "kQ7x" * 14 for number in range(20))
PEM = f"-----BEGIN PRIVATE KEY-----\n{BODY}\n-----END PRIVATE KEY-----"


def shown(text: str, cuts: list[int], takes: list[bool]) -> str:
    """As the events say it, one after the other."""
    lines, redactor = WholeLines(), Redactor(["hunter2hunter2"])
    ends = [0, *sorted(cut % (len(text) + 1) for cut in cuts), len(text)]
    said = []
    for number, (start, end) in enumerate(itertools.pairwise(ends)):
        lines.add(text[start:end].encode())
        if takes[number % len(takes)]:
            said.append(redactor.text(lines.take()))
    return "".join(said)


@given(
    st.lists(st.integers(0, 10**6), max_size=12),
    st.lists(st.booleans(), min_size=1, max_size=6),
    st.sampled_from(["", "y\n" * 3000, "z" * (AT_ONCE + 50) + "\n"]),
    st.sampled_from(["\n", "\r", "\r\n"]),
)
def test_no_piece_of_the_output_holds_half_a_key(cuts: list[int], takes: list[bool], noise: str, line_end: str) -> None:
    key, password = f"OPENAI_API_KEY={SECRET}", "password: hunter2hunter2"
    lines = ["one", key, noise, PEM.replace("\n", line_end), "two", noise + key, password, PEM, key, "three"]
    said = shown(line_end.join(lines) + line_end, cuts, takes)
    for secret in (SECRET, "hunter2hunter2", *BODY.split("\n")):
        assert secret[:12] not in said
        assert secret[-12:] not in said


def test_what_is_no_key_is_shown_line_by_line() -> None:
    lines = WholeLines()
    lines.add("collected 3 items\ntests/あ.py ..".encode())
    assert lines.take() == "collected 3 items\n"
    lines.add(b".\n10%\r20%")
    assert lines.take() == "tests/あ.py ...\n10%\r"
    lines.add(b"\r30%\r" + b"x" * (AT_ONCE + 1))
    assert lines.take() == "20%\r30%\r"
    lines.add(b"rest of it\nlast\n")
    assert lines.take() == "last\n"


@pytest.mark.parametrize("mark", ["-----BEGIN CERTIFICATE-----", "-----BEGIN PRIVATE KEY-----"])
def test_what_follows_a_key_is_shown_again(mark: str) -> None:
    lines = WholeLines()
    lines.add(f"before\n{mark}\nMIIE\n".encode())
    assert lines.take() == "before\n"
    lines.add(b"MIIF\n")
    assert lines.take() == ""
    lines.add(b"MIIG\n-----END X-----\nafter\n")
    assert lines.take() == "after\n"
