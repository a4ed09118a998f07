import pytest

from invoice import total


@pytest.mark.parametrize(("price", "percent", "wanted"), [(5, 10, 6), (15, 10, 17), (25, 10, 28), (100, 8, 108), (0, 10, 0)])
def test_half_is_always_rounded_up(price, percent, wanted):
    assert total([("x", 1, price)], percent) == wanted


def test_several_lines():
    assert total([("a", 2, 10), ("b", 1, 5)], 10) == 28
