from invoice import total


def test_total_with_tax():
    assert total([("pen", 3, 120)], tax_percent=10) == 396


def test_half_a_unit_is_rounded():
    assert total([("screw", 1, 5)], tax_percent=10) in (5, 6)
