import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from schedule import free, overlaps


def test_spans_that_share_a_moment():
    assert overlaps((1, 3), (2, 4)) and overlaps((2, 4), (1, 3)) and overlaps((1, 9), (3, 4))


def test_spans_that_only_touch_or_are_apart():
    assert not overlaps((1, 2), (2, 3)) and not overlaps((2, 3), (1, 2))
    assert not overlaps((1, 2), (5, 6)) and not overlaps((5, 6), (1, 2))


def test_gaps():
    assert free([], 0, 10) == [(0, 10)]
    assert free([(2, 3), (5, 6)], 0, 10) == [(0, 2), (3, 5), (6, 10)]


def test_spans_in_any_order_and_one_within_another():
    assert free([(5, 6), (2, 3)], 0, 10) == [(0, 2), (3, 5), (6, 10)]
    assert free([(1, 8), (2, 3)], 0, 10) == [(0, 1), (8, 10)]


def test_nothing_is_free():
    assert free([(0, 10)], 0, 10) == []
