"""Many secrets are found as surely as few, in a time that does not grow with their number."""

from __future__ import annotations

import random
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nebula.messages.redaction import REDACTED, Redactor, known_values
from nebula.messages.redaction.known_values import START, KnownValues

letters = st.text("ab", min_size=START, max_size=START + 6)


@given(st.lists(letters, max_size=8), st.text("abc", max_size=60), st.data())
def test_every_part_of_every_value_goes_and_nothing_else(values: list[str], text: str, data: st.DataObject) -> None:
    wanted = ["." * len(text)]
    covered = [False] * len(text)
    for value in values:
        for start in range(len(text)):
            if text.startswith(value, start):
                covered[start : start + len(value)] = [True] * len(value)
    wanted = ["".join(letter for letter, is_covered in zip(text, covered, strict=True) if not is_covered)]
    cut = data.draw(st.integers(0, len(text)))
    for few in (250, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(known_values, "FEW", few)
            known = KnownValues()
            known.add(values)
            replaced = known.replaced(text, "")
            first = known.first_across(text, cut)
            assert [replaced, known.are_in(text)] == [*wanted, any(covered)]
    across = [
        start
        for start in range(cut)
        for value in values
        if start + len(value) > cut and value.startswith(text[start : start + len(value)])
    ]
    assert first == min(across, default=cut)


def test_twenty_thousand_values_cost_a_long_text_no_more_than_a_thousand() -> None:
    chance = random.Random(1)
    values = [f"{chance.getrandbits(120):030x}" for _ in range(20_000)]
    words = " ".join(f"{chance.getrandbits(40):010x}" for _ in range(20_000))

    def took(count: int) -> float:
        redactor = Redactor()
        redactor.learn("".join(f"K={value}\n" for value in values[:count]))
        before = time.process_time()
        assert redactor.value({"text": words}) == {"text": words}
        assert redactor.text(f"{words} {values[0]}") == f"{words} {REDACTED}"
        return time.process_time() - before

    assert took(20_000) < 5 * took(1_000)


def test_a_secret_file_is_not_learned_again_until_it_says_something_else() -> None:
    redactor, chance = Redactor(), random.Random(2)
    secret = "".join(f"K={chance.getrandbits(120):030x}\n" for _ in range(20_000))

    def took() -> float:
        before = time.process_time()
        redactor.learn(secret)
        return time.process_time() - before

    assert took() > 20 * took()
    redactor.learn(secret + "NEW=now-another-one")
    assert redactor.text("now-another-one") == REDACTED
