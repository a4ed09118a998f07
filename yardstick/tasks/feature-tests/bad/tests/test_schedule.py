import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from schedule import free, overlaps


def test_overlaps():
    assert overlaps((1, 3), (2, 4))


def test_free():
    assert free([], 0, 10) == [(0, 10)]
