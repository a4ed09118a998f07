import pytest

from roman import from_roman, to_roman


@pytest.mark.parametrize(
    ("number", "text"), [(1, "I"), (4, "IV"), (9, "IX"), (14, "XIV"), (40, "XL"), (90, "XC"), (400, "CD"), (1994, "MCMXCIV")]
)
def test_known_numbers(number, text):
    assert to_roman(number) == text
    assert from_roman(text) == number


def test_every_number_there_and_back():
    assert [from_roman(to_roman(number)) for number in range(1, 4000)] == list(range(1, 4000))


@pytest.mark.parametrize("wrong", [0, 4000, -1])
def test_numbers_out_of_range(wrong):
    with pytest.raises(ValueError):
        to_roman(wrong)


@pytest.mark.parametrize("wrong", ["", "IIII", "IC", "VX", "iv", "ABC", "IXI"])
def test_texts_that_are_no_numbers(wrong):
    with pytest.raises(ValueError):
        from_roman(wrong)
