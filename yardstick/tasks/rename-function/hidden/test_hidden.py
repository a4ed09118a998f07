import re
from pathlib import Path

import shop
from shop.basket import Basket
from shop.prices import recalculate


def test_it_works_under_the_new_name():
    assert shop.net_price(200, 10) == 180
    assert shop.__all__ == ["net_price"]
    assert recalculate([100], 50) == [50]
    basket = Basket(10)
    basket.items = [100, 200]
    assert basket.total() == 270


def test_the_old_name_is_gone():
    for file in [*Path("shop").glob("*.py"), Path("README.md")]:
        assert not re.search(r"\bcalc\b", file.read_text("utf-8")), file
    assert "net_price" in Path("README.md").read_text("utf-8")
