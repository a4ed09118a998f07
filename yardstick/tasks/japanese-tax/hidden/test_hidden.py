import pytest

from shouhizei import tax, zeikomi


@pytest.mark.parametrize(("kingaku", "wanted"), [(0, 0), (9, 0), (15, 1), (99, 9), (100, 10), (109, 10)])
def test_切り捨て(kingaku, wanted):
    assert tax(kingaku) == wanted


def test_軽減税率():
    assert tax(124, reduced=True) == 9
    assert tax(100, True) == 8


def test_税込():
    assert zeikomi(99) == 108


def test_負の金額():
    with pytest.raises(ValueError):
        tax(-1)
