import pytest

from shop.paging import bounds, pages


@pytest.mark.parametrize(("total", "size", "wanted"), [(0, 10, 0), (1, 10, 1), (10, 10, 1), (20, 10, 2), (21, 10, 3)])
def test_pages(total, size, wanted):
    assert pages(total, size) == wanted


def test_the_last_page_can_be_opened():
    assert bounds(3, 21, 10) == (20, 21)
    assert bounds(1, 0, 10) == (0, 0)


def test_mistakes_are_still_refused():
    with pytest.raises(ValueError):
        pages(1, 0)
    with pytest.raises(ValueError):
        bounds(4, 21, 10)
